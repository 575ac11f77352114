/* SPDX-License-Identifier: Apache-2.0 */
/* Is a GPU's memory nearly full, or held by torch's allocator without use? */
#include "report/advice/phrase.h"
#include "report/advice/rules.h"
#include "report/advice/thresholds.h"
#include "report/out.h"

#include <stdlib.h>

struct fill { /* of one GPU */
	int64_t size;
	const struct memory_event *peak; /* the most allocated */
	const struct memory_event *worst; /* ran out with the most unused; NULL = never */
};

static int64_t unused_at(const struct memory_event *e)
{
	return e->reserved > e->allocated ? e->reserved - e->allocated : 0;
}

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

static bool is_more(int64_t bytes, unsigned percent, int64_t of)
{
	return (double)bytes * 100 > (double)of * percent;
}

bool peak_look(struct facts *f, struct advice *a)
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

bool fragments_look(struct facts *f, struct advice *a)
{
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
			"needed earlier.");
		ADVICE_SAY(
			a->act,
			"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; the same shapes in "
			"each step");
		if (at->slice != NO_ROW)
			ADVICE_SAY(a->where, "%s", phrase_place(f, at->slice));
	}
	return true;
}

/* ---- growth ---- */

/* What a device has allocated at the end of each step; -1 = not said yet. */
static void levels_of(const struct facts *f, unsigned device, const struct steps *steps,
		      int64_t *level)
{
	const struct model *m = f->m;
	int64_t now = -1;
	size_t at = 0;

	for (size_t i = 0; i < steps->n; i++) {
		for (; at < m->memory_n && m->memory[at].ts < steps->row[i].end; at++)
			if (m->memory[at].device == device && !m->memory[at].oom)
				now = m->memory[at].allocated;
		level[i] = now;
	}
}

/* Does each step end with more than the one before? */
static bool rises_always(const int64_t *level, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (level[i - 1] < 0 || level[i] <= level[i - 1])
			return false;
	return n >= GROWTH_STEPS &&
	       (level[n - 1] - level[0]) / (int64_t)(n - 1) >= GROWTH_KIB * INT64_C(1024);
}

static void say_growth(const struct facts *f, struct advice *a, unsigned device,
		       int64_t by, size_t steps)
{
	char name[32];

	model_device(f->m, device, name, sizeof(name));
	ADVICE_SAY(a->title, "Tensors take more memory with each step");
	ADVICE_SAY(a->seen, "%s: %s a step, in each of %zu steps", name, out_bytes(by),
		   steps);
	ADVICE_SAY(a->why,
		   "Something keeps tensors of each step: a list, a graph of "
		   "autograd (a loss that is added up), a cache that still fills.");
	ADVICE_SAY(a->act, "\"proflaunch memory --leaks\" says who holds them; "
			   "detach() or item() what is only counted");
}

bool growth_look(struct facts *f, struct advice *a)
{
	const struct steps *steps = f->e->steps;
	int64_t *level = calloc(steps->n + 1, sizeof(*level));

	for (unsigned d = 0; level && d < f->m->devices_n && !*a->title; d++) {
		levels_of(f, d, steps, level);
		if (rises_always(level, steps->n))
			say_growth(f, a, d,
				   (level[steps->n - 1] - level[0]) /
					   (int64_t)(steps->n - 1),
				   steps->n - 1);
	}
	if (!level)
		return false;
	free(level);
	return true;
}
