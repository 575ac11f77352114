/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences that the screen and Markdown have in common. */
#include "report/out.h"
#include "report/units.h"
#include "report/view/overview.h"
#include "report/view/trust.h"

#include <string.h>

#define BIG 0.2 /* of a step: the advice is the sentence */

static double worth_of(const struct subject *s, const struct advice *a)
{
	return s->evidence.step > 0 ? (double)a->gain / (double)s->evidence.step : 0;
}

const struct advice *overview_advice(const struct subject *s, unsigned place)
{
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < s->advices.n; i++) {
			const struct advice *a = &s->advices.row[i];

			if ((a->gain > 0) != !pass || trust_says(s, a))
				continue;
			if (!place--)
				return a;
		}
	return NULL;
}

/* The first whose harm is no time: memory that grows kills a program all the same. */
static const struct advice *harm_of(const struct subject *s)
{
	const struct advice *a;

	for (unsigned i = 0; (a = overview_advice(s, i)); i++)
		if (!a->gain && !a->minor && !a->consequence)
			return a;
	return NULL;
}

/* The program was starting, say, or waited for requests. */
static bool has_run_nothing(const struct subject *s)
{
	for (size_t i = 0; i < s->model.slices_n; i++) {
		const struct slice *x = &s->model.slices[i];

		if ((x->kind == SLICE_OP || x->kind == SLICE_CALL) &&
		    x->begin >= s->from && x->begin < s->to)
			return false;
	}
	return !s->kernels.n;
}

void overview_sentence(const struct subject *s, char *to, size_t size)
{
	const struct advice *top = overview_advice(s, 0), *harm = harm_of(s);
	double worth = top ? worth_of(s, top) : 0;

	if (worth >= BIG)
		snprintf(to, size, "%s.", top->title);
	else if (harm)
		snprintf(to, size,
			 worth > 0 ? "%s. The first advice is worth %s%s of a step."
				   : "%s. What that costs cannot be said in time.",
			 harm->title, top->exact ? "" : "at most ", units_percent(worth));
	else if (worth > 0)
		snprintf(
			to, size,
			"No single big problem: the first advice is worth %s%s of a step.",
			top->exact ? "" : "at most ", units_percent(worth));
	else if (has_run_nothing(s))
		snprintf(to, size, "No operator and no kernel ran here%s.",
			 s->steps.marked
				 ? ": later steps (--schedule wait=N) may have some"
				 : "");
	else if (!s->steps.marked)
		snprintf(to, size, "Nothing stands out.");
	else
		snprintf(to, size, "Nothing stands out in %s step%s.",
			 out_count((int64_t)s->steps.n), s->steps.n == 1 ? "" : "s");
}

/* Is the first step so long that a mean says little of the others? */
static bool is_first_apart(const struct subject *s)
{
	const struct step_figures *first = s->steps.row;

	return s->evidence.first && s->evidence.step > 0 &&
	       (double)first->end - (double)first->begin > 2 * (double)s->evidence.step;
}

void overview_steps(const struct subject *s, char *to, size_t size)
{
	int64_t mean = units_whole(steps_mean(&s->steps)), off = subject_deviation(s);
	size_t n;

	if (!s->steps.marked) {
		snprintf(to, size, "1 step of %s, the whole recording: none is marked",
			 units_time(mean));
		return;
	}
	n = (size_t)snprintf(to, size, "%s step%s of %s", out_count((int64_t)s->steps.n),
			     s->steps.n == 1 ? "" : "s", units_time(mean));
	if (s->steps.n > 1 && n < size)
		n += (size_t)snprintf(to + n, size - n, " (± %s)", units_time(off));
	if (is_first_apart(s) && n < size)
		snprintf(to + n, size - n, "; without the first, the median is %s",
			 units_time(s->evidence.step));
}

/* Adds ", WORD 56 %" where that is known. */
static void add_share(char *to, size_t size, const char *word, double share)
{
	size_t n = strlen(to);

	if (share >= 0)
		snprintf(to + n, size - n, "%s %s", word, units_percent(share));
}

void overview_gpu(const struct subject *s, const struct device_figures *d, char *to,
		  size_t size)
{
	subject_gpu(s, d, to, size);
	add_share(to, size, " busy", d->utilization);
	add_share(to, size, ", SM efficiency", d->sm_efficiency);
	add_share(to, size, ", occupancy", d->occupancy);
}

void overview_gain(const struct subject *s, const struct advice *a, char *to, size_t size)
{
	if (a->gain > 0)
		snprintf(to, size, "%s%s", a->exact ? "" : "≤ ",
			 units_percent(worth_of(s, a)));
	else
		*to = '\0';
}

void overview_absent(const struct subject *s, char *to, size_t size)
{
	struct trust t;
	size_t n = 0;

	trust_make(&t, s);
	*to = '\0';
	for (unsigned i = 0; i < t.absents && n < size; i++)
		n += (size_t)snprintf(to + n, size - n, "%s%s (%s)", i ? ", " : "",
				      t.absent[i].what, t.absent[i].record);
}

bool overview_is_large(const struct subject *s, const struct operator_figures *f)
{
	const char *name = texts_get(&s->model.texts, f->name);

	if (f->kind == SLICE_NOTE && (text_starts_with(name, "ProfilerStep") ||
				      text_starts_with(name, "enumerate(Data")))
		return false;
	return (f->kind == SLICE_OP || f->kind == SLICE_CALL || f->kind == SLICE_NOTE) &&
	       (!s->operators.device || f->self_device > 0);
}
