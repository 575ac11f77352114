/* SPDX-License-Identifier: Apache-2.0 */
/* Counts slices by step, and takes steps while there is room. */
#include "report/page/excerpt.h"
#include "base/order.h"

#include <stdlib.h>

struct sizes {
	const struct subject *s;
	uint64_t *of; /* slices that begin in each step */
};

/* A slice is counted where it begins; what begins in no step is in none. */
static bool count_slices(struct sizes *z)
{
	const struct model *m = &z->s->model;

	z->of = calloc(z->s->steps.n + 1, sizeof(*z->of));
	for (size_t i = 0; z->of && i < m->slices_n; i++) {
		long step = steps_at(&z->s->steps, m->slices[i].begin);

		if (step >= 0)
			z->of[step]++;
	}
	return z->of != NULL;
}

/* Work on a GPU belongs to its step: the end is that of the last piece. */
static int64_t step_length(const struct subject *s, size_t step)
{
	return s->steps.row[step].end - s->steps.row[step].begin;
}

/* The step that is nearest to the median, the first of them: it is what most are like. */
static size_t median_step(const struct subject *s)
{
	int64_t median = steps_median(&s->steps), off, least = INT64_MAX;
	size_t best = 0;

	for (size_t i = 0; i < s->steps.n; i++) {
		off = step_length(s, i) - median;
		if (off < 0)
			off = -off;
		if (off < least) {
			least = off;
			best = i;
		}
	}
	return best;
}

/* The step that people ask about. */
static size_t slowest_step(const struct subject *s)
{
	size_t best = 0;

	for (size_t i = 1; i < s->steps.n; i++)
		if (step_length(s, i) > step_length(s, best))
			best = i;
	return best;
}

/* Takes a step, if it is a new one and fits. */
static void take_step(struct excerpt *c, const struct sizes *z, size_t step,
		      uint64_t *room)
{
	if (c->step[step] || z->of[step] > *room)
		return;
	c->step[step] = true;
	c->steps++;
	*room -= z->of[step];
}

static int by_time(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return order_of(*x, *y);
}

/* The moment up to which `room` slices of a step begin. */
static bool cut_inside(struct excerpt *c, size_t step, size_t room)
{
	const struct model *m = &c->subject->model;
	int64_t *begins = malloc((m->slices_n + 1) * sizeof(*begins));
	size_t n = 0;

	if (!begins)
		return false;
	for (size_t i = 0; i < m->slices_n; i++)
		if (steps_at(&c->subject->steps, m->slices[i].begin) == (long)step)
			begins[n++] = m->slices[i].begin;
	qsort(begins, n, sizeof(*begins), by_time);
	if (room < n)
		c->until = begins[room];
	c->step[step] = true;
	c->steps = 1;
	free(begins);
	return true;
}

bool excerpt_make(struct excerpt *c, const struct subject *s, size_t limit)
{
	struct sizes z = { .s = s };
	uint64_t room = limit;
	size_t median;
	bool fine = true;

	*c = (struct excerpt){ .subject = s,
			       .until = INT64_MAX,
			       .steps = s->steps.n,
			       .slices = s->model.slices_n };
	if (c->slices <= limit)
		return true;
	c->steps = 0;
	c->step = calloc(s->steps.n + 1, sizeof(*c->step));
	if (!c->step || !count_slices(&z)) {
		excerpt_free(c);
		return false;
	}
	median = median_step(s);
	take_step(c, &z, median, &room);
	take_step(c, &z, slowest_step(s), &room);
	for (size_t i = 0; i < s->steps.n; i++)
		take_step(c, &z, i, &room);
	if (!c->steps)
		fine = cut_inside(c, median, limit);
	free(z.of);
	if (!fine)
		excerpt_free(c);
	return fine;
}

void excerpt_free(struct excerpt *c)
{
	free(c->step);
	c->step = NULL;
}

bool excerpt_keeps(const struct excerpt *c, const struct slice *slice)
{
	long step;

	if (!c->step)
		return true;
	step = steps_at(&c->subject->steps, slice->begin);
	return step >= 0 && c->step[step] && slice->begin < c->until;
}
