/* SPDX-License-Identifier: Apache-2.0 */
/* Does the step wait for copies from or to pageable memory? */
#include "report/advice/blame.h"
#include "report/advice/phrase.h"
#include "report/advice/rules.h"
#include "report/advice/thresholds.h"
#include "report/advice/verdict.h"
#include "report/figures/median.h"

#define MIB (INT64_C(1) << 20)

/* Small copies are left out: pinning memory for them gains little. */
static bool is_pageable(const struct facts *f, const struct piece *p)
{
	const struct slice *s = &f->m->slices[p->slice];

	return s->sort == SORT_COPY && s->work != NO_ROW &&
	       f->m->works[s->work].bytes >= COPY_MIB * MIB &&
	       text_has(slice_name(f->m, p->slice), "Pageable");
}

struct copies {
	struct spans all, bare,
		left; /* bare: without computation; left: nor collectives */
	struct blame blame;
	size_t n;
	double bytes;
};

/* What kernels or collectives cover is taken away: only the rest can be gained. */
static bool find_copies(struct facts *f, struct copies *c)
{
	for (size_t i = 0; i < f->work_n; i++) {
		const struct piece *p = &f->work[i];

		if (!is_pageable(f, p))
			continue;
		if (!spans_add(&c->all, p->begin, p->end))
			return false;
		c->n++;
		c->bytes += (double)f->m->works[f->m->slices[p->slice].work].bytes;
		blame_add(&c->blame, p->slice, p->end - p->begin);
	}
	spans_join(&c->all);
	return spans_without(&c->bare, &c->all, &f->compute) &&
	       spans_without(&c->left, &c->bare, &f->talk);
}

/* All copies decide whether there is something to say; those without a kernel beside
 * them are the gain. */
static void say_copies(struct facts *f, struct advice *a, const struct copies *c)
{
	struct verdict v;

	facts_measure(f, &c->all);
	v = verdict_of(f, BOUND_AT_LEAST, COPY_PERCENT);
	if (!v.holds)
		return;
	facts_measure(f, &c->left);
	a->gain = median_of(f->time, f->n);
	if (!a->gain)
		return;
	ADVICE_SAY(a->title, "Copies from or to pageable memory");
	ADVICE_SAY(a->seen,
		   "%.1f copies and %.0f MiB a step, %s, %s; no kernel runs in %s of it",
		   (double)c->n / (double)f->n, c->bytes / (double)MIB / (double)f->n,
		   phrase_time(v.median), verdict_steps(f, &v), phrase_time(a->gain));
	ADVICE_SAY(
		a->why,
		"The driver copies such memory in pieces through a buffer of its own; the "
		"program cannot go on meanwhile.");
	ADVICE_SAY(a->act,
		   "DataLoader(..., pin_memory=True) or tensor.pin_memory(), then "
		   ".to(device, non_blocking=True)");
	ADVICE_SAY(a->where, "%s", blame_place(&c->blame));
}

bool copy_look(struct facts *f, struct advice *a)
{
	struct copies c = { .n = 0 };
	bool fine = blame_start(&c.blame, f) && find_copies(f, &c);

	if (fine)
		say_copies(f, a, &c);
	spans_free(&c.all);
	spans_free(&c.bare);
	spans_free(&c.left);
	blame_free(&c.blame);
	return fine;
}
