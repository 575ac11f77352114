/* SPDX-License-Identifier: Apache-2.0 */
/* The memory report as text. */
#include "base/order.h"
#include "report/memory/category.h"
#include "report/memory/memory.h"
#include "report/memory/resident.h"
#include "report/out.h"
#include "report/trend.h"
#include "report/whose.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WIDE 100 /* columns of a label */

/* ---- order ---- */

enum order { BY_PEAK, BY_END, BY_GROWTH, BY_BYTES };

struct ranked {
	int64_t key;
	const struct memory_row *row;
};

static int by_key(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return order_of(y->key, x->key) ?: order_of((intptr_t)x->row, (intptr_t)y->row);
}

/* Sorts rows, and leaves out those whose key is not above 0. NULL = no memory. */
static struct ranked *rank_rows(const struct memory_table *t, size_t steps,
				enum order order, size_t *n)
{
	struct ranked *list = calloc(t->n + 1, sizeof(*list));

	*n = 0;
	for (size_t i = 0; list && i < t->n; i++) {
		const struct memory_row *r = &t->rows[i];
		int64_t key = order == BY_PEAK  ? r->peak
			      : order == BY_END ? r->end
						: r->bytes;

		if (order == BY_GROWTH)
			key = r->steps && steps > 1 ? r->steps[steps - 1] - r->steps[0]
						    : 0;
		if (key > 0)
			list[(*n)++] = (struct ranked){ key, r };
	}
	if (list && *n)
		qsort(list, *n, sizeof(*list), by_key);
	return list;
}

/* ---- pieces ---- */

static void put_rest(FILE *out, size_t shown, size_t n)
{
	if (n > shown)
		fprintf(out, "  ... and %s more\n", out_count((int64_t)(n - shown)));
}

