/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the figures once, in the order in which they need one another. */
#include "report/view/subject.h"
#include "report/out.h"
#include "report/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WANTED                                                                       \
	(WANT(SLICE_OP) | WANT(SLICE_NOTE) | WANT(SLICE_PYTHON) | WANT(SLICE_CALL) | \
	 WANT(SLICE_DEVICE) | WANT(SLICE_DEVICE_NOTE) | WANT_DETAILS)

/* Leaves the steps that were asked for. */
static void keep_steps(struct steps *s, const struct subject_options *o)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->row[i].number >= o->first && s->row[i].number <= o->last)
			s->row[n++] = s->row[i];
		else if (!n)
			s->before++;
	}
	s->n = n;
}

/* Says why no step is left. */
static bool no_steps(const struct subject *s, const struct subject_options *o, char *why,
		     size_t size)
{
	const struct model *m = &s->model;

	if (!model_marked(m))
		snprintf(
			why, size,
			"%s: its steps are not marked: leave --steps out, or record with "
			"--marker",
			s->path);
	else if (o->first == o->last)
		snprintf(why, size,
			 "%s: has no whole step %lld: its steps are %lld to %lld",
			 s->path, (long long)o->first, (long long)m->steps[0].number,
			 (long long)m->steps[m->steps_n - 1].number);
	else
		snprintf(
			why, size,
			"%s: has no whole step from %lld to %lld: its steps are %lld to %lld",
			s->path, (long long)o->first, (long long)o->last,
			(long long)m->steps[0].number,
			(long long)m->steps[m->steps_n - 1].number);
	return false;
}

static bool nothing_there(const struct subject *s, char *why, size_t size)
{
	const struct model *m = &s->model;

	if (m->heap || m->memory_n || m->counters_n)
		snprintf(why, size,
			 "%s: it has no operators and no steps, but memory: proflaunch "
			 "memory shows it",
			 s->path);
	else
		snprintf(why, size,
			 "%s: there is nothing to report: it has no operators, no steps "
			 "and no GPU work",
			 s->path);
	return false;
}

bool subject_no_memory(const struct subject *s, char *why, size_t size)
{
	snprintf(why, size, "%s: not enough memory", s->path);
	return false;
}

/* Which events count: without marked steps, and for the whole file, all of them. */
static void set_bounds(struct subject *s, bool whole)
{
	s->from = INT64_MIN;
	s->to = INT64_MAX;
	if (!s->steps.marked || whole)
		return;
	s->from = s->steps.row[0].begin;
	s->to = s->steps.row[s->steps.n - 1].end;
}

/* Makes the operators as they were asked for. */
static bool make_shown(struct subject *s, const struct subject_options *o)
{
	uint32_t *group;
	bool fine;

	if (o->by == OPERATORS_BY_NAME)
		return true;
	if (o->by != OPERATORS_BY_GROUP)
		return operators_make(&s->shown, &s->model, o->by, s->from, s->to);
	group = group_make(&s->model, &o->group);
	fine = group &&
	       operators_make_grouped(&s->shown, &s->model, group, s->from, s->to);
	free(group);
	return fine;
}

static bool make_figures(struct subject *s, const struct subject_options *o)
{
	struct model *m = &s->model;

	set_bounds(s, o->whole);
	return devices_make(&s->devices, m, &s->steps) &&
	       operators_make(&s->operators, m, OPERATORS_BY_NAME, s->from, s->to) &&
	       make_shown(s, o) && kernels_make(&s->kernels, m, s->from, s->to) &&
	       evidence_make(&s->evidence, m, &s->steps, &s->devices, &s->operators,
			     &s->kernels) &&
	       advice_make(&s->advices, &s->evidence);
}

bool subject_make(struct subject *s, const char *path, const struct subject_options *o,
		  char *why, size_t size)
{
	bool fine, some = o->first != INT64_MIN || o->last != INT64_MAX;

	memset(s, 0, sizeof(*s));
	s->path = path;
	if (model_read(&s->model, path, WANTED, why, size))
		return false;
	if (!steps_make(&s->steps, &s->model))
		fine = subject_no_memory(s, why, size);
	else if (!s->steps.n || !s->model.slices_n)
		fine = nothing_there(s, why, size);
	else if (some && !s->steps.marked)
		fine = no_steps(s, o, why, size);
	else if (keep_steps(&s->steps, o), !s->steps.n)
		fine = no_steps(s, o, why, size);
	else
		fine = make_figures(s, o) || subject_no_memory(s, why, size);
	if (!fine)
		subject_free(s);
	return fine;
}

void subject_free(struct subject *s)
{
	ranks_free(&s->own);
	kernels_free(&s->kernels);
	operators_free(&s->operators);
	operators_free(&s->shown);
	devices_free(&s->devices);
	steps_free(&s->steps);
	model_free(&s->model);
}

/* ---- questions of the views ---- */

const struct ranks *subject_ranks(struct subject *s)
{
	if (s->ranks)
		return s->ranks;
	if (!s->own.n && !ranks_of_one(&s->own, &s->model, &s->steps))
		return NULL;
	return &s->own;
}

int64_t subject_per_step(const struct subject *s, int64_t all)
{
	return all / (int64_t)s->steps.n;
}

int64_t subject_deviation(const struct subject *s)
{
	double mean = steps_mean(&s->steps), sum = 0;

	if (s->steps.n < 2)
		return 0;
	for (size_t i = 0; i < s->steps.n; i++) {
		const struct step_figures *step = &s->steps.row[i];
		double off = ((double)step->end - (double)step->begin) - mean;

		sum += off * off;
	}
	return units_whole(sqrt(sum / (double)(s->steps.n - 1)));
}

const char *subject_gpu(const struct subject *s, const struct device_figures *d, char *to,
			size_t size)
{
	if (d->gpu && d->gpu->name != TEXT_NONE)
		snprintf(to, size, "%.100s", texts_get(&s->model.texts, d->gpu->name));
	else
		snprintf(to, size, "GPU %lld", (long long)d->id);
	return to;
}
