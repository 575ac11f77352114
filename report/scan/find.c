/* SPDX-License-Identifier: Apache-2.0 */
/* What any processor can do, 8 bytes at a time; and which set is the best here. */
#include "report/scan/find.h"
#include "report/scan/find_sets.h"

#include <stddef.h>
#include <string.h>

#define BYTES(c) (0x0101010101010101ull * (c))

/* The high bit of each byte that is 0; of those above the lowest one it may be wrong. */
static uint64_t zero_bytes(uint64_t word)
{
	return (word - BYTES(1)) & ~word & BYTES(0x80);
}

/* Control characters end a text as well, so that the parser can judge them. */
static bool ends_text(char c)
{
	return c == '"' || c == '\\' || (unsigned char)c < 0x20;
}

/* Eight bytes are tested at once in a word, or one at a time where the high byte
 * comes first. */
static const char *portable_text_end(const char *at)
{
	uint64_t word, found = 0;

	/* Where the low byte comes first the lowest bit is the first byte's. */
	for (; __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && !found; at += 8) {
		memcpy(&word, at, sizeof(word));
		found = zero_bytes(word ^ BYTES('"')) | zero_bytes(word ^ BYTES('\\')) |
			((word - BYTES(0x20)) & ~word & BYTES(0x80));
		if (found)
			return at + __builtin_ctzll(found) / 8;
	}
	while (!ends_text(*at))
		at++;
	return at;
}

/* The kind of a bracket does not count here, and those in texts do not at all. */
static const char *portable_nest_end(const char *at, const char *end)
{
	const char *from = at;
	int depth = 0;

	for (; at < end; at++) {
		char c = *at, folded = c | 0x20; /* [ and { differ by it, and ] and } */

		if (folded == '{' && ++depth > FIND_DEEPEST)
			return from;
		if (folded == '}' && !--depth)
			return at + 1;
		/* As the other sets have it, a quote can be escaped outside of texts,
		 * too. */
		at += c == '\\' && (at[1] == '"' || at[1] == '\\');
		if (c != '"')
			continue;
		while ((at = portable_text_end(at + 1)) < end && *at != '"')
			at += *at == '\\';
		if (at < end && !find_may_end(at, end))
			return from;
	}
	return NULL;
}

const struct find_set find_portable = { "portable", portable_text_end,
					portable_nest_end };

const struct find_set *find_nth(unsigned n)
{
	const struct find_set *sets[4] = { &find_portable };
	unsigned have = 1;

#ifdef __x86_64__
	sets[have++] = &find_sse2;
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi"))
		sets[have++] = &find_avx2;
#endif
	return n < have ? sets[n] : NULL;
}

const struct find_set *find_best(void)
{
	const struct find_set *set, *best = &find_portable;

	for (unsigned n = 0; (set = find_nth(n)); n++)
		best = set;
	return best;
}
