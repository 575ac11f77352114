/* SPDX-License-Identifier: Apache-2.0 */
/* Is there too little work in each launch? Kernels that begin as soon as they are
 * launched say that the host is the slower one. */
#include "report/advice/blame.h"
#include "report/advice/evidence.h"
#include "report/advice/phrase.h"
#include "report/advice/rules.h"
#include "report/advice/thresholds.h"
#include "report/advice/verdict.h"

#include <stdlib.h>

#define US INT64_C(1000)

/* Did the kernel begin as soon as it was launched? */
static bool begins_at_once(const struct facts *f, const struct piece *p)
{
	return p->call != NO_ROW &&
	       p->begin - f->m->slices[p->call].end < LAUNCH_LAG_US * US;
}

static bool is_kernel(const struct facts *f, uint32_t slice)
{
	return f->m->slices[slice].kind == SLICE_DEVICE &&
	       f->m->slices[slice].sort == SORT_KERNEL;
}

/* The median gap between kernels that follow each other on a stream; -1: there are no
 * two, -2: no memory. A slice's thread is its stream here. */
static int64_t median_gap(const struct facts *f)
{
	int64_t *gaps = malloc((f->kernels + 1) * sizeof(*gaps)), median = -1, end = 0;
	uint32_t thread = NO_ROW;
	size_t n = 0;

	if (!gaps)
		return -2;
	for (uint32_t i = 0; i < f->m->slices_n; i++) {
		const struct slice *s = &f->m->slices[i];

		if (!is_kernel(f, i) || s->begin < f->from || s->begin >= f->to)
			continue;
		if (s->thread == thread && n < f->kernels)
			gaps[n++] = s->begin > end ? s->begin - end : 0;
		if (s->thread != thread || s->end > end)
			end = s->end;
		thread = s->thread;
	}
	if (n)
		median = evidence_median(gaps, n);
	free(gaps);
	return median;
}

/* The percentage of kernels that began at once, among those whose call is known. */
static unsigned share_at_once(const struct facts *f)
{
	size_t known = 0, at_once = 0;

	for (size_t i = 0; i < f->work_n; i++)
		if (is_kernel(f, f->work[i].slice) && f->work[i].call != NO_ROW) {
			known++;
			at_once += begins_at_once(f, &f->work[i]);
		}
	return known ? (unsigned)(at_once * 100 / known) : 0;
}

/* The idle times that end with work which began at once. In a long one the host did
 * something else than launch. */
static bool find_late(const struct facts *f, struct spans *late)
{
	int64_t end = f->from;

	for (size_t i = 0; i < f->work_n; i++) {
		const struct piece *p = &f->work[i];

		if (p->begin > end && p->begin - end <= LAUNCH_REST_US * US &&
		    begins_at_once(f, p) && !spans_add(late, end, p->begin))
			return false;
		end = p->end > end ? p->end : end;
	}
	spans_join(late);
	return true;
}

/* f->time becomes the late time that neither the loader nor a wait explains. */
static bool measure_late(struct facts *f)
{
	struct spans late = { 0 }, loaded = { 0 }, left = { 0 };
	bool fine = find_late(f, &late) && spans_without(&loaded, &late, &f->loading) &&
		    spans_without(&left, &loaded, &f->stalls);

	if (fine)
		facts_measure(f, &left);
	spans_free(&late);
	spans_free(&loaded);
	spans_free(&left);
	return fine;
}

bool launch_look(struct facts *f, struct advice *a)
{
	struct verdict v;
	int64_t gap = median_gap(f);
	unsigned at_once = share_at_once(f);

	if (gap < -1)
		return false;
	facts_measure(f, &f->busy);
	v = verdict_of(f, BOUND_BELOW, LAUNCH_BUSY_PERCENT);
	if (!v.holds || gap <= LAUNCH_GAP_US * US || at_once < LAUNCH_KERNELS)
		return true;
	if (!measure_late(f))
		return false;
	a->gain = evidence_median(f->time, f->n);
	if (!a->gain)
		return true;
	ADVICE_SAY(a->title, "The GPU waits for each launch");
	ADVICE_SAY(
		a->seen,
		"%zu kernels a step, %u %% of them begin within %u us of their launch; median gap "
		"%s; GPU busy %u %%",
		f->kernels / f->n, at_once, LAUNCH_LAG_US, phrase_time(gap),
		phrase_percent((double)v.median, (double)f->e->step));
	ADVICE_SAY(
		a->why,
		"The program launches kernels more slowly than the GPU executes them.");
	ADVICE_SAY(
		a->act,
		"torch.compile(model, mode=\"reduce-overhead\") or CUDA graphs; larger "
		"batches; optimizers with fused=True");
	return true;
}

/* ---- kernels that are small themselves ---- */

