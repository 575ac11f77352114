/* SPDX-License-Identifier: Apache-2.0 */
/* Growth that goes on, told from what levels off, comes and goes, or came once. */
#include "report/trend.h"
#include "report/rises.h"
#include "report/sampled.h"

#include <stdlib.h>

#define BLOCKS 10u /* low-water marks of a scale at least */

/* Five rises of one height and no fall: chance does it in one of 32 cases. */
#define BY_CHANCE 2.2
#define EXPECTED  12 /* samples expected of a leak of the limit: five are no leak then */
/* Standard errors for "growth has stopped": of the many last stretches that are tried one
 * may look flat by chance. */
#define STOPPED    3.0
#define ROUGHLY    1.25 /* times the limit, for levels that are seen only now and then */
#define SEEN       7.0 /* samples expected; none comes by chance once in a thousand cases */
#define STEPS_MOST 10000

enum slowing { SLOWS_NOT, SLOWS_PERHAPS, SLOWS };

/* Has the end fallen silent? Surely, where it is three times as long as any pause between
 * rises, and growth at the limit would show in it. Perhaps, where it is longer than any
 * pause, and of growth as before a sample would show SEEN blocks. Exact levels have no
 * perhaps. */
static enum slowing judge_silence(const struct trend_of *t, const struct rises *r)
{
	double least = r->ups / (double)r->n / 10, silent, hidden;
	size_t last = 0, longest = 0, rises = 0, quiet;

	for (size_t i = 0; i < r->n; i++) {
		if (r->by[i] <= least)
			continue;
		if (rises++ && i - last > longest)
			longest = i - last;
		last = i;
	}
	if (rises < 3)
		return SLOWS_NOT;
	quiet = r->n - last;
	silent = (double)(quiet * r->b) * t->limit;
	hidden = sampled_most(t, 0, sampled_error(t, r, quiet), STOPPED);
	if (quiet > 3 * longest + 1 && silent > hidden)
		return SLOWS;
	if (t->error > 0 && quiet > longest + 1 &&
	    r->ups / (double)last * (double)quiet > SEEN * t->error)
		return SLOWS_PERHAPS;
	return SLOWS_NOT;
}

/* Were there two earlier pauses as long as the tail, with no more growth than `room`, and
 * more before and after each? Then a quiet tail is no end: what grows by day rests at
 * night. After one pause a cache may have been filled in two goes. */
static bool has_paused(const struct rises *r, size_t tail, double room)
{
	double sum = 0, level = r->lows[0];
	size_t from = 0;

	for (size_t i = 0; i + tail < r->n; i++) {
		sum += r->by[i] - (i >= from + tail ? r->by[i - tail] : 0);
		if (i + 1 < from + tail || sum > room ||
		    r->lows[i + 1 - tail] - level <= room ||
		    r->lows[r->n - tail] - r->lows[i + 1] <= room)
			continue;
		if (from)
			return true;
		from = i + 1;
		level = r->lows[from];
		sum = 0;
	}
	return false;
}

/* Is a tail that is slower than before, by more than chance, the growth's end? A sample's
 * is, if the most that it may have grown is within the limit; an exact one's, if it is no
 * pause. */
static bool is_end(const struct trend_of *t, const struct rises *r, size_t tail,
		   double sum, double room, bool may_rest)
{
	if (t->error > 0)
		return sampled_most(t, sum, sampled_error(t, r, tail), STOPPED) <= room;
	return !may_rest || !has_paused(r, tail, room);
}

/* Is there a tail whose growth is no more than the limit, and less than before by more
 * than chance? A sample may have missed more than it shows of a tail: then it slows
 * perhaps. */
static enum slowing find_slowing(const struct trend_of *t, const struct rises *r,
				 bool may_rest)
{
	enum slowing found = SLOWS_NOT, silent;
	double sum = 0;
	size_t ask = 3;

	if (rises_slope(r) <= t->limit)
		return SLOWS_NOT;
	for (size_t tail = 1; tail + 2 < r->n; tail++) {
		double room = t->limit * (double)(tail * r->b);

		sum += r->by[r->n - tail];
		if (tail < ask || sum > room)
			continue;
		ask = tail + 1 + tail / 16;
		if (!rises_differ(r, tail, sum, 1))
			continue;
		if (is_end(t, r, tail, sum, room, may_rest))
			return SLOWS;
		if (t->error > 0)
			found = SLOWS_PERHAPS;
	}
	silent = judge_silence(t, r);
	return silent > found ? silent : found;
}

/* ---- the answer ---- */

enum growing { GROWS_NOT, GROWS_PERHAPS, GROWS };

static bool is_faster(const struct trend_of *t, size_t from)
{
	static struct rises all;

	rises_find(&all, t->level, t->n, 0, 1);
	return rises_differ(&all, t->n - 1 - from,
			    (double)(t->level[t->n - 1] - t->level[from]), -1);
}

