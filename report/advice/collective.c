/* SPDX-License-Identifier: Apache-2.0 */
/* Do several GPUs or processes work together as they should? */
#include "base/text.h"

#include "report/advice/blame.h"
#include "report/advice/lineage.h"
#include "report/advice/phrase.h"
#include "report/advice/rules.h"
#include "report/advice/thresholds.h"
#include "report/advice/verdict.h"
#include <stdlib.h>

/* The text is searched once, so that slices are compared by number only. */
static bool has_name(const struct facts *f, const char *name)
{
	uint32_t text = texts_find(&f->m->texts, name);

	for (size_t i = 0; text != TEXT_NONE && i < f->m->slices_n; i++)
		if (f->m->slices[i].name == text)
			return true;
	return false;
}

/* A kernel of a collective counts as well, whatever its slice is called. */
static bool has_nccl(const struct facts *f)
{
	for (uint32_t i = 0; i < f->m->slices_n; i++)
		if (text_after(slice_name(f->m, i), "nccl"))
			return true;
	return f->talk.n;
}

/* ---- communication ---- */

/* Without a GPU: collectives, and operators that compute outside of them. */
static bool find_on_host(const struct facts *f, struct spans *talk, struct spans *compute)
{
	unsigned char *inside = lineage_make(f->m, steps_is_collective);
	bool fine = inside;

	for (uint32_t i = 0; fine && i < f->m->slices_n; i++) {
		const struct slice *s = &f->m->slices[i];

		if (s->kind != SLICE_OP && s->kind != SLICE_NOTE)
			continue;
		if (inside[i] & LINEAGE_ITSELF)
			fine = spans_add(talk, s->begin, s->end);
		else if (!inside[i] && text_after(slice_name(f->m, i), "aten::"))
			fine = spans_add(compute, s->begin, s->end);
	}
	spans_join(talk);
	spans_join(compute);
	free(inside);
	return fine;
}

/* f->time becomes the time of collectives that nothing hides. */
static bool measure_talk(struct facts *f)
{
	struct spans talk = { 0 }, compute = { 0 }, bare = { 0 };
	bool fine = f->kernels ? spans_without(&bare, &f->talk, &f->compute)
			       : find_on_host(f, &talk, &compute) &&
					 spans_without(&bare, &talk, &compute);

	facts_measure(f, &bare);
	spans_free(&talk);
	spans_free(&compute);
	spans_free(&bare);
	return fine;
}

/* Where no kernels were recorded the host's slices of collectives stand for them. */
static bool blame_talk(struct facts *f, struct advice *a)
{
	struct blame blame;

	if (!blame_start(&blame, f))
		return false;
	for (size_t i = 0; i < f->work_n; i++)
		if (f->work[i].talk)
			blame_add(&blame, f->work[i].slice,
				  f->work[i].end - f->work[i].begin);
	for (uint32_t i = 0; !f->kernels && i < f->m->slices_n; i++)
		if (steps_is_collective(slice_name(f->m, i)) &&
		    facts_step(f, f->m->slices[i].begin) >= 0)
			blame_add(&blame, i, f->m->slices[i].end - f->m->slices[i].begin);
	ADVICE_SAY(a->where, "%s", blame_place(&blame));
	blame_free(&blame);
	return true;
}

bool collective_communication(struct facts *f, struct advice *a)
{
	struct verdict v;

	if (!measure_talk(f))
		return false;
	v = verdict_of(f, BOUND_ABOVE, COMMUNICATION_PERCENT);
	if (!v.holds)
		return true;
	ADVICE_SAY(a->title, "The step waits for collectives");
	ADVICE_SAY(a->seen, "%s a step, %s, while %s", phrase_time(v.median),
		   verdict_steps(f, &v),
		   f->kernels ? "no other kernel runs" : "no operator computes");
	ADVICE_SAY(
		a->why,
		"It is either the transfer, or waiting for a slower rank: one rank's file cannot "
		"tell which.");
	ADVICE_SAY(
		a->act,
		"compare the ranks' step times; larger buckets (bucket_cap_mb), no_sync() while "
		"gradients accumulate, gradients in 16 bits");
	a->gain = v.median;
	return blame_talk(f, a);
}

/* ---- how the program uses several GPUs ---- */

bool collective_nccl(struct facts *f, struct advice *a)
{
	bool able = false;

	for (size_t i = 0; i < f->m->gpus_n; i++)
		able |= f->m->gpus[i].major > NCCL_MAJOR ||
			(f->m->gpus[i].major == NCCL_MAJOR &&
			 f->m->gpus[i].minor >= NCCL_MINOR);
	if (!able || !f->kernels || !has_name(f, "DistributedDataParallel.forward") ||
	    has_nccl(f))
		return true;
	ADVICE_SAY(a->title, "DistributedDataParallel does not use NCCL");
	ADVICE_SAY(
		a->seen,
		"DistributedDataParallel.forward, kernels on a GPU, and no collective of NCCL in "
		"the file");
	ADVICE_SAY(a->why, "Other backends copy gradients through the host's memory.");
	ADVICE_SAY(a->act, "torch.distributed.init_process_group(\"nccl\")");
	return true;
}

bool collective_parallel(struct facts *f, struct advice *a)
{
	if (f->e->devices->n < 2 || !has_name(f, "DataParallel.forward"))
		return true;
	ADVICE_SAY(a->title, "DataParallel serves several GPUs from one process");
	ADVICE_SAY(a->seen, "DataParallel.forward, and %zu GPUs at work",
		   f->e->devices->n);
	ADVICE_SAY(
		a->why,
		"It copies the model to each GPU in each step, and one Python process serves all of "
		"them.");
	ADVICE_SAY(a->act, "DistributedDataParallel, a process for each GPU (torchrun)");
	return true;
}
