/* SPDX-License-Identifier: Apache-2.0 */
/* Bins are equally wide; there are TIMELINE_POINTS / 2, for each leaves two points at
 * most. */
#include "report/memory/timeline_points.h"

#include <stdlib.h>

struct bins {
	struct timeline_points *to;
	struct timeline_point now, kept; /* kept: the fullest moment of the bin */
	int64_t bin; /* -1 = none yet */
};

static void keep_point(struct timeline_points *h, const struct timeline_point *p)
{
	if (h->n && h->points[h->n - 1].ts == p->ts)
		h->n--;
	h->points[h->n++] = *p;
}

/* Keeps the fullest moment of a bin, and its end. */
static void flush_bin(struct bins *b)
{
	if (b->bin < 0)
		return;
	keep_point(b->to, &b->kept);
	if (b->now.ts > b->kept.ts)
		keep_point(b->to, &b->now);
}

static int64_t bin_at(const struct timeline_points *h, int64_t ts)
{
	if (h->last <= h->first)
		return 0;
	return (int64_t)((double)(ts - h->first) / (double)(h->last - h->first) *
			 (TIMELINE_POINTS / 2 - 1));
}

static void add_row(struct bins *b, const struct timeline_row *r)
{
	struct timeline_points *h = b->to;
	int64_t ts = r->ts < 0 ? h->first : r->ts, bin = bin_at(h, ts);

	if (bin != b->bin) {
		flush_bin(b);
		b->bin = bin;
		b->kept.all = INT64_MIN;
	}
	b->now.ts = ts;
	b->now.size[r->category] += r->bytes;
	b->now.all += r->bytes;
	if (b->now.all > b->kept.all)
		b->kept = b->now;
	if (b->now.all > h->peak.all)
		h->peak = b->now;
}

bool timeline_points_make(struct timeline_points *h, const struct timeline *t)
{
	struct bins b = { .to = h, .bin = -1 };

	*h = (struct timeline_points){ .points = calloc(TIMELINE_POINTS + 4,
							sizeof(*h->points)) };
	for (size_t i = t->n; i-- > 0 && t->rows[i].ts >= 0;)
		h->first = t->rows[i].ts;
	h->last = t->n && t->rows[t->n - 1].ts > 0 ? t->rows[t->n - 1].ts : h->first;
	for (size_t i = 0; h->points && i < t->n; i++)
		add_row(&b, &t->rows[i]);
	if (h->points && t->n)
		flush_bin(&b);
	return h->points != NULL;
}

void timeline_points_free(struct timeline_points *h)
{
	free(h->points);
	h->points = NULL;
}
