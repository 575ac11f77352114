/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows - where slices lie on a thread's row, so that readers nest them rightly.
 *
 * Readers add ts and dur in doubles and want slices of a row strictly nested: so a child
 * ends 1 ns before its parent at the latest, and the next slice begins 1 ns after the one
 * before it. A slice that does not fit is clipped, never dropped.
 *
 * Threads  one at a time.
 * Memory   32 bytes for each level of nesting.
 * Errors   -ENOMEM.
 * Units    ticks in, epoch ns out.
 */
#ifndef WRITER_ROWS_H
#define WRITER_ROWS_H

#include "agent/core/clock.h"
#include "agent/core/spool.h"
#include "writer/pile.h"

/* Turns ticks to nanoseconds quickly: by straight lines between moments 2^22 ticks
 * apart. */
struct rows_clock {
	struct clock_line line; /* the window's clock, in blocks of 2^22 ticks */
	uint64_t block; /* ticks >> 22 of the current block; UINT64_MAX = none */
	int64_t ns, slope; /* at the block's begin; from there to its end */
};

/* Epoch ns at a tick of the window's clock, or of any other moment. */
int64_t rows_ns(struct rows_clock *c, uint64_t ticks);

struct row {
	struct rows_clock clock;
	struct pile open; /* struct level: slices around the current place */
	uint64_t begin, end; /* the window, in ticks ... */
	int64_t begin_ns, end_ns; /* ... and ns */
	uint64_t last; /* begin of the newest slice: they come in order */
	int64_t next_ns; /* a slice outside all others may begin here */
};

void row_init(struct row *r, const struct spool_header *head, uint64_t begin,
	      uint64_t end);
/* As row_init, for slices whose times come in ns. */
void row_init_ns(struct row *r, int64_t begin, int64_t end);
/* A new, empty row. */
void row_start(struct row *r);
/* Places the next slice (they come in the order of their begins). */
int row_place(struct row *r, uint64_t begin, uint64_t end, int64_t *begin_ns,
	      int64_t *end_ns);
/* The time of an instant, moved into the window; an instant takes no room on the row. */
int64_t row_instant(struct row *r, uint64_t ticks);
void row_free(struct row *r);

#endif
