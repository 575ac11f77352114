/* SPDX-License-Identifier: Apache-2.0 */
/* The whole trace is read first: what stays of it is known then, and looked up event by
 * event while it is written. */
#include "report/export/cut.h"
#include "base/order.h"
#include "base/search.h"
#include "report/export/thread_list.h"
#include "report/figures/event_tree.h"
#include "report/kept.h"
#include "report/texts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- steps ---- */

/* A mark without digits would be read as step 0. */
static bool is_step(const char *name)
{
	return event_is_step(name) &&
	       isdigit((unsigned char)name[strlen("ProfilerStep#")]);
}

/* Is it the mark of a step that stays? */
static bool is_own_step(const struct cut *c, const char *name)
{
	long long number = strtoll(name + strlen("ProfilerStep#"), NULL, 10);

	for (size_t i = 0; i < c->steps.n; i++)
		if (c->steps.row[i].number == number)
			return true;
	return false;
}

/* Leaves the steps that were asked for, and counts those before them. */
static void keep_steps(struct cut *c, const struct cut_options *o)
{
	size_t n = 0;

	for (size_t i = 0; i < c->steps.n; i++) {
		if (c->steps.row[i].number >= o->first &&
		    c->steps.row[i].number <= o->last)
			c->steps.row[n++] = c->steps.row[i];
		else if (!n)
			c->steps.before++;
	}
	c->steps.n = n;
}

/* The first step is marked before it begins where the GPU lags behind: its calls lie
 * between. */
static bool choose_steps(struct cut *c, const char *path, const struct cut_options *o,
			 char *why, size_t size)
{
	const struct model *m = &c->model;

	c->from = c->low = INT64_MIN;
	c->to = INT64_MAX;
	c->by_steps = o->first != INT64_MIN || o->last != INT64_MAX;
	if (!c->by_steps)
		return true;
	if (!c->steps.marked) {
		snprintf(why, size,
			 "%s: its steps are not marked: leave --steps out, or record "
			 "with --marker",
			 path);
		return false;
	}
	keep_steps(c, o);
	if (!c->steps.n) {
		snprintf(why, size,
			 "%s: has none of these steps whole: its steps are %lld to %lld",
			 path, (long long)m->steps[0].number,
			 (long long)m->steps[m->steps_n - 1].number);
		return false;
	}
	c->from = c->low = c->steps.row[0].begin;
	c->to = c->steps.row[c->steps.n - 1].end;
	for (size_t i = 0; i < m->steps_n; i++)
		if (m->steps[i].number == c->steps.row[0].number &&
		    m->steps[i].begin < c->low)
			c->low = m->steps[i].begin;
	return true;
}

/* ---- threads ---- */

/* A row that nobody asked for stays with all the others. */
static bool choose_threads(struct cut *c, const char *path, const struct cut_options *o,
			   char *why, size_t size)
{
	size_t n = c->model.threads_n;
	bool *listed = calloc(n + 1, sizeof(*listed)), fine;

	c->by_threads = o->threads_n > 0;
	fine = listed && (!c->by_threads ||
			  thread_list_find(&c->model, path, o, listed, why, size));
	for (size_t i = 0; fine && i < n; i++)
		c->rows[i].listed = !c->by_threads || listed[i];
	free(listed);
	return fine;
}

/* The row of an event is searched by its process and thread, in this order. */
static int by_row(const void *left, const void *right, void *arg)
{
	const struct thread *t = arg;
	const struct thread *a = t + *(const uint32_t *)left;
	const struct thread *b = t + *(const uint32_t *)right;

	return order_of(a->pid, b->pid) ?: order_of(a->tid, b->tid);
}

/* A row with work of a device is a stream; all others are threads of the host. */
static bool make_rows(struct cut *c)
{
	const struct model *m = &c->model;

	c->rows = calloc(m->threads_n + 1, sizeof(*c->rows));
	c->order = calloc(m->threads_n + 1, sizeof(*c->order));
	if (!c->rows || !c->order)
		return false;
	for (uint32_t i = 0; i < m->threads_n; i++) {
		c->order[i] = i;
		c->rows[i].until = INT64_MIN;
	}
	for (size_t i = 0; i < m->slices_n; i++)
		c->rows[m->slices[i].thread].device |=
			m->slices[i].kind == SLICE_DEVICE ||
			m->slices[i].kind == SLICE_DEVICE_NOTE;
	if (m->threads_n)
		qsort_r(c->order, m->threads_n, sizeof(*c->order), by_row, m->threads);
	return true;
}

/* ---- what stays ---- */

/* Does what lies on a row of the host stay? */
static bool is_in_time(const struct cut *c, const struct cut_row *row, int64_t begin,
		       int64_t end)
{
	if (begin >= c->to)
		return row && begin < row->until;
	return begin >= c->low || end > c->low;
}

/* The mark of another step would be a step of the cut. */
static bool stays_on_host(const struct cut *c, const struct slice *s)
{
	const struct cut_row *row = &c->rows[s->thread];
	const char *name = texts_get(&c->model.texts, s->name);

	if (row->device || !row->listed || !is_in_time(c, row, s->begin, s->end))
		return false;
	return !c->by_steps || !is_step(name) || is_own_step(c, name);
}

/* How long what began in the steps goes on: what is inside of it stays, too. */
static void stretch_rows(struct cut *c)
{
	for (size_t i = 0; i < c->model.slices_n; i++) {
		const struct slice *s = &c->model.slices[i];
		struct cut_row *row = &c->rows[s->thread];

		if (s->begin >= c->from && s->begin < c->to && s->end > row->until &&
		    stays_on_host(c, s))
			row->until = s->end;
	}
}

