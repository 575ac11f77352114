/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective - what is known of a collective operation: from NCCL's own arguments, and
 * from the recorded inputs of torch's record_param_comms.
 *
 * Threads  any.
 * Memory   the caller's.
 * Errors   members that are not known are left out.
 * Units    elements; ranks.
 */
#ifndef WRITER_COLLECTIVE_H
#define WRITER_COLLECTIVE_H

#include "agent/core/names.h"
#include "agent/core/spool_view.h"
#include "writer/json.h"
#include "writer/read.h"

#define COLLECTIVE_LIST 512

struct collective {
	char name[48], type[16]; /* empty = not known */
	char in_split[COLLECTIVE_LIST], out_split[COLLECTIVE_LIST];
	int64_t in, out; /* -1 = not known, as the numbers below */
	int64_t size, rank, source, destination, start, stride;
	uint64_t comm; /* 0 = not known */
	int8_t async; /* 0, 1 */
};

/* Is it the name of torch's record_param_comms, in which each collective runs? NULL: it
 * is not. */
bool collective_named(const struct name *n);
/* Fills *c for `op`, which the cursor has just passed. False: nothing is known. */
bool collective_find(struct collective *c, const struct cursor *cursor,
		     const struct rec_op *op);
/* Writes members, each with a comma behind it: the operator's, or a kernel's. */
void collective_write(const struct collective *c, struct json *j, bool kernel);

#endif
