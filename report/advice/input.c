/* SPDX-License-Identifier: Apache-2.0 */
/* Does the step wait for its input? Time that the GPU is busy meanwhile is none of it. */
#include "base/text.h"
#include "report/advice/blame.h"
#include "report/advice/phrase.h"
#include "report/advice/rules.h"
#include "report/advice/thresholds.h"
#include "report/advice/verdict.h"

/* Where the loader's own code is, there is nothing to fix for its user. */
static bool is_loaders(const char *name)
{
	return strstr(name, "torch/utils/data/") || text_after(name, "<") ||
	       text_after(name, "enumerate(Data");
}

/* Is it most of the loading that it lies in? */
static bool is_most(const struct facts *f, uint32_t slice)
{
	const struct slice *s = f->m->slices;
	uint32_t around = s[slice].parent;

	for (unsigned depth = 0; around != NO_ROW && depth < FACTS_DEPTH; depth++) {
		if (text_after(slice_name(f->m, around), "enumerate(Data"))
			return s[slice].end - s[slice].begin >
			       (s[around].end - s[around].begin) / 2;
		around = s[around].parent;
	}
	return false;
}

/* The longest Python function in a loader that is not the loader's, or else the longest
 * operator; NO_ROW: none explains the time. */
static uint32_t find_item(const struct facts *f)
{
	const struct slice *s = f->m->slices;
	uint32_t best = NO_ROW;

	for (uint32_t i = 0; i < f->m->slices_n; i++) {
		bool python = s[i].kind == SLICE_PYTHON;

		if ((!python && s[i].kind != SLICE_OP) || s[i].begin < f->from ||
		    is_loaders(slice_name(f->m, i)) || !is_most(f, i))
			continue;
		if (best == NO_ROW || python > (s[best].kind == SLICE_PYTHON) ||
		    (python == (s[best].kind == SLICE_PYTHON) &&
		     s[i].end - s[i].begin > s[best].end - s[best].begin))
			best = i;
	}
	return best;
}

/* Loading slices say by their names whether workers load. */
static uint32_t find_loader(const struct facts *f, bool *workers)
{
	uint32_t loader = NO_ROW;

	for (uint32_t i = 0; i < f->m->slices_n; i++) {
		const char *name = slice_name(f->m, i);

		if (f->m->slices[i].begin < f->from ||
		    !text_after(name, "enumerate(Data"))
			continue;
		*workers |= text_has(name, "MultiProcessing");
		loader = loader == NO_ROW ? i : loader;
	}
	return loader;
}

/* The remedy differs: workers that are too slow need help, a loader without any needs
 * some. */
static void say_input(const struct facts *f, struct advice *a, bool workers)
{
	bool gpu = f->work_n;

	if (workers) {
		ADVICE_SAY(
			a->why,
			"The next batch is not ready when it is asked for, or takes that long to "
			"receive from the worker.");
		ADVICE_SAY(
			a->act,
			"DataLoader(..., num_workers=more, prefetch_factor=more)%s, or less "
			"work for each item",
			gpu ? ", pin_memory=True" : "");
		return;
	}
	ADVICE_SAY(
		a->why,
		"The program makes each batch itself, between two computations%s.",
		gpu ? ""
		    : "; half of that is counted, as workers may need the CPU's cores, too");
	ADVICE_SAY(a->act,
		   "DataLoader(..., num_workers=N%s): processes of its own load ahead",
		   gpu ? ", pin_memory=True" : "");
}

bool input_look(struct facts *f, struct advice *a)
{
	struct verdict v;
	bool workers = false;
	uint32_t loader = find_loader(f, &workers), item;

	for (size_t i = 0; i < f->n; i++)
		f->time[i] = f->step[i].share[SHARE_DATALOADER];
	v = verdict_of(f, BOUND_ABOVE, LOADER_PERCENT);
	if (!v.holds || loader == NO_ROW)
		return true;
	/* What workers do is not in this file. */
	item = workers ? NO_ROW : find_item(f);
	ADVICE_SAY(a->title, "The step waits for input");
	ADVICE_SAY(a->seen, "%s a step, %s%s", phrase_time(v.median),
		   verdict_steps(f, &v), f->work_n ? "; the GPU is idle meanwhile" : "");
	say_input(f, a, workers);
	ADVICE_SAY(a->where, "%s", phrase_place(f, item == NO_ROW ? loader : item));
	a->exact = f->work_n;
	a->gain = f->work_n || workers ? v.median : v.median / 2;
	return true;
}
