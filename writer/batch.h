/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch - windows that are sealed become files, here or by the finisher; then their
 * chunks are free again.
 *
 * Threads  one at a time, of the process that owns the spool; batch_sealed: any.
 * Memory   as write_trace.
 * Errors   write_trace logs them.  A cycle that cannot be written stays in the spool, for
 *          whoever recovers it.
 * Units    none.
 */
#ifndef WRITER_BATCH_H
#define WRITER_BATCH_H

#include "writer/writer.h"

/* Writes the sealed windows, with `handed` those handed over, too; frees those thrown
 * away. Calls done(path), unless it is NULL, for each file. Returns how many cycles it
 * has dealt with; 0 also where the kernel has no memory left: the cycles wait, and
 * batch_failed says so. */
unsigned batch_write(const struct config *config, bool handed,
		     void (*done)(const char *path));
/* Gives the sealed windows to the finisher (CYCLE_QUIET) and wakes it. */
void batch_hand_over(void);
/* Takes back the chunks of the windows that the finisher has written. */
void batch_collect(void);
/* Cycles that the finisher has, or whose GPU work is still coming in. */
unsigned batch_pending(void);
/* Has the finisher left a window alone for so long that it may be gone? True after ten
 * seconds, and again after 10, 20, 40, 40, ... more. */
bool batch_forgotten(int64_t now);
/* Is there a cycle that batch_write would write? */
bool batch_sealed(void);
/* Cycles of this process that could not be written; one more while memory is missing. */
unsigned batch_failed(void);
void batch_forget(void); /* child after fork */

#endif
