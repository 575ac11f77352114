/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI's times in ticks of the window: by straight lines between moments at which the
 * agent read both clocks. */
#include "agent/core/clock.h"
#include "base/search.h"
#include "writer/gpu/clock.h"
#include "writer/sort.h"

#define MUCH_WORSE 2 /* a moment's error: another thread had the processor */
#define STEP_PART  64 /* a line so much steeper or flatter: a clock was set */
#define STEP_LEAST 20000 /* ns that two good moments may differ in any case */

struct moment {
	uint64_t ticks, ns, error;
	double per_ns; /* ticks up to the next moment; 0: a clock was set in between */
	bool kept;
};

int gpu_clock_add(struct cuda_clock *c, const struct rec_moment *m)
{
	const struct moment one = { m->r.begin, m->r.end, m->error, 0, false };

	return pile_add(&c->moments, &one, sizeof(one));
}

static bool moment_before(const void *a, const void *b)
{
	return ((const struct moment *)a)->ticks < ((const struct moment *)b)->ticks;
}

/* Keeps the good moments, each of which is later than the one before by both clocks. */
static void keep_good_moments(struct cuda_clock *c)
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

/* How far `m` is from where `from` and the window's rate expect it, in ticks. */
static uint64_t ticks_off_line(const struct cuda_clock *c, const struct moment *from,
			       const struct moment *m)
{
	double ticks = (double)(int64_t)(m->ticks - from->ticks);
	double ns = (double)(int64_t)(m->ns - from->ns);
	double far = ticks - ns / c->per_tick;

	far = far < 0 ? -far : far;
	return far < 1e18 ? (uint64_t)far : (uint64_t)1e18;
}

/*
 * Each moment is a little wrong, so a short line between two of them has a wrong slope: a
 * moment that the one kept before it explains is left out. The search goes from the best
 * moment both ways. How far those left out are off becomes part of the error.
 */
static void thin_moments(struct cuda_clock *c)
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
			uint64_t far = ticks_off_line(c, last, &m[i]);

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

/* A line whose slope is far from the window's rate crosses a moment at which somebody set
 * a clock: it is not used, and each of its two moments holds for the times near it. */
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

int gpu_clock_ready(struct cuda_clock *c, const struct spool_header *head, uint64_t begin,
		    uint64_t end)
{
	struct clock_line line = clock_line_at(head, begin, end);
	int err = sort_merge(c->moments.mem, c->moments.n, sizeof(struct moment),
			     moment_before);

	c->per_tick = line.per_tick > 0 ? line.per_tick : 1;
	c->ticks = begin;
	c->ns = line.ns;
	c->hit = 0;
	c->all = c->moments.n;
	keep_good_moments(c);
	thin_moments(c);
	draw_lines(c);
	return err;
}

/* Adds `by` ticks; any `by` is safe, also one from a hostile spool that no tick can
 * hold. */
static uint64_t shift_ticks(uint64_t ticks, double by)
{
	if (!(by > -0x1p62 && by < 0x1p62))
		return ticks;
	if (by < 0 && ticks < (uint64_t)-by)
		return 0;
	return ticks + (uint64_t)(int64_t)(by + (by < 0 ? -0.5 : 0.5));
}

uint64_t gpu_clock_later(const struct cuda_clock *c, uint64_t ticks, double ns)
{
	return shift_ticks(ticks, ns / c->per_tick);
}

/* The last moment before `ns`, or the first of all. Times come nearly sorted, so the
 * moment that was used last is tried first. */
static size_t last_before(struct cuda_clock *c, uint64_t ns)
{
	const struct moment *m = c->moments.mem;
	size_t hit = c->hit, behind;

	if (m[hit].ns <= ns && (hit + 1 == c->moments.n || ns < m[hit + 1].ns))
		return hit;
	behind = SEARCH_FIRST(i, 0, c->moments.n, m[i].ns > ns);
	return c->hit = behind ? behind - 1 : 0;
}

uint64_t gpu_clock_ticks(struct cuda_clock *c, uint64_t ns)
{
	const struct moment *m = c->moments.mem;
	double since;
	size_t i;

	if (!c->moments.n)
		return shift_ticks(c->ticks,
				   (double)(int64_t)(ns - (uint64_t)c->ns) / c->per_tick);
	i = last_before(c, ns);
	since = (double)(int64_t)(ns - m[i].ns);
	if (since > 0 && i + 1 < c->moments.n) {
		double left = (double)(m[i + 1].ns - ns);

		if (m[i].per_ns > 0)
			return shift_ticks(m[i].ticks, since * m[i].per_ns);
		if (left < since)
			return shift_ticks(m[i + 1].ticks, -left / c->per_tick);
	}
	return shift_ticks(m[i].ticks, since / c->per_tick);
}
