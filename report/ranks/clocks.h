/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks - how far each rank's clock is from the first rank's, by joined collectives.
 *
 * No rank leaves one before the last has come: so each bounds the difference from both
 * sides, and the median difference of their ends estimates it. A difference that is less
 * than half as wide as its bounds is none, and none is taken off where files say that
 * both ranks are of one host: there is one clock.
 *
 * Threads  one at a time.
 * Memory   8 bytes a joined collective, meanwhile.
 * Errors   false: not enough memory.
 * Units    nanoseconds.
 */
#ifndef REPORT_RANKS_CLOCKS_H
#define REPORT_RANKS_CLOCKS_H

#include "report/ranks/match.h"

struct clock_bounds {
	int64_t estimate, low, high;
	size_t n; /* how many collectives say so; 0 = none, and nothing is known */
	bool apart; /* the bounds exclude one another: collectives are joined wrongly,
		       or clocks drift */
	bool mixed; /* of one host, whose bounds exclude its one clock, of collectives
		       whose group is not said: they are joined wrongly */
};

/* Sets `offset` of each rank; `bounds` has room for all. */
bool clocks_align(struct clock_bounds *bounds, struct rank *ranks, const struct match *m,
		  const struct texts *names);

#endif
