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

static inline const char *scan_blanks(const char *at)
{
	while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')
		at++;
	return at;
}

#endif
