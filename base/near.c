/* SPDX-License-Identifier: Apache-2.0 */
/* How many edits lie between two words. Short words may differ by less: with two edits
 * any word of three letters is any other. */
#include "base/near.h"
#include "base/text.h"

#include <stdbool.h>

#define WORD_MOST 64

static unsigned least_of_3(unsigned a, unsigned b, unsigned c)
{
	unsigned ab = a < b ? a : b;

	return ab < c ? ab : c;
}

static bool same_letter(char a, char b)
{
	return text_lower(a == '-' ? '_' : a) == text_lower(b == '-' ? '_' : b);
}

static unsigned edit_distance(const char *a, const char *b)
{
	unsigned rows[3][WORD_MOST + 1], *old = rows[0], *last = rows[1], *row = rows[2];
	size_t m = strlen(a), n = strlen(b);

	if (m > WORD_MOST || n > WORD_MOST)
		return WORD_MOST;
	for (unsigned j = 0; j <= n; j++)
		last[j] = j;
	for (unsigned i = 1; i <= m; i++) {
		unsigned *spare = old;

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			bool differ = !same_letter(a[i - 1], b[j - 1]);

			row[j] = least_of_3(last[j] + 1, row[j - 1] + 1,
					    last[j - 1] + differ);
			if (i > 1 && j > 1 && differ && same_letter(a[i - 1], b[j - 2]) &&
			    same_letter(a[i - 2], b[j - 1]) && old[j - 2] + 1 < row[j])
				row[j] = old[j - 2] + 1;
		}
		old = last;
		last = row;
		row = spare;
	}
	return last[n];
}

struct near near_begin(const char *word)
{
	size_t len = strlen(word);

	return (struct near){ word, NULL, len < 5 ? 2 : len < 9 ? 3 : 4 };
}

void near_try(struct near *n, const char *candidate)
{
	unsigned edits = edit_distance(n->word, candidate);

	if (edits < n->edits) {
		n->edits = edits;
		n->best = candidate;
	}
}