/* 0 is no number: such a slice is joined to nothing. */
static bool add_number(struct cut_numbers *set, uint32_t n)
{
	if (!n)
		return true;
	if (!GROW(set->row, set->room, set->n))
		return false;
	set->row[set->n++] = n;
	return true;
}

/* The numbers are sorted once, for has_number to search them. */
static int by_number(const void *left, const void *right)
{
	return order_of(*(const uint32_t *)left, *(const uint32_t *)right);
}

/* Work on a device finds its call and its operator by these. */
static bool collect_numbers(struct cut *c)
{
	for (size_t i = 0; i < c->model.slices_n; i++) {
		const struct slice *s = &c->model.slices[i];

		if (stays_on_host(c, s) && (!add_number(&c->external, s->external) ||
					    !add_number(&c->correlation, s->correlation)))
			return false;
	}
	if (c->external.n)
		qsort(c->external.row, c->external.n, sizeof(*c->external.row),
		      by_number);
	if (c->correlation.n)
		qsort(c->correlation.row, c->correlation.n, sizeof(*c->correlation.row),
		      by_number);
	return true;
}

/* The reason is written ahead: most of what can fail here is the memory. Whoever knows
 * better writes over it. */
bool cut_make(struct cut *c, const char *path, const struct cut_options *o, char *why,
	      size_t size)
{
	unsigned want = EVENT_KINDS | WANT(SLICE_DEVICE) | WANT(SLICE_DEVICE_NOTE);

	memset(c, 0, sizeof(*c));
	if (model_read(&c->model, path, want, why, size))
		return false;
	snprintf(why, size, "%s: not enough memory", path);
	if (steps_make(&c->steps, &c->model) && make_rows(c) &&
	    choose_steps(c, path, o, why, size) &&
	    choose_threads(c, path, o, why, size)) {
		stretch_rows(c);
		if (collect_numbers(c))
			return true;
	}
	cut_free(c);
	return false;
}

void cut_free(struct cut *c)
{
	free(c->rows);
	free(c->order);
	free(c->external.row);
	free(c->correlation.row);
	steps_free(&c->steps);
	model_free(&c->model);
	memset(c, 0, sizeof(*c));
}

/* ---- an event ---- */

/* The model's numbers have 32 bits: what is larger was never in the set. */
static bool has_number(const struct cut_numbers *set, int64_t n)
{
	size_t at;

	if (n <= 0 || n > UINT32_MAX)
		return false;
	at = SEARCH_FIRST(i, 0, set->n, set->row[i] >= n);
	return at < set->n && set->row[at] == n;
}

/* The number that the model has for it. */
static int64_t number_of(const struct cut *c, const struct rewrite_row *row)
{
	return *row->text ? -1 - (int64_t)texts_find(&c->model.texts, row->text)
			  : row->number;
}

/* NULL: the model has nothing on this row, such as the marks of the recording. */
static const struct cut_row *find_row(const struct cut *c, const struct rewrite_event *e)
{
	const struct model *m = &c->model;
	int64_t pid = number_of(c, &e->pid), tid = number_of(c, &e->tid);
	size_t at = SEARCH_FIRST(
		i, 0, m->threads_n,
		(order_of(m->threads[c->order[i]].pid, pid)
			 ?: order_of(m->threads[c->order[i]].tid, tid)) >= 0);
	const struct thread *t;

	if (at == m->threads_n)
		return NULL;
	t = &m->threads[c->order[at]];
	return t->pid == pid && t->tid == tid ? &c->rows[c->order[at]] : NULL;
}

/* Arrows of calls to their work have the call's correlation as their number. */
static bool stays_on_device(const struct cut *c, const struct cut_row *row,
			    const struct rewrite_event *e, int64_t end)
{
	bool arrow = e->ph == 's' || e->ph == 't' || e->ph == 'f';
	bool during = e->ts < c->to && (e->ts >= c->from || end > c->from);

	return has_number(&c->correlation, arrow ? e->id : e->correlation) ||
	       has_number(&c->external, e->external) || (row->listed && during);
}

/* The recording's own begin and end. */
static bool is_mark(const struct rewrite_event *e)
{
	return (e->ph == 'i' || e->ph == 'I') &&
	       (!strcmp(e->name, "Iteration Start: PyTorch Profiler") ||
		!strcmp(e->name, "Record Window End"));
}

/* Events that have no time are of the file, not of a moment. */
bool cut_keeps(const struct cut *c, const struct rewrite_event *e)
{
	const struct cut_row *row = find_row(c, e);
	int64_t end = e->ts;

	if (e->ph == 'M')
		return !row || row->listed || row->device ||
		       !text_starts_with(e->name, "thread_");
	if (is_mark(e) || !e->has_ts)
		return true;
	if (e->ph == 'X' && c->by_steps && is_step(e->name) && !is_own_step(c, e->name))
		return false;
	if (e->ph == 'X' && e->dur > 0 && __builtin_add_overflow(e->ts, e->dur, &end))
		end = INT64_MAX;
	if (row && row->device)
		return stays_on_device(c, row, e, end);
	return (!row || row->listed || e->ph == 'C') && is_in_time(c, row, e->ts, end);
}

/* A cut by threads alone has no list of steps. */
char *cut_member(const struct cut *c)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fprintf(out, "\"" KEPT_MEMBER "\": {\"before\": %zu, \"steps\": [",
		c->steps.before);
	for (size_t i = 0; i < c->steps.n; i++)
		fprintf(out, "%s[%lld, %lld, %lld]", i ? ", " : "",
			(long long)c->steps.row[i].number,
			(long long)c->steps.row[i].begin, (long long)c->steps.row[i].end);
	fputs("]}", out);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}
