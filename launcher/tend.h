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
	const char *dir, *page, *job; /* the job's folder, the page in it, the job's id */
};

/* False: there is no finisher, and the spools are left to recover. */
bool tend_start(const struct tend *t);
/* For child_run: the finisher's care while the command runs. */
extern const struct child_others tend_others;
/* Reads the first `size` bytes of the job's page; zeros when there are not so many. */
void tend_read(void *page, size_t size);
#define TEND_SECONDS 55 /* and a little more for the closing lines */
/* Waits until all windows of ended processes are written, for tend_most_ns (less in
 * tests), or until the user presses ^C twice. Then the finisher ends, or goes on alone
 * with the rest and with processes that still run. */
extern int64_t tend_most_ns;
const struct totals *tend_end(void);
uint64_t tend_cpu_ns(void); /* of all finishers and their helpers, as last told */

#endif
