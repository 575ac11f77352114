/* SPDX-License-Identifier: Apache-2.0 */
/* {"before": 2, "steps": [[number, begin, end], ...]}: a step that is not behind the one
 * before it, as only a file that was changed by hand has, ends the list. */
#include "report/kept.h"
#include "base/array.h"

#include <stdlib.h>

/* Reads [number, begin, end]; false: it is no step. */
static bool read_step(struct parse *p, struct kept_step *s)
{
	int64_t *const to[] = { &s->number, &s->begin, &s->end };
	enum token token;
	unsigned n = 0;

	for (; parse_element(p, &token); n++) {
		if (token == TOKEN_NUMBER && n < 3)
			*to[n] = number_i64(p);
		else
			n = 3;
		parse_skip(p, token);
	}
	return n == 3 && s->begin >= 0 && s->end >= s->begin;
}

/* Behind a step that is odd no other is taken: their order would be a guess. */
static bool read_steps(struct parse *p, struct kept *k)
{
	bool good = true;
	enum token token;

	if (!parse_value(p, TOKEN_ARRAY))
		return true;
	while (parse_element(p, &token)) {
		struct kept_step s = { 0 };

		if (token != TOKEN_ARRAY) {
			parse_skip(p, token);
			good = false;
			continue;
		}
		good = read_step(p, &s) && good &&
		       (!k->n || s.begin >= k->row[k->n - 1].end);
		if (!good)
			continue;
		if (!GROW(k->row, k->room, k->n))
			return false;
		k->row[k->n++] = s;
	}
	return true;
}

struct kept *kept_read(struct parse *p, bool *enough)
{
	struct kept *k = calloc(1, sizeof(*k));

	*enough = k != NULL;
	if (!parse_value(p, TOKEN_OBJECT) || !k) {
		free(k);
		return NULL;
	}
	while (*enough && parse_next(p) == TOKEN_KEY) {
		if (parse_is(p, "steps"))
			*enough = read_steps(p, k);
		else if (!parse_is(p, "before"))
			parse_skip(p, TOKEN_KEY);
		else if (parse_value(p, TOKEN_NUMBER))
			k->before = (size_t)number_u64(p);
	}
	if (k->n && *enough)
		return k;
	kept_free(k);
	return NULL;
}

void kept_free(struct kept *k)
{
	if (k)
		free(k->row);
	free(k);
}
