/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing was recorded: why, and what to do. The job's page tells which programs had the
 * agent at all, the spools what it has seen there. */
#include "agent/sched/schedule.h"
#include "config/c_modules.h"
#include "launcher/closing_words.h"
#include "launcher/say.h"

#include <inttypes.h>
#include <stdio.h>

#define NAMES 8 /* names of programs in a line */
#define SEEN  5 /* annotations */

/* The steps of the process with most of them. */
static const char *steps_seen(const struct totals *s)
{
	static char text[256];

	snprintf(text, sizeof(text), "%s ended%s%s%s", say_count(s->most, "step"),
		 *s->chosen ? " (" : "", s->chosen, *s->chosen ? ")" : "");
	return text;
}

/* The annotations that there were where a marker did not match. */
static const char *names_seen(const struct totals *s)
{
	static char text[1024];

	if (!tally_all(&s->seen))
		return "no annotation was seen";
	snprintf(text, sizeof(text), "annotations seen: %s",
		 closing_seen(&s->seen, SEEN));
	return text;
}

/* No step has ended: then no window began, whatever the schedule says. */
static void say_no_boundary(const struct closing *c)
{
	const struct totals *s = c->totals;

	if (closing_marker(c) == MARKER_TIME)
		say_warn(
			"nothing was recorded: the program ended before the first step of %s was over; try a shorter one",
			c->config->marker);
	else if (closing_marker(c) != MARKER_AUTO)
		say_warn(
			"nothing was recorded: the marker %s never matched; %s; check its spelling, or try --marker auto",
			c->config->marker, names_seen(s));
	else if (s->loader_nexts)
		say_warn(
			"nothing was recorded: %s of a DataLoader but no Optimizer.step, and too few to take batches for steps; %s; name what ends a step (--marker torch:<name>, or python:<function>), or record all of it: --marker none",
			say_count(s->loader_nexts, "batch"), names_seen(s));
	else
		say_warn(
			"nothing was recorded: no training step was recognised (marker auto looks for DataLoader and Optimizer.step); %s; name what ends a step (--marker torch:<name>, or python:<function>), or record all of it: --marker none",
			names_seen(s));
}

/* The user's own schedule, begun so early that these steps reach its end; else begun as
 * early as possible. */
static const char *earlier_schedule(const struct schedule *plan, uint64_t steps)
{
	static char text[160];
	uint64_t needs = plan->warmup + plan->active;
	size_t n = 0;

	if (steps > needs)
		n += (size_t)snprintf(text, sizeof(text), "wait=%" PRIu64 ",",
				      steps - needs);
	if (plan->warmup)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "warmup=%" PRIu64 ",",
				      plan->warmup);
	n += (size_t)snprintf(text + n, sizeof(text) - n, "active=%" PRIu64,
			      plan->active);
	if (plan->repeat)
		snprintf(text + n, sizeof(text) - n, ",repeat=%" PRIu64, plan->repeat);
	return text;
}

/* The plan's first step that is recorded. */
static const char *first_step(const struct schedule *plan)
{
	return say_number(plan->skip_first + plan->warmup +
			  (plan->skip_first_wait ? 0 : plan->wait));
}

/* Steps have ended, but too few for the schedule's first window. */
static void say_no_window(const struct closing *c)
{
	const struct totals *s = c->totals;
	const char *text = *c->config->schedule ? c->config->schedule : SCHEDULE_DEFAULT;
	struct schedule plan;

	if (schedule_parse(&plan, text))
		say_warn("nothing was recorded: %s cannot be read as a schedule", text);
	else
		say_warn(
			"nothing was recorded: %s, and --schedule %s records from step %s on; a longer run is recorded, or this one with --schedule %s",
			steps_seen(s), text, first_step(&plan),
			earlier_schedule(&plan, s->most));
}

void closing_early(const struct closing *c)
{
	const struct totals *s = c->totals;
	struct schedule plan;

	if (!s->early || s->windows || schedule_parse(&plan, c->config->schedule))
		return;
	say_warn(
		"--schedule %s records from step %s on, and only %s: the file has %s from step %s on, recorded in case of that; this run as planned: --schedule %s",
		c->config->schedule, first_step(&plan), steps_seen(s),
		say_count(s->early_steps, "step"), say_number(s->early_step),
		earlier_schedule(&plan, s->most));
}

/* No process has made a spool. The agent is where LD_PRELOAD is, and a program that
 * clears its children's environment takes it from them. */
static void say_no_spool(const struct closing *c)
{
	/* torch's markers are seen by libtorch's callbacks alone: without torch no step
	 * ends. (`auto` records the heap of programs without torch as one window.) */
	bool waits = closing_marker(c) == MARKER_TORCH && !closing_has_stages(c);
	uint64_t n = tally_all(c->programs);
	const char *names = closing_tally(c->programs, NAMES);

	if (!n)
		say_warn(
			"nothing was recorded: libproflaunch.so was loaded into no program of this run; proflaunch doctor -- <command> says why");
	else if (c->mute_torch)
		say_warn(
			"nothing was recorded: the PyTorch of this run lacks functions by which it is observed; the heap of any program: --marker none --malloc sample, or all");
	else if (!waits && c->config->malloc == MALLOC_SAMPLE)
		say_warn(
			c->aside[ASIDE_CLEARED]
				? "nothing was recorded: what ran under proflaunch (%s: %s) allocated too little for a sample, and the rest started without it: was the environment cleared (env -i, sudo)?"
				: "nothing was recorded: what ran under proflaunch (%s: %s) allocated too little for a sample: try --malloc all",
			say_number(n), names);
	else
		(waits && c->config->malloc ? say_warn : say_note)(
			"nothing was recorded: no program that ran under proflaunch (%s: %s) loaded %s%s proflaunch doctor -- <command> says more%s%s",
			say_number(n), names,
			waits && c->config->malloc ? "PyTorch"
			: c->config->python_stack == PYTHON_FULL ||
					c->config->python_events ||
					*c_modules_of(c->config)
				? "PyTorch, CUDA or Python"
				: "PyTorch or CUDA",
			c->aside[ASIDE_CLEARED]
				? ", and others started without it: was the environment cleared (env -i, sudo)?"
				: ".",
			c->config->malloc
				? ""
				: "; the heap of any program: --malloc sample, or all",
			!c->config->malloc && waits ? ", and --marker none" : "");
	if (n && waits && c->config->malloc)
		say_note(
			"the marker %s waits for PyTorch; the heap of any program: --marker none, or --marker time:1000 for steps",
			c->config->marker);
}

/* The cases go from a run that hardly began to one that nearly succeeded: no process made
 * a spool, a window was open but nothing came, no step ended, too few steps did. */
void closing_nothing(const struct closing *c)
{
	const struct totals *s = c->totals;

	if (s->opened && !s->spools)
		say_note(
			"no file could be made for records: the processes wrote their traces to %s themselves, as far as each could within 2 s of its end",
			c->config->logdir);
	else if (!s->spools)
		say_no_spool(c);
	else if (s->windows && c->config->malloc == MALLOC_SAMPLE)
		say_warn(
			"nothing was recorded: a window was open, but no operator ran in it, and too little was allocated for a sample: try --malloc all");
	else if (s->windows && c->config->malloc)
		say_warn(
			"nothing was recorded: a window was open, but nothing was allocated in it, and no operator ran");
	else if (s->windows)
		say_warn(
			"nothing was recorded: a window was open, but no operator ran in it");
	else if (closing_has_stages(c))
		closing_no_stage(c);
	else if (!s->boundaries)
		say_no_boundary(c);
	else
		say_no_window(c);
}
