/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows - where slices lie on a thread's row, so that readers nest them rightly.
 *
 * Readers add ts and dur in doubles and want slices of a row strictly nested: so
 * a child ends 1 ns before its parent at the latest, and the next slice begins 1 ns
 * after the one before it. What does not fit is clipped, never dropped.
 *
 * Threads  one at a time.
 * Memory   48 bytes for each level of nesting.
 * Errors   -ENOMEM.
 * Units    ticks in, epoch ns out.
 */
#ifndef WRITER_ROWS_H
#define WRITER_ROWS_H

#include "agent/core/clock.h"
#include "agent/core/spool.h"
#include "writer/pile.h"

/* Ticks to nanoseconds, quickly: straight lines between moments 2^22 ticks apart. */
struct rows_clock {
	struct clock_line line; /* the window's; blocks of it in whole numbers */
	uint64_t block; /* ticks >> 22 of the line; UINT64_MAX = none */
	int64_t ns, slope; /* at its begin; to its end */
};

/* Epoch ns at a tick of the window's clock, or of any other moment. */
int64_t rows_ns(struct rows_clock *c, uint64_t ticks);

struct row {
	struct rows_clock clock;
	struct pile open; /* struct level: slices around the place we are at */
	uint64_t begin, end; /* the window, in ticks ... */
	int64_t begin_ns, end_ns; /* ... and ns */
	uint64_t last; /* begin of the newest slice: they come in order */
	int64_t next_ns; /* a slice outside all others may begin here */
};

void row_init(struct row *r, const struct spool_header *head, uint64_t begin,
	      uint64_t end);
/* The same for slices that come in ns. */
void row_init_ns(struct row *r, int64_t begin, int64_t end);
/* A new, empty row. */
void row_start(struct row *r);
/* Places the next slice (they come in the order of their begins). */
int row_place(struct row *r, uint64_t begin, uint64_t end, int64_t *begin_ns,
	      int64_t *end_ns);
/* An instant in the window; it needs no place. */
int64_t row_instant(struct row *r, uint64_t ticks);
void row_free(struct row *r);

#endif
