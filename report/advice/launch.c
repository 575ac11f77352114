/* SPDX-License-Identifier: Apache-2.0 */
/* Is there too little work in each launch? Kernels that begin as soon as they are
 * launched say that the host is the slower one. */
#include "report/advice/phrase.h"
#include "report/advice/rules.h"
#include "report/advice/stalls.h"
#include "report/advice/thresholds.h"
#include "report/advice/verdict.h"
#include "report/figures/median.h"

#include <stdlib.h>
#include <string.h>

#define US INT64_C(1000)

/* Did the kernel begin as soon as it was launched? */
static bool begins_at_once(const struct facts *f, const struct piece *p)
{
	return p->call != NO_ROW &&
	       p->begin - f->m->slices[p->call].end < LAUNCH_LAG_US * US;
}

/* Copies and sets of memory are no kernels, though they are work of the GPU as well. */
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
		median = median_of(gaps, n);
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

/* Were there no waits, a step would still take as long as the host is not blocked in
 * them: only what that is longer than the GPU's work is the launches' own. */
static void cap_late(struct facts *f)
{
	memcpy(f->scratch, f->time, f->n * sizeof(*f->time));
	stalls_blocked(f);
	for (size_t i = 0; i < f->n; i++) {
		int64_t own = facts_length(f, i) - f->time[i] -
			      spans_within(&f->busy, f->step[i].begin, f->step[i].end);

		own = own > 0 ? own : 0;
		f->time[i] = f->scratch[i] < own ? f->scratch[i] : own;
	}
}

/* f->time becomes the late time that neither the loader nor a wait explains. */
static bool measure_late(struct facts *f)
{
	struct spans late = { 0 }, left = { 0 };
	bool fine = find_late(f, &late) && spans_without(&left, &late, &f->loading);

	if (fine) {
		facts_measure(f, &left);
		cap_late(f);
	}
	spans_free(&late);
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
	a->gain = median_of(f->time, f->n);
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
