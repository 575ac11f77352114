/* SPDX-License-Identifier: Apache-2.0 */
/* Is the work cut into pieces that are too small, on a GPU or on the CPU? */
#include "report/advice/blame.h"
#include "report/advice/phrase.h"
#include "report/advice/quiet.h"
#include "report/advice/rules.h"
#include "report/advice/thresholds.h"
#include "report/advice/verdict.h"

#include <stdlib.h>

#define US INT64_C(1000)

/* Copies and sets of memory do not count, however short they are. */
static bool is_kernel(const struct facts *f, uint32_t slice)
{
	return f->m->slices[slice].kind == SLICE_DEVICE &&
	       f->m->slices[slice].sort == SORT_KERNEL;
}

/* ---- kernels that are small themselves ---- */

bool tiny_kernels(struct facts *f, struct advice *a)
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

/* Only small operators are blamed, each as one: their number matters, not their time. */
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
 * than no operator ran in. What is longer is no price of a call. False: no memory. */
static bool measure_gaps(struct facts *f)
{
	struct spans quiet = { 0 };
	uint32_t thread = NO_ROW;
	int64_t end = 0;

	if (!quiet_make(f, &quiet))
		return false;

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
	for (size_t i = 0; i < f->n; i++) {
		int64_t free_time =
			spans_within(&quiet, f->step[i].begin, f->step[i].end);

		f->time[i] = f->time[i] < free_time ? f->time[i] : free_time;
	}
	spans_free(&quiet);
	return true;
}

bool tiny_ops(struct facts *f, struct advice *a)
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
	fine = measure_gaps(f);
	v = verdict_of(f, BOUND_AT_LEAST, SMALL_OTHER_PERCENT);
	if (fine && v.holds && has_many(f, &o) && o.small * 100 >= o.n * SMALL_SHARE) {
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
	return fine;
}
