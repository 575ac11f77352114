/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the GPU's work to the calls that launched it, and to the judged steps. */
#include "report/advice/facts.h"
#include "base/order.h"
#include "base/search.h"

#include <stdlib.h>

struct cause { /* a call, by the number that its work has, too */
	uint32_t correlation, slice;
};

/* Of one number the first slice comes first, and is the one that is found. */
static int by_correlation(const void *left, const void *right)
{
	const struct cause *a = left, *b = right;

	return order_of(a->correlation, b->correlation) ?: order_of(a->slice, b->slice);
}

/* Pieces that begin at once are ordered by slice, so that results never differ. */
static int by_begin(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;

	return order_of(a->begin, b->begin) ?: order_of(a->slice, b->slice);
}

/* ---- steps ---- */

long facts_step(const struct facts *f, int64_t ts)
{
	size_t behind = SEARCH_FIRST(i, 0, f->n, f->step[i].begin > ts);

	return behind && ts < f->step[behind - 1].end ? (long)behind - 1 : -1;
}

void facts_measure(struct facts *f, const struct spans *s)
{
	for (size_t i = 0; i < f->n; i++)
		f->time[i] = spans_within(s, f->step[i].begin, f->step[i].end);
}

/* The step whose length is the median, the earliest such. */
static void find_middle(struct facts *f)
{
	int64_t best = INT64_MAX;

	for (size_t i = 0; i < f->n; i++) {
		int64_t off = facts_length(f, i) - f->e->step;

		off = off < 0 ? -off : off;
		if (off < best) {
			best = off;
			f->middle = i;
		}
	}
}

/* ---- work ---- */

/* The name of the kernel says it, or else the operator that launched it does. */
static bool is_talk(const struct facts *f, const struct slice *s)
{
	const char *name = texts_get(&f->m->texts, s->name);
	uint32_t op;

	if (s->sort != SORT_KERNEL)
		return false;
	if (steps_is_collective_kernel(name))
		return true;
	op = launches_op(&f->ops, s);
	return op != NO_ROW && steps_is_collective(slice_name(f->m, op));
}

/* Copies and sets are work as well, but only kernels count as computing or talking. */
static bool take_work(struct facts *f, uint32_t slice)
{
	const struct slice *s = &f->m->slices[slice];
	bool talk = is_talk(f, s);

	if (s->begin < f->from || s->begin >= f->to)
		return true;
	if (!GROW(f->work, f->work_room, f->work_n) ||
	    !spans_add(&f->busy, s->begin, s->end))
		return false;
	f->work[f->work_n++] = (struct piece){ s->begin, s->end, slice, NO_ROW, talk };
	if (s->sort != SORT_KERNEL)
		return true;
	f->kernels++;
	return spans_add(talk ? &f->talk : &f->compute, s->begin, s->end);
}

/* One pass over all slices serves every rule; spans are joined once, at its end. */
static bool take_slices(struct facts *f)
{
	for (uint32_t i = 0; i < f->m->slices_n; i++) {
		const struct slice *s = &f->m->slices[i];

		if (s->kind == SLICE_DEVICE && !take_work(f, i))
			return false;
		if ((s->kind == SLICE_NOTE || s->kind == SLICE_OP) &&
		    text_starts_with(slice_name(f->m, i), "enumerate(Data") &&
		    !spans_add(&f->loading, s->begin, s->end))
			return false;
	}
	if (f->work_n)
		qsort(f->work, f->work_n, sizeof(*f->work), by_begin);
	spans_join(&f->busy);
	spans_join(&f->compute);
	spans_join(&f->talk);
	spans_join(&f->loading);
	return true;
}

/* ---- calls ---- */

/* The thread that launched most: a loader's thread that copies is not it. */
static bool find_host(struct facts *f)
{
	uint64_t *launched = calloc(f->m->threads_n + 1, sizeof(*launched)), most = 0;

	f->host = NO_ROW;
	for (size_t i = 0; launched && i < f->work_n; i++) {
		uint32_t thread;

		if (f->work[i].call == NO_ROW)
			continue;
		thread = f->m->slices[f->work[i].call].thread;
		if (++launched[thread] > most) {
			most = launched[thread];
			f->host = thread;
		}
	}
	if (!launched)
		return false;
	free(launched);
	return true;
}

/* Work without a correlation keeps no call: several rules then leave it out. */
static bool join_calls(struct facts *f)
{
	size_t n = 0;
	struct cause *calls = malloc((f->m->slices_n + 1) * sizeof(*calls));

	if (!calls)
		return false;
	for (uint32_t i = 0; i < f->m->slices_n; i++)
		if (f->m->slices[i].kind == SLICE_CALL && f->m->slices[i].correlation)
			calls[n++] = (struct cause){ f->m->slices[i].correlation, i };
	if (n)
		qsort(calls, n, sizeof(*calls), by_correlation);
	for (size_t k = 0; k < f->work_n; k++) {
		uint32_t number = f->m->slices[f->work[k].slice].correlation;
		size_t at = SEARCH_FIRST(i, 0, n, calls[i].correlation >= number);

		if (number && at < n && calls[at].correlation == number)
			f->work[k].call = calls[at].slice;
	}
	free(calls);
	return find_host(f);
}

uint32_t facts_around(const struct facts *f, uint32_t thread, int64_t ts)
{
	const struct slice *s = f->m->slices;
	size_t behind = SEARCH_FIRST(i, 0, f->m->slices_n,
				     s[i].thread > thread ||
					     (s[i].thread == thread && s[i].begin > ts));
	uint32_t at = behind ? (uint32_t)behind - 1 : NO_ROW;

	if (at == NO_ROW || s[at].thread != thread)
		return NO_ROW;
	for (unsigned depth = 0; at != NO_ROW && s[at].end <= ts; depth++)
		at = depth < FACTS_DEPTH ? s[at].parent : NO_ROW;
	return at;
}

bool facts_make(struct facts *f, const struct evidence *e)
{
	*f = (struct facts){ .e = e,
			     .m = e->m,
			     .step = e->steps->row + e->first,
			     .n = e->judged,
			     .host = NO_ROW };
	f->time = calloc(f->n + 1, sizeof(*f->time));
	f->scratch = calloc(f->n + 1, sizeof(*f->scratch));
	if (f->n) {
		f->from = f->step[0].begin;
		f->to = f->step[f->n - 1].end;
	}
	find_middle(f);
	if (f->time && f->scratch && launches_make(&f->ops, f->m) && take_slices(f) &&
	    join_calls(f))
		return true;
	facts_free(f);
	return false;
}

void facts_free(struct facts *f)
{
	launches_free(&f->ops);
	spans_free(&f->busy);
	spans_free(&f->compute);
	spans_free(&f->talk);
	spans_free(&f->loading);
	free(f->work);
	free(f->waits);
	free(f->time);
	free(f->scratch);
	*f = (struct facts){ 0 };
}