/* The percentage; 0 where there is no whole. */
static double percent_of(int64_t part, int64_t whole)
{
	return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- the peak ---- */

/* The allocator's own peak includes blocks that are older than the window; the second
 * line tells both apart. */
static void print_peak(const struct memory_view *v, const struct memory_space *s,
		       FILE *out)
{
	fprintf(out, "%s: peak %s", s->name, out_bytes(s->peak));
	if (s->estimated)
		fputs(" (estimated)", out);
	fprintf(out, " at %s", out_ms(s->peak_ts - v->model->begin));
	if (s->peak_step >= 0)
		fprintf(out, ", step %ld", s->peak_step);
	if (s->peak_op != TEXT_NONE) {
		fputs(", in ", out);
		out_text(out, memory_label(v, s->peak_op), WIDE);
	}
	putc('\n', out);
	if (s->peak > s->peak_seen)
		fprintf(out, "  of it %s allocated in the window, %s before it\n",
			out_bytes(s->peak_seen), out_bytes(s->peak - s->peak_seen));
	fprintf(out, "  allocated %s%s in %s blocks, freed %s in %s; ",
		s->estimated ? "about " : "", out_bytes(s->bytes), out_count(s->allocs),
		out_bytes(s->freed), out_count(s->frees));
	fprintf(out, "live at the end: %s in %s blocks\n", out_bytes(s->end),
		out_count(s->end_blocks));
	if (s->foreign)
		fprintf(out,
			"  %s blocks that were allocated before recording began were freed\n",
			out_count(s->foreign));
	if (s->reserved)
		fprintf(out,
			strcmp(s->name, "cpu")
				? "  reserved from the device: at most %s\n"
				: "  shared with other processes: a block of up to %s\n",
			out_bytes(s->reserved));
	if (s->oom)
		fprintf(out, "  OUT OF MEMORY: %s requests failed\n", out_count(s->oom));
}

static void print_categories(const struct memory_space *s, FILE *out)
{
	fputs("\n  live at the peak, by category\n", out);
	for (unsigned i = 0; i < CATEGORIES; i++)
		if (s->category[i])
			fprintf(out, "  %12s %5.1f %%  %s\n", out_bytes(s->category[i]),
				percent_of(s->category[i], s->peak), category_names[i]);
	if (s->older)
		fprintf(out, "  %12s %5.1f %%  (allocated before recording began)\n",
			out_bytes(s->older), percent_of(s->older, s->peak));
}

static void print_live(const struct memory_view *v, const struct memory_space *s,
		       bool site, FILE *out)
{
	size_t n;
	struct ranked *list = rank_rows(site ? &s->by_site : &s->by_op, 0, BY_PEAK, &n);

	/* The program has no operators. */
	if (!site && n == 1 && list[0].row->label == TEXT_NONE)
		n = 0;
	if (n)
		fprintf(out, "\n  live at the peak, by %s\n",
			site ? "call site" : "operator");
	for (size_t i = 0; i < n && i < v->options.top; i++) {
		fprintf(out, "  %12s %5.1f %%  ", out_bytes(list[i].key),
			percent_of(list[i].key, s->peak));
		if (s->heap)
			out_site(out, memory_label(v, list[i].row->label), 22, WIDE);
		else {
			fprintf(out, "%6s x  ", out_count(list[i].row->peak_blocks));
			out_site(out, memory_label(v, list[i].row->label), 32, WIDE);
		}
	}
	put_rest(out, v->options.top, n);
	free(list);
}

/* ---- growth and churn ---- */

/* Is the row a leak suspect? Its growth over all steps goes on, whatever single steps do.
 * With few steps it never fell, and rose in a third of them. */
static bool goes_on_growing(const struct memory_space *s, const struct memory_row *r)
{
	struct trend_of of = { .level = r->steps, .n = s->steps_n };
	size_t rises = 0;

	if (s->steps_n < TREND_LEAST)
		return false;
	if (s->steps_n >= TREND_SURE)
		return trend_find(&of).is == TREND_GROWS;
	for (size_t i = 1; i < s->steps_n; i++) {
		if (memory_growth(r, i) < 0)
			return false;
		rises += memory_growth(r, i) > 0;
	}
	return 3 * rises >= s->steps_n - 1;
}

/* Prints blocks that are left: without steps they say most. */
static void print_left(const struct memory_view *v, const struct memory_space *s,
		       FILE *out)
{
	size_t n;
	struct ranked *list = rank_rows(&s->by_site, 0, BY_END, &n);

	fputs("\n  growth per step: cannot be told from fewer than two steps (any program "
	      "has some with --marker time:1000)\n",
	      out);
	if (n && !s->counted)
		fputs("\n  live at the end, by call site\n", out);
	for (size_t i = 0; i < n && i < v->options.top && !s->counted; i++) {
		fprintf(out, "  %12s %6s x  ", out_bytes(list[i].key),
			out_count(list[i].row->end_blocks));
		out_site(out, memory_label(v, list[i].row->label), 24, WIDE);
	}
	put_rest(out, v->options.top, s->counted ? 0 : n);
	free(list);
}

static void print_growth(const struct memory_view *v, const struct memory_space *s,
			 FILE *out)
{
	size_t n, first = s->steps_n > 6 ? s->steps_n - 6 : 0;
	struct ranked *list = rank_rows(&s->by_site, s->steps_n, BY_GROWTH, &n);

	if (s->steps_n < 2) {
		free(list);
		print_left(v, s, out);
		return;
	}
	if (!n)
		fputs("\n  growth per step: no call site holds more at the last step's end than "
		      "at the first's\n",
		      out);
	else {
		fprintf(out, "\n  growth per step (%s), live at the ends of steps",
			s->steps_n < TREND_LEAST ? "too few steps to suspect a leak"
						 : "* = it goes on: a leak suspect");
		for (size_t k = first; k < s->steps_n; k++)
			fprintf(out, " %" PRId64, s->numbers[k]);
		putc('\n', out);
	}
	for (size_t i = 0; i < n && i < v->options.top; i++) {
		const struct memory_row *r = list[i].row;

		fprintf(out, "  %c %10s/step  ", goes_on_growing(s, r) ? '*' : ' ',
			out_bytes(list[i].key / (int64_t)(s->steps_n - 1)));
		out_site(out, memory_label(v, r->label), 20, WIDE);
		fprintf(out, "%22s", "");
		for (size_t k = first; k < s->steps_n; k++)
			fprintf(out, " %s%s", k > first ? "-> " : "",
				out_bytes(r->steps[k]));
		putc('\n', out);
	}
	put_rest(out, v->options.top, n);
	free(list);
}

/* `end`: prints live bytes, which are known at a step's end and nowhere else. */
static void churn_line(FILE *out, const char *name, const struct memory_churn *c,
		       bool end)
{
	fprintf(out, "  %8s %10s %10s %12s %9.1f %%", name, out_count(c->allocs),
		out_count(c->frees), out_bytes(c->bytes),
		percent_of(c->brief, c->allocs));
	fprintf(out, " %12s\n", end ? out_bytes(c->end) : "");
}

static void print_churn_steps(const struct memory_view *v, const struct memory_space *s,
			      FILE *out)
{
	size_t first = s->steps_n > v->options.top ? s->steps_n - v->options.top : 0;
	char name[32];

	if (!s->churn || !s->steps_n)
		return;
	fprintf(out, "\n  churn   %10s %10s %12s %11s %12s\n", "allocs", "frees", "bytes",
		"temporary", "live at end");
	for (size_t k = first; k < s->steps_n; k++) {
		snprintf(name, sizeof(name), "step %" PRId64, s->numbers[k]);
		churn_line(out, name, &s->churn[k], true);
	}
	if (s->outside.allocs || s->outside.frees)
		churn_line(out, "outside", &s->outside, false);
}

static void print_churn(const struct memory_view *v, const struct memory_space *s,
			FILE *out)
{
	size_t n;
	struct ranked *list =
		rank_rows(s->heap ? &s->by_site : &s->by_op, 0, BY_BYTES, &n);
	int64_t steps = s->steps_n ? (int64_t)s->steps_n : 1;

	print_churn_steps(v, s, out);
	if (n)
		fprintf(out, "\n  most allocated%s, by %s\n",
			s->steps_n ? ", per step" : "",
			s->heap ? "call site" : "operator");
	for (size_t i = 0; i < n && i < v->options.top; i++) {
		const struct memory_row *r = list[i].row;

		fprintf(out, "  %12s %9.*f allocs  ", out_bytes(r->bytes / steps),
			r->allocs % steps ? 1 : 0, (double)r->allocs / (double)steps);
		if (!s->heap)
			fprintf(out, "%5.1f %% temporary  ",
				percent_of(r->brief, r->allocs));
		out_site(out, memory_label(v, r->label), s->heap ? 33 : 52, WIDE);
	}
	put_rest(out, v->options.top, n);
	free(list);
}

/* ---- notes on the numbers ---- */

static void note_stacks(const struct sites *h, FILE *out)
{
	if (!h->disagreed && !h->ended && !h->cut && !h->unknown)
		return;
	fprintf(out, "  call stacks: %s walked", out_count(h->walks));
	if (h->disagreed)
		fprintf(out, "; %s of %s that were walked twice disagreed",
			out_count(h->disagreed), out_count(h->checked));
	if (h->ended)
		fprintf(out, "; %s end at code without unwind tables",
			out_count(h->ended));
	if (h->cut)
		fprintf(out, "; %s without their outer frames (--stack-depth shows more)",
			out_count(h->cut));
	if (h->unknown)
		fprintf(out, "; %s allocations without one, for there was no room",
			out_count(h->unknown));
	putc('\n', out);
}

/* Tells how far the numbers can be believed, in the words of docs/memory.md. */
static void note_heap(const struct model *m, const struct sites *h, FILE *out)
{
	const char *mode = texts_get(&m->texts, h->mode);
	bool older =
		h->since != TEXT_NONE && !strcmp(texts_get(&m->texts, h->since), "start");

	fprintf(out, "  heap: malloc = %s, live bytes count from the %s's beginning",
		mode, older ? "program" : "window");
	if (!strcmp(mode, "count"))
		fprintf(out, "; usable bytes%s",
			older ? "" : ", less what older blocks had that were freed");
	if (h->weighted)
		fprintf(out,
			";\n  sampled every %s: estimates. N bytes are right within "
			"+- sqrt(N x %s) in two of three cases",
			out_bytes(h->sample_bytes), out_bytes(h->sample_bytes));
	putc('\n', out);
	if (texts_find(&m->texts, "PyObject_Malloc") != TEXT_NONE)
		fputs("  Python's objects of up to 512 bytes are in it; a block that the "
		      "interpreter keeps for the next\n  object has the line that took it "
		      "first\n",
		      out);
	if (h->rows_n && !h->symbols)
		fputs("  frames are module + offset: no symbols were at hand\n", out);
	note_stacks(h, out);
}

static void print_notes(const struct memory_view *v, FILE *out)
{
	const struct model *m = v->model;
	const struct sites *h = m->heap;

	fputs("what the numbers are\n", out);
	if (m->memory_n)
		fprintf(out,
			"  tensors: %s events of the allocators; live and by-site numbers count "
			"from the window's beginning\n",
			out_count((int64_t)m->memory_n));
	if (h)
		note_heap(m, h, out);
	if (v->blocks.overwritten)
		fprintf(out,
			"  %s addresses were given out twice without a free between\n",
			out_count((int64_t)v->blocks.overwritten));
	if (m->memory_n)
		fputs("  temporary: freed inside the outermost operator that allocated it\n",
		      out);
}

void memory_print(const struct memory_view *v, const char *path, FILE *out)
{
	const struct model *m = v->model;

	whose_print_missing(m, out);
	whose_print(m, out);
	out_text(out, path, 1000);
	fprintf(out, ": %s long", out_ms(m->end > m->begin ? m->end - m->begin : 0));
	if (m->steps_n)
		fprintf(out, ", %s step%s", out_count((int64_t)m->steps_n),
			m->steps_n == 1 ? "" : "s");
	fputs("\n\n", out);
	resident_print_most(m, out);
	for (size_t i = 0; i < v->spaces_n; i++) {
		const struct memory_space *s = &v->spaces[i];

		print_peak(v, s, out);
		if (!s->heap && s->peak > 0)
			print_categories(s, out);
		if (s->counted) {
			fputs("  who asked for it: malloc = count does not say; record with "
			      "--malloc sample, or all\n",
			      out);
		} else {
			print_live(v, s, false, out);
			print_live(v, s, true, out);
		}
		print_growth(v, s, out);
		if (!s->counted)
			print_churn(v, s, out);
		putc('\n', out);
	}
	print_notes(v, out);
}
