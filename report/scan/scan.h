/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan - an event where it lies in the buffer, without tokens.
 *
 * It reads what writers usually write. Anything else, such as an escape in a name, a key
 * that is no text or a value of another type, is left to the strict parser, which is the
 * judge: nothing has been given to the visitor then.
 *
 * Threads  one at a time.
 * Memory   100 KiB, and the texts that the visitor keeps; scan_free.
 * Errors   NULL: not an event that the scanner reads, or no memory (the reader's `full`).
 * Units    as the reader's.
 */
#ifndef REPORT_SCAN_SCAN_H
#define REPORT_SCAN_SCAN_H

#include "report/read_event.h"
#include "report/scan/find.h"
#include "report/scan/keys.h"
#include "report/scan/lists.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define SCAN_CATEGORY_MOST 32u

struct scan {
	struct reader *r;
	const struct find_set *find;
	bool wide; /* 16 bytes at once are searched in place */
	const char *end; /* behind it are quotes */
	const char *stopped; /* where reading stopped; behind `end`: more bytes may do */
	struct keys keys;
	struct {
		char text[SCAN_CATEGORY_MOST];
		size_t len;
		uint32_t id;
	} category; /* the last one */
	struct lists lists;
};

/* `find` NULL: the best. */
void scan_start(struct scan *s, struct reader *r, const struct find_set *find);
void scan_free(struct scan *s);
/* Reads the event at `at`, an opening brace, into the reader's. Returns where it ends. */
const char *scan_event(struct scan *s, const char *at, const char *end);

/* Did it stop as there are no more bytes? */
static inline bool scan_was_cut(const struct scan *s)
{
	return s->stopped >= s->end;
}

static inline const char *scan_spaces(const char *at)
{
#ifdef __SSE2__
	const __m128i space = _mm_set1_epi8(' ');
	unsigned mask;

	do {
		const __m128i v = _mm_loadu_si128((const __m128i *)at);

		mask = 0xffff ^ (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, space));
		at += mask ? __builtin_ctz(mask) : 16;
	} while (!mask);
#else
	while (*at == ' ')
		at++;
#endif
	return at;
}

/* Behind blanks. Writers put a line end and some spaces, one space, or none. */
static inline const char *scan_blanks(const char *at)
{
	for (;;) {
		if ((unsigned char)*at > ' ')
			return at;
		if (*at == '\n')
			at = scan_spaces(at + 1);
		else if (*at == ' ' || *at == '\r' || *at == '\t')
			at++;
		else
			return at;
	}
}

#endif