bool tiny_kernels_look(struct facts *f, struct advice *a)
{
	struct spans tiny = { 0 };
	struct blame blame;
	struct verdict v;
	size_t n = 0;
	bool fine = blame_start(&blame, f);

	for (size_t i = 0; fine && i < f->work_n; i++) {
		const struct piece *p = &f->work[i];

		if (!is_kernel(f, p->slice) || p->end - p->begin >= TINY_US * US)
			continue;
		n++;
		fine = spans_add(&tiny, p->begin, p->end);
		blame_add(&blame, p->slice, p->end - p->begin);
	}
	spans_join(&tiny);
	facts_measure(f, &tiny);
	spans_free(&tiny);
	v = verdict_of(f, BOUND_AT_LEAST, TINY_PERCENT);
	if (fine && v.holds && n * 100 >= f->kernels * TINY_KERNELS) {
		ADVICE_SAY(a->title, "Most kernels are tiny");
		ADVICE_SAY(
			a->seen,
			"%zu of %zu kernels a step take less than %u us, together %s: %s",
			n / f->n, f->kernels / f->n, TINY_US, phrase_time(v.median),
			verdict_steps(f, &v));
		ADVICE_SAY(
			a->why,
			"Starting a kernel, and moving its data to and from memory, is most of "
			"what such a kernel does.");
		ADVICE_SAY(a->act,
			   "torch.compile fuses elementwise operators; fused or foreach "
			   "optimizers; larger batches");
		ADVICE_SAY(a->where, "%s", blame_place(&blame));
		a->gain = v.median;
	}
	blame_free(&blame);
	return fine;
}

/* ---- operators on a CPU ---- */

struct ops {
	size_t *in_step; /* a number for each judged step */
	size_t n, small;
};

static void count_ops(const struct facts *f, struct ops *o, struct blame *b)
{
	for (uint32_t i = 0; i < f->m->slices_n; i++) {
		const struct slice *s = &f->m->slices[i];
		long step = s->kind == SLICE_OP ? facts_step(f, s->begin) : -1;

		if (step < 0)
			continue;
		o->n++;
		o->in_step[step]++;
		if (s->end - s->begin >= SMALL_US * US)
			continue;
		o->small++;
		blame_add(b, i, 1);
	}
}

/* Do enough steps have so many operators? */
static bool has_many(const struct facts *f, const struct ops *o)
{
	size_t held = 0;

	for (size_t i = 0; i < f->n; i++)
		held += o->in_step[i] >= SMALL_OPS;
	return o->in_step[f->middle] >= SMALL_OPS && verdict_enough(f, held);
}

/* f->time becomes the short times between operators on each thread, no more of a step
 * than nothing else was busy in. What is longer is no price of a call. */
static void measure_gaps(struct facts *f)
{
	uint32_t thread = NO_ROW;
	int64_t end = 0;

	memset(f->time, 0, f->n * sizeof(*f->time));
	for (uint32_t i = 0; i < f->m->slices_n; i++) {
		const struct slice *s = &f->m->slices[i];
		long step;

		if (s->kind != SLICE_OP)
			continue;
		if (s->thread == thread && s->begin > end &&
		    s->begin - end < GAP_US * US && (step = facts_step(f, end)) >= 0 &&
		    step == facts_step(f, s->begin))
			f->time[step] += s->begin - end;
		if (s->thread != thread || s->end > end)
			end = s->end;
		thread = s->thread;
	}
	for (size_t i = 0; i < f->n; i++)
		if (f->time[i] > f->step[i].share[SHARE_OTHER])
			f->time[i] = f->step[i].share[SHARE_OTHER];
}

bool tiny_ops_look(struct facts *f, struct advice *a)
{
	struct ops o = { calloc(f->n + 1, sizeof(*o.in_step)), 0, 0 };
	struct blame blame;
	struct verdict v;
	bool fine = o.in_step && !f->e->steps->gpu && blame_start(&blame, f);

	if (!fine) {
		fine = o.in_step && f->e->steps->gpu;
		free(o.in_step);
		return fine;
	}
	count_ops(f, &o, &blame);
	measure_gaps(f);
	v = verdict_of(f, BOUND_AT_LEAST, SMALL_OTHER_PERCENT);
	if (v.holds && has_many(f, &o) && o.small * 100 >= o.n * SMALL_SHARE) {
		ADVICE_SAY(a->title, "Many small operators");
		ADVICE_SAY(
			a->seen,
			"%zu operators a step, %u %% of them below %u us; in gaps between "
			"them %s, %s",
			o.n / f->n, phrase_percent((double)o.small, (double)o.n),
			SMALL_US, phrase_time(v.median), verdict_steps(f, &v));
		ADVICE_SAY(
			a->why,
			"Python calls so many operators that the time between them counts.");
		ADVICE_SAY(a->act,
			   "work on whole tensors in place of loops; larger batches; "
			   "torch.compile");
		if (blame_is_most(&blame))
			ADVICE_SAY(a->where, "%s", blame_place(&blame));
		a->gain = v.median;
	}
	blame_free(&blame);
	free(o.in_step);
	return true;
}
