/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weights - puts what a trace measured onto the stacks that it belongs to.
 *
 * Threads  one at a time.
 * Memory   what the fold keeps; the rest is freed before they return.
 * Errors   false: not enough memory.
 * Units    nanoseconds; bytes.
 */
#ifndef REPORT_EXPORT_WEIGHTS_H
#define REPORT_EXPORT_WEIGHTS_H

#include "report/export/chain.h"
#include "report/memory/blocks.h"

/* The self time of operators, annotations, calls and functions of Python. */
bool weights_cpu(const struct chain *c);
/* Kernels, copies and sets, below the operator that launched them. */
bool weights_device(const struct chain *c);
/* Tensors below the operator that allocated them; innermost is the device. `live`: only
 * what is there at the window's end. */
void weights_tensors(const struct chain *c, const struct blocks *b, bool live);
/* The heap's call sites, as the file has them; innermost is "[heap]". */
bool weights_heap(struct fold *f, const struct model *m, bool live);

#endif
