/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocks - tensor memory: each allocation with its free, its operator and its category.
 *
 * A [memory] event with positive bytes begins a block, the next negative one of the same
 * device and address ends it. A block that is freed without a beginning was there before
 * the window. The operator is the innermost one in flight on the same thread; where that
 * is an aten::empty* the one around it is meant, and the label says both, as TensorBoard
 * does: "aten::randn (aten::empty)".
 *
 * Threads  one at a time.
 * Memory   72 bytes a block; blocks_free frees all. Labels are texts of the model.
 * Errors   false: not enough memory.
 * Units    nanoseconds, bytes.
 */
#ifndef REPORT_MEMORY_BLOCKS_H
#define REPORT_MEMORY_BLOCKS_H

#include "report/model.h"

#define BLOCK_LIVE   INT64_MAX /* end: never freed in the window */
#define BLOCK_BEFORE INT64_MIN /* begin: older than the window */

/* torch's order and numbers. */
enum category {
	CATEGORY_PARAMETER,
	CATEGORY_OPTIMIZER,
	CATEGORY_INPUT,
	CATEGORY_TEMPORARY,
	CATEGORY_ACTIVATION,
	CATEGORY_GRADIENT,
	CATEGORY_AUTOGRAD,
	CATEGORY_UNKNOWN,
	CATEGORIES,
};

struct block {
	int64_t begin, end, bytes;
	uint32_t from, to; /* memory events; NO_ROW = none */
	uint32_t op, site; /* labels; TEXT_NONE = no operator was in flight */
	uint32_t device;
	uint8_t category;
	bool brief; /* freed inside the outermost operator that allocated it */
};

struct blocks {
	struct model *model;
	struct block *rows; /* by begin; blocks from before the window come first */
	size_t n, room;
	uint64_t overwritten; /* addresses given out again without a free */
	int64_t parameters; /* bytes of parameters that are older than the window */
};

/* depth: how many names the label of a call site has. */
bool blocks_make(struct blocks *b, struct model *m, unsigned depth);
void blocks_free(struct blocks *b);

static inline bool block_is_live(const struct block *b, int64_t ts)
{
	return b->begin <= ts && ts < b->end;
}

/* The innermost slice around `slice` whose name begins with `prefix`; NO_ROW = none. */
uint32_t blocks_within(const struct model *m, uint32_t slice, const char *prefix);

#endif
