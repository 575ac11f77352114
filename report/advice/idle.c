/* SPDX-License-Identifier: Apache-2.0 */
/* Does the GPU idle, and what does the host do meanwhile? */
#include "report/advice/phrase.h"
#include "report/advice/rules.h"
#include "report/advice/thresholds.h"
#include "report/advice/verdict.h"
#include "report/figures/median.h"

#include <stdlib.h>

#define GAPS 3u

/* The median of what is left of each step behind f->time. */
static int64_t median_rest(struct facts *f)
{
	for (size_t i = 0; i < f->n; i++)
		f->scratch[i] = facts_length(f, i) - f->time[i];
	return median_of(f->scratch, f->n);
}

/* ---- the host is the slower one ---- */

/* Each bit stands for a tenth of a step in which something was launched. */
static unsigned count_bits(unsigned bits)
{
	return (unsigned)__builtin_popcount(bits);
}

/* In how many steps launches are all over the step: a bit for each tenth of it. */
static bool is_launching(const struct facts *f)
{
	unsigned short *tenths = (unsigned short *)f->scratch;
	size_t held = 0;

	memset(f->scratch, 0, f->n * sizeof(*f->scratch));
	for (size_t i = 0; i < f->work_n; i++) {
		int64_t ts = f->work[i].call == NO_ROW
				     ? -1
				     : f->m->slices[f->work[i].call].begin;
		long step = ts < 0 ? -1 : facts_step(f, ts);
		double at;

		if (step < 0)
			continue;
		at = (double)(ts - f->step[step].begin) /
		     (double)facts_length(f, (size_t)step);
		tenths[step] |= (unsigned short)(1u << (unsigned)(at * 10));
	}
	for (size_t i = 0; i < f->n; i++)
		held += count_bits(tenths[i]) >= HOST_TENTHS;
	return count_bits(tenths[f->middle]) >= HOST_TENTHS && verdict_enough(f, held);
}

bool idle_host(struct facts *f, struct advice *a)
{
	struct verdict v;

	facts_measure(f, &f->busy);
	v = verdict_of(f, BOUND_BELOW, HOST_BUSY_PERCENT);
	if (!v.holds)
		return true;
	a->gain = median_rest(f);
	if (!is_launching(f))
		return true;
	ADVICE_SAY(a->title, "The host cannot keep the GPU busy");
	ADVICE_SAY(a->seen, "the GPU is busy %s, and gets work all the time",
		   verdict_steps(f, &v));
	ADVICE_SAY(
		a->why,
		"Python and torch on the host take longer to launch the work than the GPU "
		"takes to do it.");
	ADVICE_SAY(a->act,
		   "torch.compile or CUDA graphs; larger batches; less Python between "
		   "operators (see the operators by time of their own)");
	return true;
}

/* ---- the GPU is idle ---- */

struct gap {
	int64_t begin, end;
};

/* The longest gaps between kernels, by length. */
static size_t longest_gaps(const struct spans *idle, struct gap *to)
{
	size_t n = 0;

	for (size_t i = 0; i < idle->n; i++) {
		struct gap g = { idle->row[i].begin, idle->row[i].end };
		size_t at = n < GAPS ? n++ : GAPS;

		for (; at && to[at - 1].end - to[at - 1].begin < g.end - g.begin; at--)
			if (at < GAPS)
				to[at] = to[at - 1];
		if (at < GAPS)
			to[at] = g;
	}
	return n;
}

/* What the launching thread was in, in the middle of the gap. */
static const char *host_in(const struct facts *f, const struct gap *g)
{
	int64_t middle = g->begin + (g->end - g->begin) / 2;
	uint32_t in = f->host == NO_ROW ? NO_ROW : facts_around(f, f->host, middle);

	if (in == NO_ROW || text_starts_with(slice_name(f->m, in), "ProfilerStep#"))
		return "nothing recorded";
	return phrase_name(slice_name(f->m, in), 60);
}

/* The list ends where the text is full, so that many gaps do no harm. */
static void say_gaps(const struct facts *f, struct advice *a, const struct spans *idle)
{
	struct gap gaps[GAPS];
	size_t n = longest_gaps(idle, gaps), at = 0;

	at = (size_t)snprintf(a->where, sizeof(a->where), "%s",
			      n ? "longest gaps: " : "");
	for (size_t i = 0; i < n && at < sizeof(a->where); i++)
		at += (size_t)snprintf(a->where + at, sizeof(a->where) - at,
				       "%s%s (host in %s)", i ? ", " : "",
				       phrase_time(gaps[i].end - gaps[i].begin),
				       host_in(f, &gaps[i]));
}

/* Where no work ran from the first judged step to the last. */
static bool find_idle(const struct facts *f, struct spans *idle)
{
	struct spans all = { 0 };
	bool fine = spans_add(&all, f->from, f->to);

	spans_join(&all);
	fine = fine && spans_without(idle, &all, &f->busy);
	spans_free(&all);
	return fine;
}

/* f->time becomes the time of each step in which a kernel ran. */
static bool measure_kernels(struct facts *f)
{
	struct spans kernels = { 0 };
	bool fine = true;

	for (size_t i = 0; fine && i < f->work_n; i++)
		if (f->m->slices[f->work[i].slice].sort == SORT_KERNEL)
			fine = spans_add(&kernels, f->work[i].begin, f->work[i].end);
	spans_join(&kernels);
	facts_measure(f, &kernels);
	spans_free(&kernels);
	return fine;
}

bool idle_look(struct facts *f, struct advice *a)
{
	struct spans idle = { 0 };
	struct verdict v;
	bool fine = measure_kernels(f) && find_idle(f, &idle);

	v = verdict_of(f, BOUND_BELOW, IDLE_PERCENT);
	if (fine && v.holds) {
		ADVICE_SAY(a->title, "The GPU is idle more than half of the time");
		ADVICE_SAY(a->seen, "kernels run %s", verdict_steps(f, &v));
		ADVICE_SAY(a->why,
			   "Something else than the GPU decides how long a step takes.");
		ADVICE_SAY(a->act, "look at what the host does in the longest gaps");
		say_gaps(f, a, &idle);
		facts_measure(f, &f->busy);
		a->gain = median_rest(f);
	}
	spans_free(&idle);
	return fine;
}
