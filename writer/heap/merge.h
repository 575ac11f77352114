/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge - the heap records of all threads as one stream, by time.
 *
 * Threads  one at a time.
 * Memory   about 100 bytes a thread, 16 for each level of slices around its place, and
 *          256 KiB for the names of operators; heap_merge_end gives all back.
 * Errors   0 or -ENOMEM; -ECANCELED from writer_beat.
 * Units    ticks.
 */
#ifndef WRITER_HEAP_MERGE_H
#define WRITER_HEAP_MERGE_H

#include "writer/trace.h"

struct heap_lane { /* a thread's records */
	struct cursor cursor;
	const struct record *next; /* a heap record or REC_MEMORY; NULL = no more */
	uint64_t at; /* offset of `next` */
	uint64_t ticks; /* time of `next`: never before that of the one before */
	uint32_t tid;
	struct pile open; /* slices around the lane's place */
};

struct heap_merge {
	const struct trace *t;
	struct pile lanes; /* struct heap_lane */
	uint32_t *order; /* a binary heap of the lanes */
	size_t n, bytes;
	uint32_t *ops; /* names by text: open addressing */
	unsigned op_n;
	struct heap_op_slot {
		uint32_t id, op;
	} recent[1024];
	int err;
};

/* Call heap_merge_end after an error, too. */
int heap_merge_start(struct heap_merge *m, const struct trace *t);
/* The lane whose record comes next; NULL: there are no more (or m->err). */
struct heap_lane *heap_merge_top(const struct heap_merge *m);
void heap_merge_pop(struct heap_merge *m);
/* Name id of the operator or annotation around the lane's record; 0 = none. Names with
 * the same text have one id. */
uint32_t heap_merge_op(struct heap_lane *l);
void heap_merge_end(struct heap_merge *m);

#endif
