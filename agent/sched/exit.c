/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a process: its open window is kept or thrown away, and what the user has to
 * know about it is said.
 */
#include "agent/core/clock.h"
#include "agent/sched/cycle.h"
#include "agent/sched/early.h"
#include "agent/sched/state.h"
#include "agent/sched/visit.h"
#include "base/fmt.h"
#include "base/log.h"
#include "config/config.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* How many annotations are named, and how much of each (bytes): a line on the job's page
 * has no room for more. */
#define NAMES     3
#define NAME_MOST 60

static bool tell_once(uint32_t bit)
{
	return !job || !(atomic_fetch_or(&job->told, bit) & bit);
}

/* "train 12×, ...": annotations that the user might have meant. */
static void list_names(char *text, size_t size)
{
	const struct tally *seen = &spool.head->seen;
	bool there = spool_head_has(seen, sizeof(*seen)); /* else a hole in the spool */
	const struct tally_row *r;
	size_t n = 0;

	for (unsigned i = 0; there && i < NAMES && (r = tally_rank(seen, i)); i++)
		n += fmt(text + n, size - n, "%s%.*s %lu×", n ? ", " : "", NAME_MOST,
			 r->name, (unsigned long)r->n);
	if (!n)
		fmt(text, size, "no annotation");
}

static void name_marker(char *text, size_t size)
{
	static const char *const kinds[] = { [MARKER_SYMBOL] = MARKER_BY_SYMBOL,
					     [MARKER_PYTHON] = MARKER_BY_PYTHON,
					     [MARKER_CUDA] = MARKER_BY_CUDA,
					     [MARKER_KERNEL] = MARKER_BY_KERNEL };
	const char *kind =
		kinds[stage_run.marker.kind % (sizeof(kinds) / sizeof(*kinds))];

	if (stage_run.marker.kind == MARKER_AUTO)
		fmt(text, size,
		    "no training step was recognised (marker auto looks for DataLoader "
		    "and Optimizer.step)");
	else if (atomic_load(&sched.called))
		fmt(text, size,
		    "%s%.*s was called, but ended no step: calls within one that has not "
		    "returned, and those of other threads, end none",
		    MARKER_BY_PYTHON, NAME_MOST, stage_run.marker.text);
	else
		fmt(text, size, "the marker %s%.*s never matched",
		    kind ? kind : MARKER_BY_TORCH, NAME_MOST, stage_run.marker.text);
}

void sched_say_provisional(const struct stage *s, const char *when)
{
	const char *what = *when ? "what was recorded until then" : "the whole run";
	char names[256], marker[256];

	if (!tell_once(TOLD_PROVISIONAL))
		return;
	if (stage_count) {
		log_note("stage %s: after its first %lu steps none ended%s, so what was "
			 "recorded until then was kept",
			 s->name, (unsigned long)s->step, when);
		return;
	}
	if (s->step) {
		log_note("after the first %lu no step ended%s: too few for the default "
			 "schedule (" SCHEDULE_DEFAULT "), so %s was kept; name another "
			 "one with --schedule",
			 (unsigned long)s->step, when, what);
		return;
	}
	if (stage_run.marker.kind == MARKER_TIME) {
		log_note(
			"the first step of %lu ms was not over%s, so %s was kept as one step",
			(unsigned long)(stage_run.marker.period_ns / 1000000), when,
			what);
		return;
	}
	list_names(names, sizeof(names));
	name_marker(marker, sizeof(marker));
	log_note("%s%s, so %s was kept as one step. Seen: %s; name what ends a step with "
		 "--marker torch:<name>, or --marker python:<function>",
		 marker, when, what, names);
}

/* Should this process have the marker's function? A shell around the program need not. */
static bool should_have_it(void)
{
	return atomic_load(&sched.torch) || !job || !atomic_load(&job->launcher) ||
	       (uint32_t)getppid() == atomic_load(&job->launcher);
}

static const char *why_missing(unsigned trigger)
{
	return stage_function(trigger) && sched.act->missing ? sched.act->missing(trigger)
							     : NULL;
}

