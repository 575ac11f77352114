/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pauses - garbage collections, waits for Python's lock and imports in a file.
 *
 * Threads  one at a time.
 * Memory   none.
 * Errors   0 or -ENOMEM.
 * Units    ticks.
 */
#ifndef WRITER_PYTHON_PAUSES_H
#define WRITER_PYTHON_PAUSES_H

#include "agent/core/record_python.h"

struct trace;

/* Writes a slice up to the end of its times, and what its args have, each member with a
 * comma behind it. */
int pauses_put(struct trace *t, uint32_t tid, const struct rec_python *r);
/* Writes the member "python events" of the object "proflaunch", where they were asked
 * for. */
void pauses_counts(struct trace *t);

#endif
