/* SPDX-License-Identifier: Apache-2.0 */
/* Is a GPU's memory nearly full, or held by torch's allocator without use? */
#include "report/advice/churn.h"
#include "report/advice/phrase.h"
#include "report/advice/rules.h"
#include "report/advice/thresholds.h"
#include "report/out.h"

struct fill { /* of one GPU */
	int64_t size;
	const struct memory_event *peak; /* the most allocated */
	const struct memory_event *worst; /* ran out with the most unused; NULL = never */
};

/* A file may claim more allocated than reserved memory: that counts as none unused. */
static int64_t unused_at(const struct memory_event *e)
{
	return e->reserved > e->allocated ? e->reserved - e->allocated : 0;
}

/* The size stays 0 where the file does not describe the GPU: nothing is judged then. */
static struct fill fill_of(const struct model *m, unsigned device)
{
	struct fill f = { 0 };

	for (size_t i = 0; i < m->gpus_n; i++)
		if (m->devices[device].type != 0 &&
		    m->gpus[i].id == m->devices[device].index)
			f.size = m->gpus[i].memory;
	for (size_t i = 0; f.size > 0 && i < m->memory_n; i++) {
		const struct memory_event *e = &m->memory[i];

		if (e->device != device)
			continue;
		if (!f.peak || e->allocated > f.peak->allocated)
			f.peak = e;
		if (e->oom && (!f.worst || unused_at(e) > unused_at(f.worst)))
			f.worst = e;
	}
	return f;
}

/* Doubles are compared, as hostile sizes would overflow an integer. */
static bool is_more(int64_t bytes, unsigned percent, int64_t of)
{
	return (double)bytes * 100 > (double)of * percent;
}

bool memory_peak(struct facts *f, struct advice *a)
{
	for (unsigned d = 0; d < f->m->devices_n && !*a->title; d++) {
		struct fill fill = fill_of(f->m, d);
		char name[32];

		if (!fill.peak || !is_more(fill.peak->allocated, PEAK_PERCENT, fill.size))
			continue;
		model_device(f->m, d, name, sizeof(name));
		ADVICE_SAY(a->title, "GPU memory is nearly full");
		ADVICE_SAY(
			a->seen,
			"%s: tensors take %s of %s at the peak (%u %%); torch's allocator "
			"holds %s",
			name, out_bytes(fill.peak->allocated), out_bytes(fill.size),
			phrase_percent((double)fill.peak->allocated, (double)fill.size),
			out_bytes(fill.peak->reserved));
		ADVICE_SAY(
			a->why,
			"A slightly larger batch or input ends with an out-of-memory error, and "
			"near the limit torch frees and allocates anew.");
		ADVICE_SAY(
			a->act,
			"smaller batches, activation checkpointing, 16 bits; \"proflaunch "
			"memory\" says who holds it");
		if (fill.peak->slice != NO_ROW)
			ADVICE_SAY(a->where, "%s", phrase_place(f, fill.peak->slice));
	}
	return true;
}

bool memory_fragments(struct facts *f, struct advice *a)
{
	if (!churn_idle(f, &a->gain))
		return false;
	for (unsigned d = 0; d < f->m->devices_n && !*a->title; d++) {
		struct fill fill = fill_of(f->m, d);
		const struct memory_event *at = fill.worst;
		char name[32];

		if (!at || !is_more(unused_at(at), FRAGMENT_PERCENT, fill.size))
			at = fill.peak;
		if (!at || !is_more(unused_at(at), FRAGMENT_PERCENT, fill.size))
			continue;
		model_device(f->m, d, name, sizeof(name));
		ADVICE_SAY(a->title, "GPU memory is held and not used");
		ADVICE_SAY(
			a->seen,
			"%s: of %s that torch's allocator holds %s are in no tensor %s (%u %% "
			"of the GPU)",
			name, out_bytes(at->reserved), out_bytes(unused_at(at)),
			at->oom ? "when memory ran out" : "at the peak of tensors",
			phrase_percent((double)unused_at(at), (double)fill.size));
		ADVICE_SAY(
			a->why,
			"Free blocks lie between used ones, or in pools of other sizes, or were "
			"needed earlier%s.",
			a->gain ? "; where none fits, torch asks the driver, and waits"
				: "");
		ADVICE_SAY(
			a->act,
			"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; the same shapes in "
			"each step");
		if (at->slice != NO_ROW)
			ADVICE_SAY(a->where, "%s", phrase_place(f, at->slice));
	}
	return true;
}
