/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/clock.h"
#include "writer/cuda_parts.h"
#include "writer/sort.h"

#include <errno.h>

#define MUCH_WORSE 2 /* such a moment is left out: somebody else had the processor */
#define STEP_PART  64 /* a line steeper or flatter by that part: the clock was set */
#define STEP_LEAST 20000 /* ns that two good moments may differ in any case */

struct moment {
	uint64_t ticks, ns, error;
	double per_ns; /* ticks, up to the next; 0: the clock was set in between */
	bool kept;
};

int cuda_clock_add(struct cuda_clock *c, const struct rec_moment *m)
{
	struct moment *to = pile_push(&c->moments, sizeof(*to));

	if (!to)
		return -ENOMEM;
	*to = (struct moment){ m->r.begin, m->r.end, m->error, 0, false };
	return 0;
}

static bool earlier(const void *a, const void *b)
{
	return ((const struct moment *)a)->ticks < ((const struct moment *)b)->ticks;
}

/* Only the good ones, and each later than the one before by both clocks. */
static void sift(struct cuda_clock *c)
{
	struct moment *m = c->moments.mem;
	uint64_t best = UINT64_MAX;
	size_t n = 0;

	for (size_t i = 0; i < c->moments.n; i++)
		if (m[i].error < best)
			best = m[i].error;
	for (size_t i = 0; i < c->moments.n; i++) {
		if (m[i].error / MUCH_WORSE > best + 100)
			continue;
		if (n && (m[i].ticks <= m[n - 1].ticks || m[i].ns <= m[n - 1].ns))
			continue;
		m[n++] = m[i];
	}
	c->moments.n = n;
}

/* How far a moment is from where another one lets it be expected, in ticks. */
static uint64_t off(const struct cuda_clock *c, const struct moment *from,
		    const struct moment *m)
{
	double ticks = (double)(int64_t)(m->ticks - from->ticks);
	double ns = (double)(int64_t)(m->ns - from->ns);
	double far = ticks - ns / c->per_tick;

	far = far < 0 ? -far : far;
	return far < 1e18 ? (uint64_t)far : (uint64_t)1e18;
}

/*
 * Each moment is a little wrong, so short lines between two of them are wrong in their
 * slope: one that says nothing new is left out. From the best one on, both ways. What
 * the others then are off is part of the error.
 */
static void thin(struct cuda_clock *c)
{
	struct moment *m = c->moments.mem, *last;
	size_t best = 0, n = 0;
	uint64_t most = 0;

	for (size_t i = 0; i < c->moments.n; i++)
		if (m[i].error < m[best].error)
			best = i;
	for (int way = 1; c->moments.n && way >= -1; way -= 2) {
		last = &m[best];
		last->kept = true;
		for (size_t i = best + (size_t)way; i < c->moments.n; i += (size_t)way) {
			uint64_t far = off(c, last, &m[i]);

			if (far > m[i].error + last->error) {
				last = &m[i];
				last->kept = true;
			} else if (far > most) {
				most = far;
			}
		}
	}
	for (size_t i = 0; i < c->moments.n; i++) {
		if (!m[i].kept)
			continue;
		if (m[i].error > c->error)
			c->error = m[i].error;
		m[n++] = m[i];
	}
	c->error += most;
	c->moments.n = n;
}

static void draw_lines(struct cuda_clock *c)
{
	struct moment *m = c->moments.mem;

	for (size_t i = 0; i + 1 < c->moments.n; i++) {
		double ticks, ns, far;

		ticks = (double)(m[i + 1].ticks - m[i].ticks);
		ns = (double)(m[i + 1].ns - m[i].ns);
		far = ticks * c->per_tick - ns;
		if ((far < 0 ? -far : far) < ns / STEP_PART + STEP_LEAST)
			m[i].per_ns = ticks / ns;
	}
}

int cuda_clock_ready(struct cuda_clock *c, const struct spool_header *head,
		     uint64_t begin, uint64_t end)
{
	struct clock_line line = clock_line_at(head, begin, end);
	int err =
		sort_merge(c->moments.mem, c->moments.n, sizeof(struct moment), earlier);

	c->per_tick = line.per_tick > 0 ? line.per_tick : 1;
	c->ticks = begin;
	c->ns = line.ns;
	c->hit = 0;
	c->all = c->moments.n;
	sift(c);
	thin(c);
	draw_lines(c);
	return err;
}

/* A double of ticks, also when a hostile spool asks for one that is none. */
static uint64_t moved(uint64_t ticks, double by)
{
	if (!(by > -0x1p62 && by < 0x1p62))
		return ticks;
	if (by < 0 && ticks < (uint64_t)-by)
		return 0;
	return ticks + (uint64_t)(int64_t)(by + (by < 0 ? -0.5 : 0.5));
}

uint64_t cuda_clock_later(const struct cuda_clock *c, uint64_t ticks, double ns)
{
	return moved(ticks, ns / c->per_tick);
}

static size_t last_before(struct cuda_clock *c, uint64_t ns)
{
	const struct moment *m = c->moments.mem;
	size_t lo = 0, hi = c->moments.n, hit = c->hit;

	if (m[hit].ns <= ns && (hit + 1 == hi || ns < m[hit + 1].ns))
		return hit;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (m[mid].ns <= ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return c->hit = lo ? lo - 1 : 0;
}

uint64_t cuda_clock_ticks(struct cuda_clock *c, uint64_t ns)
{
	const struct moment *m = c->moments.mem;
	double since;
	size_t i;

	if (!c->moments.n)
		return moved(c->ticks,
			     (double)(int64_t)(ns - (uint64_t)c->ns) / c->per_tick);
	i = last_before(c, ns);
	since = (double)(int64_t)(ns - m[i].ns);
	if (since > 0 && i + 1 < c->moments.n) {
		double left = (double)(m[i + 1].ns - ns);

		if (m[i].per_ns > 0)
			return moved(m[i].ticks, since * m[i].per_ns);
		if (left < since)
			return moved(m[i + 1].ticks, -left / c->per_tick);
	}
	return moved(m[i].ticks, since / c->per_tick);
}
