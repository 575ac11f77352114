/* SPDX-License-Identifier: Apache-2.0 */
/* Lines in the order of torch's list of events: by begin, the longer first. */
#include "report/export/torch_lines.h"
#include "base/order.h"
#include "report/export/origin.h"
#include "report/figures/self_time.h"

#include <stdlib.h>

struct lines {
	struct line {
		int64_t begin, end;
		uint32_t slice;
	} * rows;
	size_t n, room;
};

/* Of two that begin together the longer is around the other. */
static int by_begin(const void *left, const void *right)
{
	const struct line *a = left, *b = right;

	return order_of(a->begin, b->begin) ?: order_of(b->end, a->end) ?:
	       order_of(a->slice, b->slice);
}

/* What took less than a microsecond would be a line with 0. */
static bool collect_lines(struct lines *l, const struct origin *o,
			  const struct self_time *t, const int64_t *time)
{
	for (uint32_t i = 0; i < o->m->slices_n; i++) {
		const struct slice *s = &o->m->slices[i];

		if (!t->event[i] || o->node[i] == FOLD_ROOT || time[i] < 1000)
			continue;
		if (!GROW(l->rows, l->room, l->n))
			return false;
		l->rows[l->n++] = (struct line){ s->begin, s->end, i };
	}
	if (l->n)
		qsort(l->rows, l->n, sizeof(*l->rows), by_begin);
	return true;
}

/* The value is in whole microseconds; the rest is cut off. */
static void put_line(const struct fold *f, uint32_t node, int64_t ns, FILE *out)
{
	uint32_t path[FOLD_DEPTH_MOST];
	unsigned n = fold_path(f, node, path);

	for (unsigned i = 0; i < n; i++)
		fprintf(out, "%s%s", i ? ";" : "", fold_text(f, path[i]));
	fprintf(out, " %lld\n", (long long)(ns / 1000));
}

/* Each event has its own line: equal stacks are not summed. */
bool torch_lines_write(const struct model *m, struct fold *f, bool device, bool *stacks,
		       bool *lines, FILE *out)
{
	struct origin o = { 0 };
	struct self_time t = { 0 };
	struct lines l = { 0 };
	const int64_t *time;
	bool fine = origin_make(&o, m, f, ORIGIN_TORCH) && self_time_torch(&t, m);

	time = device ? t.device : t.cpu;
	fine = fine && collect_lines(&l, &o, &t, time);
	for (size_t i = 0; fine && i < l.n; i++)
		put_line(f, o.node[l.rows[i].slice], time[l.rows[i].slice], out);
	*stacks = fine && o.any;
	*lines = fine && l.n;
	free(l.rows);
	self_time_free(&t);
	origin_free(&o);
	return fine;
}
