/* SPDX-License-Identifier: Apache-2.0 */
/* Do all steps take the same time? What is odd is told by its step. */
#include "report/advice/phrase.h"
#include "report/advice/rules.h"
#include "report/advice/thresholds.h"
#include "report/figures/median.h"

/* Doubles are compared, as hostile times would overflow an integer. */
static bool is_longer(int64_t time, unsigned percent, int64_t than)
{
	return (double)time * 100 > (double)than * percent;
}

/* The mean of the judged lengths: as doubles, a sum cannot overflow. */
static int64_t mean_length(const struct facts *f)
{
	double sum = 0;

	for (size_t i = 0; i < f->n; i++)
		sum += (double)facts_length(f, i) / (double)f->n;
	return facts_time(sum);
}

/* The share that a step has the most above the others' median. */
static enum share odd_share(struct facts *f, size_t step, int64_t *more)
{
	enum share odd = SHARE_OTHER;

	*more = INT64_MIN;
	for (unsigned k = 0; k < SHARES; k++) {
		int64_t rest;

		for (size_t i = 0; i < f->n; i++)
			f->scratch[i] = f->step[i].share[k];
		rest = f->step[step].share[k] - median_of(f->scratch, f->n);
		if (rest > *more) {
			*more = rest;
			odd = k;
		}
	}
	return odd;
}

/* A sum over the operators of a step and their shapes, in any order. */
static uint64_t work_of(const struct facts *f, size_t step)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->m->slices_n; i++) {
		const struct slice *s = &f->m->slices[i];

		if (s->kind == SLICE_OP && s->begin >= f->step[step].begin &&
		    s->begin < f->step[step].end)
			sum += ((uint64_t)s->shapes << 32 | s->name) *
				       UINT64_C(0x9e3779b97f4a7c15) ^
			       s->name;
	}
	return sum;
}

/* Did a step do the same as the median one, and only needed longer for it? Shapes must be
 * there: without them more work looks the same. */
static bool is_same_work(const struct facts *f, size_t step, enum share odd)
{
	return (odd == SHARE_CPU || odd == SHARE_KERNEL) && f->e->operators->shapes &&
	       work_of(f, step) == work_of(f, f->middle);
}

/* The program cannot be blamed here, so that no gain is claimed. */
static void say_machine(struct advice *a)
{
	a->minor = true;
	ADVICE_SAY(a->title, "The same operators take different times");
	ADVICE_SAY(
		a->why,
		"Operators and shapes are those of the median step: the program does the "
		"same, and the machine takes longer for it.");
	ADVICE_SAY(
		a->act,
		"measure where no other program runs; else look at this one's other threads "
		"and processes, such as workers and writers of checkpoints");
	a->gain = 0;
}

bool evenness_vary(struct facts *f, struct advice *a)
{
	size_t longest = 0, shortest = 0;
	int64_t more, mean = mean_length(f);
	enum share odd;

	for (size_t i = 1; i < f->n; i++) {
		longest = facts_length(f, i) > facts_length(f, longest) ? i : longest;
		shortest = facts_length(f, i) < facts_length(f, shortest) ? i : shortest;
	}
	if (f->n < 3 || mean <= f->e->step ||
	    !is_longer(facts_length(f, longest), VARY_PERCENT, facts_length(f, shortest)))
		return true;
	odd = odd_share(f, longest, &more);
	ADVICE_SAY(a->title, "Steps take different times");
	ADVICE_SAY(a->seen, "step %lld takes %s, step %lld %s, the median %s",
		   (long long)f->step[longest].number,
		   phrase_time(facts_length(f, longest)),
		   (long long)f->step[shortest].number,
		   phrase_time(facts_length(f, shortest)), phrase_time(f->e->step));
	ADVICE_SAY(a->why,
		   "What the longest has more is mostly \"%s\": %s above the median.",
		   share_names[odd], phrase_time(more));
	ADVICE_SAY(
		a->act,
		"compare both steps in a timeline: input of other sizes, logging, evaluation, a "
		"checkpoint, or other programs on this machine");
	ADVICE_SAY(a->where, "step %lld", (long long)f->step[longest].number);
	a->gain = mean - f->e->step;
	if (is_same_work(f, longest, odd))
		say_machine(a);
	return true;
}

bool evenness_first(struct facts *f, struct advice *a)
{
	const struct step_figures *first = f->e->steps->row;
	int64_t length = first->end - first->begin, longest = 0;

	for (size_t i = 0; i < f->n; i++)
		longest = facts_length(f, i) > longest ? facts_length(f, i) : longest;
	if (!f->e->first || !is_longer(length, FIRST_PERCENT, longest))
		return true;
	a->minor = true;
	ADVICE_SAY(a->title, "The first recorded step takes longer");
	ADVICE_SAY(a->seen, "step %lld takes %s, the longest other %s",
		   (long long)first->number, phrase_time(length), phrase_time(longest));
	ADVICE_SAY(
		a->why,
		"Memory, libraries and compiled code are often set up in a first step. All other "
		"advice here leaves it out.");
	ADVICE_SAY(a->act,
		   "nothing, if the run is long; when it is measured: more warmup (%s)",
		   f->m->ours ? "--schedule wait=1,warmup=3,active=5"
			      : "schedule(wait=1, warmup=3, active=5)");
	ADVICE_SAY(a->where, "step %lld", (long long)first->number);
	return true;
}