/* Growth at the end alone counts where it is faster than all before, or slower, and what
 * grew before was never given back; and only the part above all earlier levels. */
static bool is_new_growth(const struct trend_of *t, const struct rises *r, bool slowed)
{
	double most = (double)t->level[0], falls = 0, above, before;

	for (size_t i = 1; i < r->from; i++) {
		double by = (double)(t->level[i] - t->level[i - 1]);

		falls += by < 0 ? -by : 0;
		most = (double)t->level[i] > most ? (double)t->level[i] : most;
	}
	above = r->lows[r->n] - most;
	before = most - (double)t->level[0];
	return above / (double)(t->n - r->from) > t->limit && 4 * falls < above &&
	       (slowed || (10 * before <= above && is_faster(t, r->from)));
}

/* Do rises go on? One large step, or a few, are no growth that goes on, and must hide
 * none: so a rise counts up to four times the limit, or up to the middle rise. */
static bool rises_always(const struct trend_of *t, const struct rises *r)
{
	static double sorted[RISES_MOST];
	double most = 4 * t->limit * (double)r->b, sum = 0, squares = 0;
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		if (r->by[i] > r->ups / (double)r->n / 100)
			sorted[n++] = r->by[i];
	qsort(sorted, n, sizeof(*sorted), rises_by_size);
	most = n && sorted[n / 2] > most ? sorted[n / 2] : most;
	for (size_t i = 0; i < r->n; i++) {
		double by = r->by[i] < most ? r->by[i] : most;

		sum += by;
		squares += by * by;
	}
	return 20 * r->falls <= r->ups && sum >= BY_CHANCE * rises_root(squares) &&
	       sum > t->limit * (double)(r->n * r->b);
}

/* The slope of the last third. Levels seen only now and then hide how a growth slows
 * down. */
static double third_slope(const struct rises *r)
{
	size_t third = r->n / 3;

	return (r->lows[r->n] - r->lows[r->n - third]) / (double)third / (double)r->b;
}

static enum growing is_growing(const struct trend_of *t, const struct rises *r)
{
	bool rises_only = rises_always(t, r);
	enum slowing slowing;

	if (rises_slope(r) <= t->limit)
		return GROWS_NOT;
	if (!rises_only && (rises_low(r) <= t->limit || rises_middle(r) <= t->limit))
		return GROWS_NOT;
	slowing = find_slowing(t, r, true);
	if (slowing == SLOWS)
		return GROWS_NOT;
	if (slowing == SLOWS_PERHAPS)
		return GROWS_PERHAPS;
	if (t->rough && third_slope(r) <= ROUGHLY * t->limit)
		return GROWS_PERHAPS;
	return t->error > 0 && !sampled_is_above(t, r) ? GROWS_PERHAPS : GROWS;
}

static struct trend growth_from(const struct rises *r)
{
	return (struct trend){ .is = TREND_GROWS,
			       .slope = rises_slope(r),
			       .low = rises_low(r),
			       .since = r->from };
}

/* Judges stretches of 1, 2, 3, 5, ... steps, as long as there are enough of them. Growth
 * that slows down step by step does so in all of them. */
static enum growing grows_since(const struct trend_of *t, size_t from, bool slowed,
				struct trend *found)
{
	size_t n = t->n - from, most = n / BLOCKS;
	enum growing best = GROWS_NOT, now;
	enum slowing slowing;
	static struct rises r;

	rises_find(&r, t->level, t->n, from, 1);
	slowing = find_slowing(t, &r, true);
	if (slowing == SLOWS)
		return GROWS_NOT;
	for (size_t b = 1, next; b && b <= most && best < GROWS; b = next) {
		next = b + (b + 1) / 2;
		next = b < most && next > most ? most : next;
		rises_find(&r, t->level, t->n, from, b);
		now = is_growing(t, &r);
		if (from && now && !is_new_growth(t, &r, slowed))
			now = t->rough && (slowed || 2 * n >= t->n) ? GROWS_PERHAPS
								    : GROWS_NOT;
		if (now > best) {
			best = now;
			*found = growth_from(&r);
		}
	}
	if (best == GROWS && slowing == SLOWS_PERHAPS)
		best = GROWS_PERHAPS;
	rises_find(&r, t->level, t->n, from, 1);
	if (best == GROWS_NOT && from && t->error > 0 &&
	    sampled_most(t, r.sum, 0, SAMPLED_ERRORS) > t->limit * (double)n &&
	    is_faster(t, from)) {
		best = GROWS_PERHAPS;
		*found = growth_from(&r);
	}
	return best;
}

/* The growth of the low-water mark from the first to the last third: of bytes that
 * stay. */
