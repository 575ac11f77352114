/* SPDX-License-Identifier: Apache-2.0 */
/* Is something compiled in a step in which all should be compiled? */
#include "base/text.h"
#include "report/advice/blame.h"
#include "report/advice/lineage.h"
#include "report/advice/phrase.h"
#include "report/advice/rules.h"
#include "report/advice/thresholds.h"

#include <stdlib.h>

/* Calls of compiled code ("CompiledFxGraph", "Torch-Compiled Region") are none of these.
 */
static bool is_compiling(const char *name)
{
	return text_ends(name, "(dynamo_timed)") || text_after(name, "cuModuleLoad") ||
	       text_after(name, "torch/_dynamo/convert_frame.py(") ||
	       text_after(name, "torch/_inductor/compile_fx.py(");
}

struct compiling {
	struct spans spans;
	struct blame blame;
	int64_t all;
	size_t held, longest; /* steps; the one with most of it */
};

/* Adds a time of which a slice tells the place, unless it lies in the first steps. */
static bool add_compiling(struct facts *f, struct compiling *c, uint32_t slice,
			  int64_t begin, int64_t end)
{
	long step = facts_step(f, begin);

	if (step < 0 || (size_t)step + facts_before(f) + 1 < STEADY_STEP)
		return true;
	blame_add(&c->blame, slice, end - begin);
	return spans_add(&c->spans, begin, end);
}

/* Dynamo looks for compiled code, and calls it: what lies between is its compilation. */
static bool find_between(struct facts *f, struct compiling *c)
{
	uint32_t looked = NO_ROW;
	const struct slice *s = f->m->slices;
	bool fine = true;

	for (uint32_t i = 0; fine && i < f->m->slices_n; i++) {
		const char *name = slice_name(f->m, i);

		if (looked != NO_ROW && s[looked].thread != s[i].thread)
			looked = NO_ROW;
		if (!strcmp(name, "TorchDynamo Cache Lookup")) {
			looked = i;
		} else if (looked != NO_ROW &&
			   text_after(name, "Torch-Compiled Region")) {
			if (s[i].begin - s[looked].end > COMPILE_US * INT64_C(1000))
				fine = add_compiling(f, c, i, s[looked].end, s[i].begin);
			looked = NO_ROW;
		}
	}
	return fine;
}

/* Spans are joined before they are measured, so that nested compilations count once. */
static bool find_compiling(struct facts *f, struct compiling *c, const unsigned char *is)
{
	if (!find_between(f, c))
		return false;
	for (uint32_t i = 0; i < f->m->slices_n; i++) {
		const struct slice *s = &f->m->slices[i];

		if (is[i] == LINEAGE_ITSELF && !add_compiling(f, c, i, s->begin, s->end))
			return false;
	}
	spans_join(&c->spans);
	facts_measure(f, &c->spans);
	for (size_t i = 0; i < f->n; i++) {
		facts_add(&c->all, f->time[i]);
		c->held += f->time[i] > 0;
		if (f->time[i] > f->time[c->longest])
			c->longest = i;
	}
	return true;
}

/* The gain is spread over all steps, as few of them compile and the median is often 0. */
static void say_compiling(const struct facts *f, struct advice *a,
			  const struct compiling *c)
{
	a->gain = c->all / (int64_t)f->n;
	ADVICE_SAY(a->title, "Code is compiled or loaded in the middle of the run");
	ADVICE_SAY(
		a->seen, "in %zu of %zu steps, together %s; most of it in step %lld (%s)",
		c->held, f->n, phrase_time(c->all), (long long)f->step[c->longest].number,
		phrase_time(f->time[c->longest]));
	ADVICE_SAY(
		a->why,
		"Mostly, new shapes, types or values make torch.compile start again; the step "
		"waits for it.");
	ADVICE_SAY(
		a->act,
		"TORCH_LOGS=recompiles says which; mark_dynamic() or dynamic=True, or the same "
		"shapes in each step");
	ADVICE_SAY(a->where, "%s", blame_place(&c->blame));
}

bool compile_look(struct facts *f, struct advice *a)
{
	struct compiling c = { .all = 0 };
	unsigned char *is = lineage_make(f->m, is_compiling);
	bool fine = is && blame_start(&c.blame, f) && find_compiling(f, &c, is);

	if (fine && c.all > 0)
		say_compiling(f, a, &c);
	spans_free(&c.spans);
	blame_free(&c.blame);
	free(is);
	return fine;
}
