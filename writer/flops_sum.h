/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flops_sum - which operators of a window have FLOPs, and how many they are in all.
 *
 * Work is counted once. An operator of torch's seven has the number that torch gives it.
 * Any other has one only where it lies in no operator with a number, and no product of
 * torch's lies in it: aten::linear leaves its work to aten::addmm. The sum leaves out
 * what lies in an operator with a number.
 *
 * Threads  one at a time.
 * Memory   8 KiB in struct trace.
 * Errors   none: what cannot be computed is counted.
 * Units    floating-point operations; ticks.
 */
#ifndef WRITER_FLOPS_SUM_H
#define WRITER_FLOPS_SUM_H

#include <stdint.h>

struct trace;
struct cursor;
struct rec_op;
struct flops_row;

#define FLOPS_NAMES 1024 /* a power of two */

struct flops_total { /* of windows: operators with a number and without, their sum */
	uint64_t operators, unknown, total;
	uint64_t window_ns;
};

struct flops_sum {
	uint64_t until; /* the end of the outermost operator with a number */
	struct {
		uint32_t name; /* 0 = empty */
		const struct flops_row *row;
	} known[FLOPS_NAMES]; /* rows of names */
};

/* Sums up the whole window into the result. Nothing without the option. */
void flops_sum_start(struct trace *t);
void flops_sum_thread(struct trace *t); /* a new row */
/* Writes the members of an operator that the cursor has just passed, each with a comma
 * behind it. */
void flops_sum_write(struct trace *t, const struct cursor *c, const struct rec_op *op);
/* Writes the member "flops" of the object "proflaunch". */
void flops_sum_counts(struct trace *t);

#endif