static double kept_by_thirds(const struct trend_of *t)
{
	size_t third = t->n / 3;
	int64_t first = INT64_MAX, last = INT64_MAX;

	for (size_t i = 0; i < third; i++) {
		first = t->level[i] < first ? t->level[i] : first;
		last = t->level[t->n - 1 - i] < last ? t->level[t->n - 1 - i] : last;
	}
	return (double)(last - first) * (double)t->n / (double)(t->n - third);
}

/* How many more steps let the growth differ from the limit by two errors; 0: more than
 * anybody would record. */
static size_t steps_more(const struct trend_of *t, double slope)
{
	double apart = slope - t->limit, n;

	n = SAMPLED_ERRORS * SAMPLED_ERRORS * t->error *
	    (slope > t->limit ? slope : t->limit) / (apart * apart + 1);
	if (t->error <= 0 || n <= (double)t->n)
		return t->n < TREND_SURE ? TREND_SURE - t->n : t->n;
	return n > STEPS_MOST ? 0 : (size_t)n + 1 - t->n;
}

/* The level does not seem to grow; may it all the same? So few rises of a sample can be a
 * leak's only where a leak would be in few samples. */
static bool may_grow(const struct trend_of *t, const struct rises *r)
{
	double kept = kept_by_thirds(t), n = (double)t->n, whole;

	if (t->error <= 0)
		return t->rough && r->falls > 0 && kept > t->limit * n / 2;
	if (n * t->limit >= EXPECTED * t->error && 20 * r->falls <= r->ups &&
	    r->sum < BY_CHANCE * rises_root(r->squares))
		return false;
	whole = r->sum < kept ? r->sum : kept;
	return sampled_most(t, whole, sampled_error(t, r, r->n), SAMPLED_ERRORS) >
	       t->limit * n;
}

/* Judges too few steps for chance: each must have grown by more than the limit. */
static struct trend few_steps(const struct trend_of *t, const struct rises *r)
{
	struct trend found = growth_from(r);
	bool each = true;

	for (size_t i = 0; i < r->n; i++)
		each = each && r->by[i] > t->limit;
	if (t->n < TREND_LEAST)
		found.is = TREND_UNSURE;
	else if (t->error > 0)
		found.is = sampled_most(t, r->sum, sampled_error(t, r, r->n),
					SAMPLED_ERRORS) > t->limit * (double)t->n
				   ? TREND_UNSURE
				   : TREND_STEADY;
	else if (!each)
		found.is = found.slope > t->limit ? TREND_UNSURE : TREND_STEADY;
	if (found.is == TREND_UNSURE)
		found.more = steps_more(t, found.slope);
	return found;
}

/* The last step before the first rise. */
static size_t find_begin(const struct trend_of *t)
{
	size_t at = 0;

	while (at + 1 < t->n && t->level[at + 1] <= t->level[0])
		at++;
	return at;
}

/* Judges the window, the rest of it from the first rise on, its second half and its last
 * quarter. */
static enum growing grows_anywhere(const struct trend_of *t, bool slowed,
				   struct trend *found)
{
	const size_t from[] = { 0, find_begin(t), t->n - t->n / 2, t->n - t->n / 4 };
	enum growing best = GROWS_NOT, now;
	struct trend one;

	for (unsigned i = 0; i < 4 && best < GROWS; i++) {
		if (t->n - from[i] < BLOCKS)
			continue;
		now = grows_since(t, from[i], slowed || i == 1, &one);
		if (now > best) {
			best = now;
			*found = one;
		}
	}
	return best;
}

/* The step at which all but a hundredth of the growth was there. */
static size_t nearly_all(const struct trend_of *t)
{
	double first = (double)t->level[0], growth = (double)t->level[t->n - 1] - first;
	size_t at = 0;

	while (at + 1 < t->n && (double)t->level[at] - first < 0.99 * growth)
		at++;
	return at;
}

struct trend trend_find(const struct trend_of *t)
{
	static struct rises r;
	struct trend found = { .is = TREND_STEADY };
	enum growing grows;
	bool slowed;

	if (t->n < 2)
		return (struct trend){ .is = TREND_UNSURE, .more = TREND_SURE - t->n };
	rises_find(&r, t->level, t->n, 0, 1);
	if (t->n < TREND_SURE)
		return few_steps(t, &r);
	/* New growth may follow one that rests. */
	grows = grows_anywhere(t, find_slowing(t, &r, false) == SLOWS, &found);
	slowed = find_slowing(t, &r, true) == SLOWS;
	if (grows == GROWS)
		return found;
	found = growth_from(&r);
	found.is = TREND_STEADY;
	if (grows == GROWS_PERHAPS || (!slowed && may_grow(t, &r))) {
		found.is = TREND_UNSURE;
		found.more = steps_more(t, found.slope);
	} else if (slowed && found.slope > t->limit) {
		found.is = TREND_LEVELLED;
		found.since = nearly_all(t);
	}
	return found;
}
