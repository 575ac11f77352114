/* SPDX-License-Identifier: Apache-2.0 */
/* The curve is that of `proflaunch memory --timeline`; the heap has none: its file says
 * how much each call site held, and not when. */
#include "report/page/spaces.h"
#include "report/memory/category.h"
#include "report/memory/timeline_points.h"
#include "report/out.h"
#include "report/units.h"
#include "report/view/table.h"

#include <inttypes.h>
#include <stdlib.h>

/* The curve's times are absolute, as torch's export has them; a page begins at 0. */
static int64_t since_begin(const struct memory_view *v, int64_t absolute)
{
	return absolute - v->model->base_ns - v->model->begin;
}

/* ---- the curve ---- */

/* Points are [time, bytes of each category]. */
static void put_points(const struct memory_view *v, const struct timeline_points *h,
		       FILE *out)
{
	fputs(",\n\"points\": [", out);
	for (size_t i = 0; i < h->n; i++) {
		fprintf(out, "%s[%s", i ? "," : "",
			units_us(since_begin(v, h->points[i].ts)));
		for (unsigned c = 0; c < CATEGORIES; c++) {
			int64_t size = h->points[i].size[c];

			fprintf(out, ",%" PRId64, size > 0 ? size : 0);
		}
		putc(']', out);
	}
	fprintf(out, "], \"curve_peak\": [%s, %" PRId64 "]",
		units_us(h->n ? since_begin(v, h->peak.ts) : 0), h->peak.all);
}

/* A space of the heap is passed over: its file has no moments. */
static bool put_curve(const struct memory_view *v, const struct memory_space *space,
		      FILE *out)
{
	struct timeline t = { .view = v, .space = space };
	struct timeline_points h;
	bool fine;

	if (space->heap)
		return true;
	fine = timeline_rows(&t) && timeline_points_make(&h, &t);
	if (fine) {
		put_points(v, &h, out);
		timeline_points_free(&h);
	}
	free(t.rows);
	return fine;
}

/* ---- the peak, and who ---- */

/* What the allocator had at its fullest, and what it was for. */
static void put_peak(const struct memory_view *v, const struct memory_space *s, FILE *out)
{
	fputs("{\"name\": ", out);
	out_json(out, s->name);
	fprintf(out,
		", \"heap\": %s, \"estimated\": %s, \"peak\": %" PRId64
		", \"peak_time\": %s, \"reserved\": %" PRId64 ", \"end\": %" PRId64
		", \"older\": %" PRId64 ", \"out_of_memory\": %" PRId64,
		s->heap ? "true" : "false", s->estimated ? "true" : "false", s->peak,
		units_us(s->peak_ts - v->model->begin), s->reserved, s->end, s->older,
		s->oom);
	if (s->peak_step >= 0)
		fprintf(out, ", \"peak_step\": %ld", s->peak_step);
	fputs(", \"peak_operator\": ", out);
	out_json(out, memory_label(v, s->peak_op));
	fputs(", \"at_peak\": [", out);
	for (unsigned i = 0; i < CATEGORIES; i++)
		fprintf(out, "%s%" PRId64, i ? ", " : "", s->heap ? 0 : s->category[i]);
	putc(']', out);
}

static const struct table_column who[] = {
	{ "name", "Who", TABLE_TEXT, 0 },
	{ "peak", "at the peak", TABLE_BYTES, 0 },
	{ "end", "at the end", TABLE_BYTES, 1 },
	{ "allocations", "Allocations", TABLE_COUNT, 2 },
	{ "allocated", "Allocated", TABLE_BYTES, 0 },
	{ "frees", "Frees", TABLE_COUNT, 4 },
	{ "freed", "Freed", TABLE_BYTES, 3 },
	{ "growth", "grows a step", TABLE_BYTES, 0 },
};

/* How much more a row holds from one step's end to the next one's, in the mean. */
static int64_t growth_of(const struct memory_row *r, size_t steps)
{
	if (!r->steps || steps < 2)
		return TABLE_NONE;
	return (r->steps[steps - 1] - r->steps[0]) / (int64_t)(steps - 1);
}

/* Operators or call sites, those that held most at the peak first. */
static bool put_who(const struct memory_view *v, const char *key,
		    const struct memory_table *rows, size_t steps, FILE *out)
{
	struct table t;
	bool fine = true;

	table_begin(&t, who, sizeof(who) / sizeof(*who));
	for (size_t i = 0; fine && i < rows->n; i++) {
		const struct memory_row *r = &rows->rows[i];
		struct table_cell *c = table_add(&t);

		fine = c != NULL;
		if (!fine)
			break;
		c[0].text = memory_label(v, r->label);
		c[1].n = r->peak;
		c[2].n = r->end;
		c[3].n = r->allocs;
		c[4].n = r->bytes;
		c[5].n = r->frees;
		c[6].n = r->freed;
		c[7].n = growth_of(r, steps);
	}
	fine = fine && table_sort(&t, 1);
	if (fine) {
		fprintf(out, ",\n\"%s\": {", key);
		table_arrays(&t, out, SPACES_ROWS);
		fprintf(out, ", \"all\": %zu}", t.n);
	}
	table_free(&t);
	return fine;
}

/* Each category comes with its rule: the page can say what it means. */
static bool put_spaces(const struct memory_view *v, FILE *out)
{
	bool fine = true;

	fputs("{\"categories\": [", out);
	for (unsigned i = 0; i < CATEGORIES; i++) {
		fputs(i ? ", [" : "[", out);
		out_json(out, category_names[i]);
		fputs(", ", out);
		out_json(out, category_rules[i]);
		putc(']', out);
	}
	fputs("], \"spaces\": [", out);
	for (size_t i = 0; fine && i < v->spaces_n; i++) {
		const struct memory_space *s = &v->spaces[i];

		fputs(i ? ",\n" : "\n", out);
		put_peak(v, s, out);
		fine = put_curve(v, s, out) &&
		       put_who(v, "by_operator", &s->by_op, s->steps_n, out) &&
		       put_who(v, "by_site", &s->by_site, s->steps_n, out);
		putc('}', out);
	}
	fputs("]}", out);
	return fine;
}

bool spaces_print(struct subject *s, FILE *out)
{
	struct memory_options o = {
		.top = 1, .depth = 3, .first = INT64_MIN, .last = INT64_MAX
	};
	struct memory_view v;
	bool fine = memory_make(&v, &s->model, &o) && put_spaces(&v, out);

	memory_free(&v);
	return fine;
}
