/* SPDX-License-Identifier: Apache-2.0 */
/* The sentence, and what has to be said before the numbers. */
#include "report/compare/difference.h"
#include "report/out.h"
#include "report/units.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- numbers ---- */

void difference_percent(double part, char *to, size_t size)
{
	double percent = 100 * part;

	if (!isfinite(percent))
		snprintf(to, size, "?");
	else
		snprintf(to, size, "%+.*f %%", fabs(percent) < 9.95 ? 1 : 0, percent);
}

void difference_interval(const struct shift *s, char *to, size_t size)
{
	char low[32], high[32];

	*to = '\0';
	if (!s->interval || s->a <= 0)
		return;
	difference_percent(s->low / s->a, low, sizeof(low));
	difference_percent(s->high / s->a, high, sizeof(high));
	low[strcspn(low, " ")] = '\0';
	snprintf(to, size, "%s to %s", low, high);
}

static const char *time_words(double ns)
{
	return units_time(units_whole(ns));
}

void difference_sentence(const struct difference *d, char *to, size_t size)
{
	const struct shift *s = &d->rows.step.shift;
	char percent[32], interval[80];

	difference_percent(s->a > 0 ? s->by / s->a : NAN, percent, sizeof(percent));
	difference_interval(s, interval, sizeof(interval));
	if (!d->a.profile->steps_n || !d->b.profile->steps_n)
		snprintf(to, size, "There are no steps to compare.");
	else if (!s->interval)
		snprintf(
			to, size,
			"Too few steps to be sure of anything: %zu and %zu, their medians "
			"%s and %s (%s).",
			s->a_n, s->b_n, time_words(s->a), time_words(s->b), percent);
	else if (!d->rows.step.sure)
		snprintf(
			to, size,
			"No difference of steps stands out from the noise (%s at 95 %%): "
			"%s, then %s.",
			interval, time_words(s->a), time_words(s->b));
	else
		snprintf(to, size, "Steps are %s %s (%s; %s at 95 %%): %s, then %s.",
			 time_words(fabs(s->by)), s->by > 0 ? "longer" : "shorter",
			 percent, interval, time_words(s->a), time_words(s->b));
}

/* ---- doubts ---- */

__attribute__((format(printf, 2, 3))) static void add_doubt(struct difference *d,
							    const char *format, ...)
{
	va_list args;

	if (d->doubts == DIFFERENCE_DOUBTS)
		return;
	va_start(args, format);
	vsnprintf(d->doubt[d->doubts], sizeof(d->doubt[0]), format, args);
	va_end(args);
	out_plain(d->doubt[d->doubts++]);
}

static void doubt_side(struct difference *d, const char *side, const struct profile *p)
{
	if (p->damaged)
		add_doubt(
			d,
			"INCOMPLETE: part of a file of %s could not be read (proflaunch "
			"report says where): its steps may have less than they did",
			side);
	if (p->dropped)
		add_doubt(d,
			  "INCOMPLETE: %s records of %s are missing: its steps may have "
			  "less than they did",
			  out_count((int64_t)p->dropped), side);
	if (p->unmarked)
		add_doubt(d,
			  "%s has no steps of its own: each of its files counts as one",
			  side);
}

static void doubt_text(struct difference *d, const char *what, const char *a,
		       const char *b)
{
	if (*a && *b && strcmp(a, b) != 0)
		add_doubt(d, "other %s: %.80s, then %.80s", what, a, b);
}

/* A run without stages has all of its steps in one. */
static void doubt_stage(struct difference *d, const char *a, const char *b)
{
	if (strcmp(a, b) != 0)
		add_doubt(d,
			  "other stage: %s, then %s: their steps are not of one kind "
			  "(--stage NAME chooses below directories)",
			  *a ? a : "none", *b ? b : "none");
}

void difference_doubts(struct difference *d)
{
	const struct profile *a = d->a.profile, *b = d->b.profile;

	d->doubts = 0;
	doubt_stage(d, a->stage, b->stage);
	doubt_side(d, "A", a);
	doubt_side(d, "B", b);
	doubt_text(d, "GPU", a->gpu, b->gpu);
	doubt_text(d, "torch", a->torch, b->torch);
	doubt_text(d, "script", a->script, b->script);
	if (a->windows_n < 4 || b->windows_n < 4)
		add_doubt(d,
			  "intervals are of steps within these recordings: another run "
			  "of the same program may differ by more (four windows or more "
			  "on each side would show it)");
}

bool difference_make(struct difference *d, const struct difference_side *a,
		     const struct difference_side *b)
{
	*d = (struct difference){ .a = *a, .b = *b };
	if (!compare_make(&d->rows, a->profile, b->profile))
		return false;
	difference_doubts(d);
	return true;
}

void difference_free(struct difference *d)
{
	compare_free(&d->rows);
}
