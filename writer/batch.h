/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch - all cycles that are sealed now become files; their chunks are free again.
 *
 * Threads  one at a time, of the process that owns the spool.
 * Memory   as writer_cycle.
 * Errors   said by writer_cycle.  A cycle that cannot be written stays in the
 *          spool, for whoever recovers it.
 * Units    none.
 */
#ifndef WRITER_BATCH_H
#define WRITER_BATCH_H

#include "writer/writer.h"

/* Writes what is sealed, frees what is thrown away. Calls done(path) for each file.
 * Returns how many cycles it found. */
unsigned batch_write(const struct config *config, void (*done)(const char *path));
/* Cycles of this process that could not be written. */
unsigned batch_failed(void);
void batch_forget(void); /* child after fork */

#endif