/* Why no function of the stage was called: of the first one of which that is known. */
static const char *why_stage_missing(const struct stage *s, const char **name)
{
	const char *why = NULL;

	for (unsigned i = 0; i < STAGE_ROLES && !why; i++) {
		*name = stage_function(s->number * STAGE_ROLES + i);
		why = why_missing(s->number * STAGE_ROLES + i);
	}
	return why;
}

static bool may_tell(uint32_t bit)
{
	return should_have_it() && tell_once(bit);
}

/* The run was in no stage, as far as this process goes: what the first one waits for. */
static void say_none_entered(void)
{
	const struct stage *s;
	const char *name, *why = NULL;

	for (unsigned i = 1; i <= stage_count && !why; i++) {
		s = stage_of(i * STAGE_ROLES);
		why = why_stage_missing(s, &name);
	}
	if (!why || !may_tell(TOLD_SYMBOL))
		return;
	log_warn("no stage was entered, so nothing was recorded%s: %s waits for "
		 "python:%.*s: %s",
		 s->asked ? "" : " (is it the preset of what this program uses?)",
		 s->name, (int)strcspn(name, "|"), name, why);
}

/* A stage of which the user has said something has no step. */
static void say_stage_missing(const struct stage *s)
{
	const char *name, *why = why_stage_missing(s, &name);

	if (why && may_tell(TOLD_STAGE))
		log_warn("stage %s has no step: python:%s: %s", s->name, name, why);
	else if (!why && atomic_load(&sched.called) && may_tell(TOLD_STAGE))
		log_warn(
			"stage %s has no step, although its functions were called: calls of "
			"another thread than the one that makes the steps end none, nor those of "
			"its marker while it is not on, or that have not returned",
			s->name);
}

static void say_no_stage(void)
{
	if (stage_count && !visit_was_made()) {
		say_none_entered();
		return;
	}
	for (unsigned i = 1; i <= stage_count; i++) {
		const struct stage *s = stage_of(i * STAGE_ROLES);

		if (s->asked && !s->step)
			say_stage_missing(s);
	}
}

/* Every process ends here, so getppid() is called for these markers alone. */
static void say_not_found(void)
{
	const char *why = why_missing(STAGE_STEP);

	if (why && should_have_it() && tell_once(TOLD_SYMBOL))
		log_warn("marker python:%s: %s", stage_run.marker.text, why);
	say_no_stage();
	if (stage_run.marker.kind == MARKER_SYMBOL && !atomic_load(&sched.patched) &&
	    should_have_it() && tell_once(TOLD_SYMBOL))
		log_warn(
			"marker symbol:%s: there is no such function in the program or its "
			"libraries (a stripped one has no names of local functions)",
			stage_run.marker.text);
}

/* True: the window was provisional, and is kept. */
static bool end_window(uint64_t now)
{
	uint64_t end = now;
	bool keep = follow_keeps(&end) && !sched_whole_goes() && early_keeps();
	bool early = cycle_now->flags & CYCLE_EARLY;
	bool provisional = keep && !(cycle_now->flags & (CYCLE_CHILD | CYCLE_WHOLE)) &&
			   cycle_now->flags & CYCLE_PROVISIONAL;

	cycle_step_end(end);
	cycle_close(end, keep ? CYCLE_KEEP : CYCLE_THROW);
	early_exit(keep && early);
	return provisional && !early; /* the launcher tells of early ones */
}

void sched_exit(void)
{
	int saved = errno;
	bool provisional;

	if (sched_life() == LIFE_OFF || !sched_lock())
		return;
	atomic_store(&sched.life, LIFE_OFF);
	visit_exit(clock_ticks());
	provisional = cycle_now && end_window(clock_ticks());
	early_exit(false);
	follow_nobody();
	sched_unlock();
	if (provisional)
		sched_say_provisional(sched.now, "");
	visit_tell();
	say_not_found();
	errno = saved;
}

void sched_leave(void)
{
	uint64_t end = 0;

	if (sched_life() != LIFE_ON || !cycle_now)
		return;
	early_leave();
	if (!follow_keeps(&end) || sched_whole_goes())
		atomic_store(&cycle_now->state, CYCLE_DISCARDED);
	else if (end)
		__atomic_store_n(&cycle_now->end, end, __ATOMIC_RELEASE);
}
