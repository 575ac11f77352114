/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cost - what a window's recording took of the program's threads: an estimate.
 *
 * Threads  one at a time.
 * Memory   none.
 * Errors   0 ns where nothing was timed.
 * Units    ns.
 */
#ifndef WRITER_COST_H
#define WRITER_COST_H

#include "writer/trace.h"

/* Fills the result's overhead_ns and torch_ns; call it after heap_read. */
void cost_fill(struct trace *t);
/* Writes the file's member "cost": {...}. */
void cost_write(struct trace *t);

#endif
