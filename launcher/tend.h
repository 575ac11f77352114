/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tend - the launcher's side of the finisher: started, watched, replaced when it dies,
 * waited for in the end.
 *
 * Threads  one.
 * Memory   nothing is allocated once the first finisher runs.
 * Errors   one line each; the program goes on.
 * Units    ns.
 */
#ifndef LAUNCHER_TEND_H
#define LAUNCHER_TEND_H

#include "config/config.h"
#include "finisher/shared.h"
#include "launcher/child.h"

#include <stddef.h>

struct tend {
	const struct config *config; /* logdir absolute */
	const char *dir, *page, *job; /* its folder, the page there, its id */
};

/* False: there is none, the spools are left to recover. */
bool tend_start(const struct tend *t);
/* For child_run: while the command runs. */
extern const struct child_others tend_others;
/* The first `size` bytes of the job's page; zeros when there are not so many. */
void tend_read(void *page, size_t size);
#define TEND_SECONDS 55 /* and a little more for what is to be said */
/* Waits until all that has ended is written, at most so long (less in tests), or until
 * the user wants to wait no more (^C twice). Then the finisher ends, or goes on alone
 * with what is left or still runs. */
extern int64_t tend_most_ns;
const struct totals *tend_end(void);
uint64_t tend_cpu_ns(void); /* of all finishers and their helpers, as they said last */

#endif
