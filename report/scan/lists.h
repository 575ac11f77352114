/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lists - lists of numbers that were read before, such as shapes: their texts are seen
 * again and again.
 *
 * Threads  one at a time.
 * Memory   of fixed size, and the side parser's; lists_free.
 * Errors   NULL: it is no list that the parser would take, or there is no memory.
 * Units    bytes.
 */
#ifndef REPORT_SCAN_LISTS_H
#define REPORT_SCAN_LISTS_H

#include "report/dims.h"
#include "report/texts.h"

#define LISTS_SLOTS   512u
#define LISTS_LONGEST 200u

struct list_seen {
	uint32_t len, text; /* len 0 = none; text: TEXT_NONE = an empty one */
	int64_t first; /* as dims has it */
	char written[LISTS_LONGEST];
};

struct lists {
	struct list_seen seen[LISTS_SLOTS];
	struct list_seen odd; /* one that is too long to be kept */
	struct dims dims;
	struct parse side;
	bool started;
};

/* The list whose text is `written`; NULL: the parser has to judge it, or there is no
 * memory. `texts` NULL: its text is not wanted. */
const struct list_seen *lists_get(struct lists *l, struct texts *texts,
				  const char *written, size_t len);
void lists_free(struct lists *l);

#endif
