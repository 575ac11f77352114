/* SPDX-License-Identifier: Apache-2.0 */
/* Does the program wait for the GPU several times a step? Without a GPU: would it? */
#include "base/text.h"
#include "report/advice/blame.h"
#include "report/advice/lineage.h"
#include "report/advice/phrase.h"
#include "report/advice/rules.h"
#include "report/advice/stalls.h"
#include "report/advice/thresholds.h"
#include "report/advice/verdict.h"
#include "report/figures/median.h"

#include <stdlib.h>

/* How many calls there are in each step, and the time that a rule asks for. */
struct waits {
	struct blame blame;
	size_t held; /* steps with WAIT_COUNT or more */
	int64_t median;
};

/* The median is taken of a copy, as it sorts what the caller still needs by step. */
static void count_steps(struct facts *f, struct waits *w)
{
	for (size_t i = 0; i < f->n; i++) {
		w->held += f->time[i] >= WAIT_COUNT;
		f->scratch[i] = f->time[i];
	}
	w->median = median_of(f->scratch, f->n);
}

/* ---- GPU ---- */

/* f->time becomes what a step would gain without the waits: the host would launch while
 * the GPU works, so that the GPU's idle times shrink by as long as the host was blocked.
 * Where it waits for its input it launches nothing either way. */
static bool measure_gain(struct facts *f)
{
	struct spans taken = { 0 };

	for (size_t i = 0; i < f->busy.n; i++)
		if (!spans_add(&taken, f->busy.row[i].begin, f->busy.row[i].end))
			goto out_taken;
	for (size_t i = 0; i < f->loading.n; i++)
		if (!spans_add(&taken, f->loading.row[i].begin, f->loading.row[i].end))
			goto out_taken;
	spans_join(&taken);
	stalls_blocked(f);
	for (size_t i = 0; i < f->n; i++) {
		int64_t idle = facts_length(f, i) -
			       spans_within(&taken, f->step[i].begin, f->step[i].end);

		f->time[i] = f->time[i] < idle ? f->time[i] : idle;
	}
	spans_free(&taken);
	return true;
out_taken:
	spans_free(&taken);
	return false;
}

/* Nothing is said where the GPU had enough work queued to go on. */
static bool say_waits(struct facts *f, struct advice *a, const struct waits *w)
{
	if (!measure_gain(f))
		return false;
	a->gain = median_of(f->time, f->n);
	if (!a->gain)
		return true;
	ADVICE_SAY(a->title, "The program waits for the GPU %lld times a step",
		   (long long)w->median);
	ADVICE_SAY(
		a->seen,
		"in %zu of %zu steps; for want of launches meanwhile the GPU idles for %s a step",
		w->held, f->n, phrase_time(a->gain));
	ADVICE_SAY(
		a->why,
		"A value that Python wants to see makes the program wait until all GPU work "
		"is done; then nothing is queued, and the GPU waits for the program.");
	ADVICE_SAY(
		a->act,
		"keep values on the GPU: sum up losses there and read them (.item(), print, "
		"if, .cpu()) once in many steps; torch.where in place of nonzero and masks");
	ADVICE_SAY(a->where, "%s", blame_place(&w->blame));
	return true;
}

/* Waits are blamed by how long the GPU idles, not by how long the host is blocked. */
static bool look_at_gpu(struct facts *f, struct advice *a)
{
	struct waits w = { .held = 0 };
	bool fine = true;

	if (!blame_start(&w.blame, f))
		return false;
	memset(f->time, 0, f->n * sizeof(*f->time));
	for (size_t i = 0; i < f->waits_n; i++) {
		const struct slice *s = &f->m->slices[f->waits[i]];
		struct span idle = stalls_idle(f, f->waits[i]);
		long step = facts_step(f, s->begin);

		if (step < 0)
			continue;
		f->time[step]++;
		blame_add(&w.blame, f->waits[i], idle.end - idle.begin);
	}
	count_steps(f, &w);
	if (verdict_enough(f, w.held) && f->time[f->middle] >= WAIT_COUNT)
		fine = say_waits(f, a, &w);
	blame_free(&w.blame);
	return fine;
}

/* ---- CPU ---- */

/* These operators need a value on the host, or a size that depends on values. */
static bool is_wait_op(const char *name)
{
	static const char *const names[] = {
		"aten::item",    "aten::_local_scalar_dense", "aten::is_nonzero",
		"aten::nonzero", "aten::masked_select",       NULL
	};

	return text_is_in(name, names);
}

/* What reads values that lie in the host's memory wherever the model is: a loader's
 * random numbers, an optimizer's count of steps. */
static bool is_of_host(const char *name)
{
	return text_after(name, "Optimizer.") || text_after(name, "enumerate(Data");
}

/* Each read counts as one, as on a CPU its time says nothing about a GPU's. */
static void count_ops(struct facts *f, struct waits *w, const unsigned char *waits,
		      const unsigned char *host)
{
	memset(f->time, 0, f->n * sizeof(*f->time));
	for (uint32_t i = 0; i < f->m->slices_n; i++) {
		const struct slice *s = &f->m->slices[i];
		long step;

		if (s->kind != SLICE_OP || waits[i] != LINEAGE_ITSELF || host[i])
			continue;
		step = facts_step(f, s->begin);
		if (step < 0)
			continue;
		f->time[step]++;
		blame_add(&w->blame, i, 1);
	}
	count_steps(f, w);
}

/* This warns before a GPU is used: no gain is claimed for the run that was recorded. */
static bool look_at_cpu(struct facts *f, struct advice *a)
{
	struct waits w = { .held = 0 };
	unsigned char *waits = lineage_make(f->m, is_wait_op);
	unsigned char *host = lineage_make(f->m, is_of_host);
	bool fine = waits && host && blame_start(&w.blame, f);

	if (fine)
		count_ops(f, &w, waits, host);
	if (fine && verdict_enough(f, w.held) && f->time[f->middle] >= WAIT_COUNT) {
		a->minor = true;
		ADVICE_SAY(a->title, "Values are read %lld times a step",
			   (long long)w.median);
		ADVICE_SAY(a->seen,
			   "in %zu of %zu steps; this costs little here, and stops a GPU "
			   "each time",
			   w.held, f->n);
		ADVICE_SAY(
			a->why,
			"This program ran on the CPU. On a GPU each of these calls waits until "
			"all queued work is done.");
		ADVICE_SAY(
			a->act,
			"before it goes to a GPU: read values (.item(), print, if) once in many "
			"steps");
		ADVICE_SAY(a->where, "%s", blame_place(&w.blame));
	}
	if (fine)
		blame_free(&w.blame);
	free(waits);
	free(host);
	return fine;
}

bool sync_look(struct facts *f, struct advice *a)
{
	if (f->work_n)
		return look_at_gpu(f, a);
	return f->e->steps->gpu || look_at_cpu(f, a);
}
