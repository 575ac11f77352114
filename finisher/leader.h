/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leader - windows of processes in which nothing happens any more.
 *
 * A process without steps of its own follows another one's windows.  It sees that such a
 * window has ended at its next event, or by its own thread; a process that has neither is
 * looked after here, by the job's page: the end that its leader's slot tells is noted in
 * its own slot, so that it outlives the leader.  A provisional window stays when no
 * boundary has come for a minute.
 *
 * Threads  one.
 * Memory   none.
 * Errors   a slot that cannot be read, or makes no sense, tells nothing.
 * Units    ns; ticks.
 */
#ifndef FINISHER_LEADER_H
#define FINISHER_LEADER_H

#include "finisher/page.h"

struct leader_wait { /* how long a process has waited for a boundary */
	uint64_t gate, boundaries;
	int64_t since_ns;
};

struct leader_cut { /* the end of a window that a process had open as it ended */
	uint64_t number; /* of the window; 0 = nothing is known */
	uint64_t end; /* 0 = with the process */
	bool thrown;
	bool ours; /* the process's own: its leader has no steps either */
};

/* For a living process with that slot: ends its window where its leader has ended it, and
 * settles a provisional window that has waited. `wait` is the caller's, zeroed at first,
 * kept from look to look. */
void leader_look(const struct page *p, int slot, struct leader_wait *wait, int64_t now);
/* How the window of a process that is gone ends; all zero: that is not known. */
struct leader_cut leader_cut(const struct page *p, int slot);

#endif
