/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share - what a small control group leaves to the heap's records, and to the finisher.
 *
 * Pages of spools and the finisher's memory count in the group.  Where the program fills
 * it they take the place of its own code, which is then read from the disk again and
 * again: with 16 MiB of spool in use and 9 MiB left a program took six times as long
 * (tests/host/endure.py group).
 *
 * Threads  one.
 * Memory   none.
 * Errors   none: without a number there is no bound.
 * Units    ns.
 */
#ifndef FINISHER_SHARE_H
#define FINISHER_SHARE_H

#include "finisher/known.h"

struct share {
	bool limited; /* the group had little memory when the job began */
	bool little; /* it leaves too little to write a file */
	uint64_t need; /* bytes that a file may take */
	int64_t next_ns; /* when the group is asked again */
	uint32_t kib; /* what the page says */
};

/* buffer_mb: the option. */
void share_start(struct share *s, const struct page *page, uint32_t buffer_mb);
/* Asks the group each 100 ms, and writes on the page how much of its spool each process
 * may use before its heap gets no more: all of them together a quarter of what the group
 * leaves. */
void share_tend(struct share *s, const struct known_all *all, int64_t now);

#endif
