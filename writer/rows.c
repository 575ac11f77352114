/* SPDX-License-Identifier: Apache-2.0 */
/* Slices placed on a row: one after the other, each inside the slice that is open around
 * it. */
#include "writer/rows.h"

#define SHIFT 22 /* ticks of one straight line, as a power of two */

struct level {
	uint64_t end; /* ticks */
	int64_t begin_ns, end_ns;
	int64_t next_ns; /* the next child may begin here */
};

int64_t rows_ns(struct rows_clock *c, uint64_t ticks)
{
	uint64_t block = ticks >> SHIFT;

	if (__builtin_expect(c->block != block, 0)) {
		c->block = block;
		c->ns = clock_line_ns(&c->line, block << SHIFT);
		c->slope = clock_line_ns(&c->line, (block + 1) << SHIFT) - c->ns;
		/* A damaged clock table must not overflow the line below. */
		if (c->slope < 0 || c->slope > (int64_t)1 << 40)
			c->slope = 0;
	}
	return c->ns +
	       (int64_t)(((ticks & ((1u << SHIFT) - 1)) * (uint64_t)c->slope) >> SHIFT);
}

void row_init(struct row *r, const struct spool_header *head, uint64_t begin,
	      uint64_t end)
{
	*r = (struct row){ .begin = begin, .end = end };
	r->clock = (struct rows_clock){ .line = clock_line_at(head, begin, end),
					.block = UINT64_MAX };
	r->begin_ns = r->clock.line.ns;
	r->end_ns = r->clock.line.end_ns;
	if (r->end_ns < r->begin_ns)
		r->end_ns = r->begin_ns;
	row_start(r);
}

void row_init_ns(struct row *r, int64_t begin, int64_t end)
{
	*r = (struct row){ .begin = (uint64_t)begin,
			   .end = (uint64_t)end,
			   .begin_ns = begin,
			   .end_ns = end };
	r->clock = (struct rows_clock){
		.line = { (uint64_t)begin, begin, end, 1 },
		.block = UINT64_MAX,
	};
	row_start(r);
}

void row_start(struct row *r)
{
	r->open.n = 0;
	r->last = r->begin;
	r->next_ns = r->begin_ns;
}

/* The innermost slice that is open; NULL: none. */
static struct level *innermost_level(struct row *r)
{
	return r->open.n ? (struct level *)r->open.mem + r->open.n - 1 : NULL;
}

static int64_t in_window(const struct row *r, int64_t ns)
{
	return ns < r->begin_ns ? r->begin_ns : ns > r->end_ns ? r->end_ns : ns;
}

/*
 * Moves a slice between `floor` (behind the slice before) and `most` (before the parent's
 * end). Where the parent has no nanosecond left the slice becomes a point: at the
 * parent's begin if that is its end, too, which all readers still nest.
 */
static void fit_slice(const struct level *parent, int64_t floor, int64_t most, int64_t *b,
		      int64_t *e)
{
	if (*b < floor)
		*b = floor;
	if (*e < *b)
		*e = *b;
	if (*e <= most)
		return;
	*e = most;
	if (*b <= *e)
		return;
	*b = *e;
	if (*b >= floor)
		return;
	if (!parent)
		*b = *e = floor;
	else if (most < parent->begin_ns)
		*b = *e = parent->begin_ns;
}

int row_place(struct row *r, uint64_t begin, uint64_t end, int64_t *begin_ns,
	      int64_t *end_ns)
{
	struct level *parent, mine;

	if (begin < r->last)
		begin = r->last;
	if (end > r->end)
		end = r->end;
	if (end < begin)
		end = begin;
	r->last = begin;
	while ((parent = innermost_level(r)) && parent->end <= begin)
		r->open.n--;
	if (parent && end > parent->end)
		end = parent->end;
	*begin_ns = in_window(r, rows_ns(&r->clock, begin));
	*end_ns = in_window(r, rows_ns(&r->clock, end));
	fit_slice(parent, parent ? parent->next_ns : r->next_ns,
		  parent ? parent->end_ns - 1 : r->end_ns, begin_ns, end_ns);
	if (parent)
		parent->next_ns = *end_ns + 1;
	else
		r->next_ns = *end_ns + 1;
	mine = (struct level){ end, *begin_ns, *end_ns, *begin_ns };
	return pile_add(&r->open, &mine, sizeof(mine));
}

int64_t row_instant(struct row *r, uint64_t ticks)
{
	return in_window(r, rows_ns(&r->clock, ticks));
}

void row_free(struct row *r)
{
	pile_free(&r->open);
}
