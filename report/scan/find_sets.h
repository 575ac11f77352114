/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_sets - the sets that need instructions of a processor of their own.
 *
 * Threads  any.  Memory  none.  Errors  none.  Units  none.
 */
#ifndef REPORT_SCAN_FIND_SETS_H
#define REPORT_SCAN_FIND_SETS_H

#include "report/scan/find.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const struct find_set find_portable;
#ifdef __x86_64__
extern const struct find_set find_sse2, find_avx2;
#endif

/* What 64 bytes have: a bit for each byte. */
struct find_masks {
	uint64_t quote, backslash, open, close;
	uint64_t behind; /* the quotes that end a text */
};

/* Can a text end at `quote`? Where quotes are odd in number, a "text" is followed by what
 * was meant to be one. */
static inline bool find_may_end(const char *quote, const char *end)
{
	const char *at = quote + 1;

	while (at < end && (unsigned char)*at <= ' ')
		at++;
	return at >= end || *at == ',' || *at == ':' || *at == ']' || *at == '}';
}

/* Where the search for a closing bracket is. */
struct find_nest {
	const char *from; /* the first bracket */
	uint64_t inside; /* all ones: the bytes before end inside of a text */
	bool odd; /* the byte before is a backslash that escapes */
	int depth;
};

/* Takes quotes away that are escaped. */
static inline void find_unescape(struct find_masks *m, struct find_nest *n)
{
	uint64_t escaped = 0;

	for (unsigned i = 0; i < 64 && (n->odd || m->backslash >> i); i++) {
		if (n->odd)
			escaped |= UINT64_C(1) << i;
		n->odd = !n->odd && m->backslash >> i & 1;
	}
	m->quote &= ~escaped;
}

/* Sets all bits from a quote up to the next one. */
static inline uint64_t find_between(uint64_t quotes)
{
	for (unsigned by = 1; by < 64; by *= 2)
		quotes ^= quotes << by;
	return quotes;
}

/* Counts the brackets of 64 bytes. Returns the number of the byte that closes the first
 * one, else -1. */
static inline int find_close(struct find_masks *m, struct find_nest *n)
{
	uint64_t texts, brackets;

	if (m->backslash || n->odd)
		find_unescape(m, n);
	texts = find_between(m->quote) ^ n->inside;
	n->inside = (uint64_t)((int64_t)texts >> 63);
	m->behind = m->quote & ~texts;
	m->open &= ~texts;
	m->close &= ~texts;
	if (n->depth > __builtin_popcountll(m->close)) {
		n->depth +=
			__builtin_popcountll(m->open) - __builtin_popcountll(m->close);
		return -1;
	}
	for (brackets = m->open | m->close; brackets; brackets &= brackets - 1) {
		int i = __builtin_ctzll(brackets);

		if (m->open >> i & 1)
			n->depth++;
		else if (!--n->depth)
			return i;
	}
	return -1;
}

/* Looks at the 64 bytes at `at`. True: the search is over, and *behind is its result: the
 * first bracket, where a text cannot end. */
static inline bool find_is_over(struct find_masks *m, struct find_nest *n, const char *at,
				const char *end, const char **behind)
{
	int closed = find_close(m, n);

	*behind = n->from;
	if (closed >= 0)
		m->behind &= (UINT64_C(1) << closed) - 1;
	for (; m->behind; m->behind &= m->behind - 1)
		if (!find_may_end(at + __builtin_ctzll(m->behind), end))
			return true;
	if (closed >= 0)
		*behind = at + closed < end ? at + closed + 1 : NULL;
	return closed >= 0 || n->depth > FIND_DEEPEST;
}

#endif
