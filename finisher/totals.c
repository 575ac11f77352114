/* SPDX-License-Identifier: Apache-2.0 */
/* Sums for the closing lines. What stands in a spool's header is the process's own
 * word, so that each number is bounded before it is added; what stands in a result was
 * counted by the writer. */
#include "finisher/totals.h"

#include <stdio.h>
#include <string.h>

#define GET(x) atomic_load_explicit(&(x), memory_order_relaxed)

/* Keeps the file that tells most of the run: that of the process that held most memory.
 * Where no memory was sampled a follower's file gives way to any other. */
static void keep_last(struct totals *t, const char *path, uint64_t peak)
{
	bool follows = strstr(path, "/children/");

	if (!*path || peak < t->last_peak)
		return;
	if (peak > t->last_peak || !*t->last_file || !follows ||
	    strstr(t->last_file, "/children/"))
		snprintf(t->last_file, sizeof(t->last_file), "%.4095s", path);
	t->last_peak = peak;
}

/* Programs can write what they like into their spools: so no sum wraps, and an impossible
 * number is not added. */
static void add_bounded(uint64_t *sum, uint64_t n)
{
	if (n <= TOTALS_EACH)
		*sum += n;
	if (*sum > TOTALS_MOST)
		*sum = TOTALS_MOST;
}

static void add_all(uint64_t *sum, const _Atomic uint64_t *n, unsigned kinds)
{
	for (unsigned i = 0; i < kinds; i++)
		add_bounded(&sum[i], GET(n[i]));
}

static void add_plain(uint64_t *sum, const uint64_t *n, unsigned kinds)
{
	for (unsigned i = 0; i < kinds; i++)
		add_bounded(&sum[i], n[i]);
}

/* Adds what the scheduler counted. The marker kept is that of a process with at least as
 * many boundaries as all before it together: its helper may have chosen another. */
static void add_sched(struct totals *t, const struct spool_sched *s)
{
	uint64_t boundaries = GET(s->boundaries);

	if (boundaries <= TOTALS_EACH && boundaries >= t->boundaries)
		snprintf(t->chosen, sizeof(t->chosen), "%.63s", s->chosen);
	if (boundaries <= TOTALS_EACH && boundaries > t->most)
		t->most = boundaries;
	add_bounded(&t->windows, GET(s->windows));
	add_bounded(&t->missed, GET(s->missed));
	add_bounded(&t->locked_out, GET(s->locked_out));
	add_bounded(&t->boundaries, boundaries);
	add_bounded(&t->optimizer_steps, GET(s->optimizer_steps));
	add_bounded(&t->loader_nexts, GET(s->loader_nexts));
	add_bounded(&t->backwards, GET(s->backwards));
	add_bounded(&t->marker_hits, GET(s->marker_hits));
	for (unsigned i = 0; i < STAGES_MOST; i++) {
		add_bounded(&t->stage[i].visits, GET(s->stage[i].visits));
		add_bounded(&t->stage[i].steps, GET(s->stage[i].steps));
	}
}

/* A spool of `h` had no room for something. */
static void note_cap(struct totals *t, const struct spool_header *h)
{
	uint64_t settled = GET(h->settled), cap = settled ? settled : h->cap;

	if (!t->cap || cap < t->cap)
		t->cap = cap;
}

/* Results of windows come by totals_add_result: a process with a finisher writes none
 * itself. */
void totals_add_header(struct totals *t, const struct spool_header *h)
{
	const struct spool_totals *own = &h->totals;

	t->spools++;
	add_bounded(&t->discarded, GET(own->discarded));
	add_bounded(&t->cost_ns, GET(h->rare_ns));
	add_all(t->drops, own->drops, REC_KINDS);
	add_all(t->whys, own->whys, DROP_WHYS);
	add_all(t->cuda, own->cuda, CUDA_COUNTS);
	add_sched(t, &h->sched);
	if (GET(own->whys[DROP_CAP]) || GET(h->sched.missed))
		note_cap(t, h);
	tally_join(&t->seen, &h->seen, TOTALS_EACH);
}

/* Keeps the window with the largest unheld / held; compares crosswise products. */
static void keep_worst(struct totals *t, const uint64_t *events, uint64_t unheld)
{
	uint64_t held = 0;

	for (unsigned i = 0; i < REC_KINDS; i++)
		add_bounded(&held, events[i]);
	if (!held || !unheld || unheld > TOTALS_EACH ||
	    (t->held &&
	     (double)unheld * (double)t->held <= (double)t->unheld * (double)held))
		return;
	t->held = held;
	t->unheld = unheld;
}

void totals_add_window(struct totals *t, const struct spool_header *h,
		       const struct cycle_info *info, const struct writer_result *r)
{
	if (GET(info->whys[DROP_CAP]) || r->heap[HEAP_UNKNOWN_STACK] ||
	    r->python[PYTHON_UNKNOWN])
		note_cap(t, h);
	if (info->flags & CYCLE_EARLY && *r->path && r->steps) {
		t->early++;
		t->early_step = (uint64_t)info->first_step;
		t->early_steps = r->steps;
	}
	add_all(t->whys, info->whys, DROP_WHYS);
	keep_worst(t, r->events, GET(info->whys[DROP_CAP]));
}

static void add_merges(struct writer_merges *t, const struct writer_merges *m)
{
	add_bounded(&t->done, m->done);
	add_bounded(&t->cut, m->cut);
	add_bounded(&t->unfit, m->unfit);
	t->deepest = m->deepest > t->deepest ? m->deepest : t->deepest;
}

static void add_saturated(uint64_t *sum, uint64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum))
		*sum = UINT64_MAX;
}

static void add_flops(struct flops_total *t, const struct flops_total *f)
{
	add_bounded(&t->operators, f->operators);
	add_bounded(&t->unknown, f->unknown);
	add_saturated(&t->total, f->total);
	add_saturated(&t->window_ns, f->window_ns);
}

void totals_add_result(struct totals *t, const struct writer_result *r)
{
	add_plain(t->cuda, r->cuda, CUDA_COUNTS); /* what is lost may be all there was */
	if (!*r->path && !r->is_small)
		return;
	t->rows += r->is_small;
	t->made += !r->is_small;
	t->files += !r->is_small;
	add_bounded(&t->steps, r->steps);
	add_bounded(&t->heap_rows, r->heap_rows);
	add_bounded(&t->cost_ns, r->overhead_ns);
	add_bounded(&t->torch_ns, r->torch_ns);
	add_plain(t->events, r->events, REC_KINDS);
	add_plain(t->drops, r->drops, REC_KINDS);
	add_plain(t->heap, r->heap, HEAP_COUNTS);
	add_plain(t->python, r->python, PYTHON_COUNTS);
	add_merges(&t->merges, &r->merges);
	add_flops(&t->flops, &r->flops);
	keep_last(t, r->path, r->peak);
}
