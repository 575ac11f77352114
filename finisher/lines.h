/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines - says on stderr the lines that the job's processes left (agent/core/said.h).
 *
 * The page is read by descriptor, and what stands there may be anything: at most as many
 * lines at once as there are places, each of printable characters.
 *
 * Threads  one in a process; launcher and finisher at once say each line once.
 * Memory   the stack's.
 * Errors   none; a line that is not whole after a second, or at the end, is left out.
 * Units    none.
 */
#ifndef FINISHER_LINES_H
#define FINISHER_LINES_H

#include "finisher/page.h"

struct lines { /* in memory that no process of the job can reach */
	_Atomic uint32_t taken; /* number of the next line to be said */
	_Atomic uint32_t lost; /* how many lines without a place were told of */
	uint32_t stuck; /* number of a line that is not whole, + 1 ... */
	int64_t stuck_ns; /* ... since then */
};

/* `plain` makes a line harmless for a terminal, in place; NULL: stderr is no terminal.
 * `last`: lines that are not whole are not waited for. */
void lines_say(const struct page *p, struct lines *l, void (*plain)(char *line),
	       bool last);

#endif
