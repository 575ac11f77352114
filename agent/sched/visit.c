/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step of a marker at the end lasts from the one before, or from the entry, to its
 * call's end; what lies between the last one and the leaving is none. A step of a marker
 * at the begin lasts to the next begin, or to the leaving. `auto` is as at the end.
 */
#include "agent/sched/visit.h"
#include "agent/core/emit.h"
#include "agent/sched/cycle.h"
#include "agent/sched/state.h"
#include "base/fmt.h"
#include "base/log.h"

#include <string.h>

/* Those below the one that is on, the run itself first. */
static struct stage *below[STAGES_MOST + 1];
static unsigned depth;
static bool entered;

/* ---- from the entry to the leaving ---- */

static bool begins_steps(const struct stage *s)
{
	return s->marker.at_begin;
}

static void begin_visit(struct stage *s, uint64_t now)
{
	sched.now = s;
	cycle_held = s->held;
	s->held = NULL;
	cycle_stage = s->number;
	s->phase = PHASE_NONE;
	s->between = begins_steps(s);
	if (s->number && !s->between)
		steps_begin(now);
}

/* An open window of which no step has ended has nothing to show; of a provisional one the
 * newest is held. */
static enum cycle_end end_of_window(const struct stage *s)
{
	if ((int64_t)s->step <= cycle_now->first_step)
		return CYCLE_THROW;
	return cycle_now->flags & CYCLE_PROVISIONAL && !cycle_kept() ? CYCLE_HOLD
								     : CYCLE_KEEP;
}

static void end_step(struct stage *s, uint64_t now)
{
	if (!begins_steps(s)) {
		cycle_step_void();
	} else if (!s->between) {
		cycle_step_end(now);
		steps_count();
	}
}

static void end_visit(uint64_t now)
{
	struct stage *s = sched.now;

	if (!s->number)
		return;
	end_step(s, now);
	if (cycle_now)
		cycle_close(now, end_of_window(s));
	s->held = cycle_held;
	cycle_held = NULL;
	s->phase = PHASE_NONE;
}

/* ---- which one is on ---- */

static bool is_below(const struct stage *s)
{
	for (unsigned i = 0; i < depth; i++)
		if (below[i] == s)
			return true;
	return false;
}

static void go_back_to(struct stage *s, uint64_t now)
{
	end_visit(now);
	while (depth && below[--depth] != s)
		;
	begin_visit(s, now);
	sched_observe();
}

static void enter_stage(struct stage *s, uint64_t now)
{
	if (sched.now == s)
		return;
	if (is_below(s)) {
		go_back_to(s, now);
		return;
	}
	steps_drive(now);
	atomic_fetch_add(&spool.head->sched.stage[s->number - 1].visits, 1);
	entered = true;
	if (job)
		atomic_fetch_or(&job->told, TOLD_SYMBOL); /* nobody misses stages */
	end_visit(now);
	/* Of two that their markers alone begin the later one takes the place. */
	if (!sched.now->bare || !s->bare)
		below[depth++] = sched.now;
	begin_visit(s, now);
	sched_observe();
}

static void leave_stage(struct stage *s, uint64_t now)
{
	unsigned at = depth;

	if (sched.now != s && !is_below(s))
		return;
	while (sched.now != s && below[--at] != s)
		;
	go_back_to(below[at - 1], now);
}

/* A stage during whose steps the function of another one is called, which has the same
 * steps, stays on: evaluation is a part of prediction in some frameworks. */
static void enter_within(struct stage *s, uint64_t now)
{
	const struct marker *m = &sched.now->marker;

	if (m->kind != MARKER_PYTHON || m->at_begin != s->marker.at_begin ||
	    strcmp(m->text, s->marker.text) != 0)
		enter_stage(s, now);
}

/* May a call of its marker bring it back? What functions have entered stays on. */
static bool is_covered(const struct stage *s)
{
	if (!sched.now->bare)
		return true;
	for (unsigned i = depth; i-- && below[i] != s;)
		if (!below[i]->bare)
			return true;
	return false;
}

/* Its marker's function is called. */
static void see_marker(struct stage *s, uint64_t now)
{
	if (sched.now != s && (s->bare || (is_below(s) && !is_covered(s))))
		enter_stage(s, now);
}

static void pass_step(struct stage *s, uint64_t now)
{
	if (sched.now != s)
		return;
	if (!s->between) {
		steps_pass(true, now);
	} else {
		s->between = false;
		steps_begin(now);
	}
	atomic_fetch_add_explicit(&spool.head->sched.marker_hits, 1,
				  memory_order_relaxed);
}

static void begin_marker(struct stage *s, uint64_t now)
{
	see_marker(s, now);
	if (s->marker.at_begin)
		pass_step(s, now);
}

/* ---- calls ---- */

static void hit_run(void)
{
	sched_boundary(NULL, true);
	if (spool.head)
		atomic_fetch_add_explicit(&spool.head->sched.marker_hits, 1,
					  memory_order_relaxed);
}

static bool minds_begin(unsigned trigger)
{
	return trigger ? trigger % STAGE_ROLES != STAGE_LEAVE ||
				 stage_marker(trigger)->at_begin
		       : stage_run.marker.at_begin;
}

static void begin_one(unsigned trigger)
{
	struct stage *s = stage_of(trigger);
	bool at_begin = stage_marker(trigger)->at_begin;

	switch ((enum stage_role)(trigger % STAGE_ROLES)) {
	case STAGE_STEP:
		if (s->number)
			steps_change(begin_marker, s);
		else if (at_begin)
			hit_run();
		return;
	case STAGE_WITHIN:
		steps_change(enter_within, s);
		return;
	case STAGE_ENTER:
		if (at_begin)
			steps_change(enter_stage, s);
		return;
	default:
		if (at_begin)
			steps_change(leave_stage, s);
	}
}

static void end_one(unsigned trigger)
{
	struct stage *s = stage_of(trigger);
	bool at_end = !stage_marker(trigger)->at_begin;

	switch ((enum stage_role)(trigger % STAGE_ROLES)) {
	case STAGE_STEP:
		if (at_end && s->number)
			steps_change(pass_step, s);
		else if (at_end)
			hit_run();
		return;
	case STAGE_ENTER:
		if (at_end)
			steps_change(enter_stage, s);
		return;
	case STAGE_WITHIN:
		steps_change(leave_stage, s);
		return;
	default:
		if (at_end)
			steps_change(leave_stage, s);
	}
}

/* The first of a group, which is not empty. */
static unsigned first_of(uint64_t group)
{
	return (unsigned)__builtin_ctzll(group);
}

bool visit_minds(unsigned trigger)
{
	for (uint64_t left = stage_group(trigger); left; left &= left - 1)
		if (minds_begin(first_of(left)))
			return true;
	return false;
}

bool visit_minds_each(unsigned trigger)
{
	for (uint64_t left = stage_group(trigger); left; left &= left - 1)
		if (first_of(left) % STAGE_ROLES < STAGE_ENTER)
			return false;
	return true;
}

/* A function that begins a stage and ends its steps does first the one, then the other;
 * when it returns the other way round. */
void visit_begin_call(unsigned trigger)
{
	uint64_t left = stage_group(trigger);

	while (left) {
		unsigned last = 63 - (unsigned)__builtin_clzll(left);

		begin_one(last);
		left -= (uint64_t)1 << last;
	}
}

void visit_end_call(unsigned trigger)
{
	for (uint64_t left = stage_group(trigger); left; left &= left - 1)
		end_one(first_of(left));
}

/* ---- the end ---- */

static bool kept_early[STAGES_MOST];

void visit_exit(uint64_t now)
{
	end_visit(now);
	for (unsigned i = 0; i < stage_count; i++) {
		struct stage *s = stage_of((i + 1) * STAGE_ROLES);

		kept_early[i] = s->held;
		if (!s->held)
			continue;
		cycle_held = s->held;
		s->held = NULL;
		cycle_release(CYCLE_KEEP);
	}
}

void visit_tell(void)
{
	char text[512] = "";
	size_t n = 0;

	for (unsigned i = 0; i < stage_count; i++) {
		const struct stage *s = stage_of((i + 1) * STAGE_ROLES);

		if (kept_early[i])
			n += fmt(text + n, sizeof(text) - n, "%s%s %lu", n ? ", " : "",
				 s->name, (unsigned long)s->step);
	}
	if (n)
		log_note("too few steps for the default schedule (" SCHEDULE_DEFAULT
			 "), so what was recorded last of these stages was kept: %s; "
			 "name another one with --schedule",
			 text);
}

bool visit_was_made(void)
{
	return entered;
}

void visit_fork_child(void)
{
	sched.now = &stage_run;
	depth = 0;
	entered = false;
	cycle_stage = 0;
}
