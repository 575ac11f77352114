/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What torch's events, a patched function and proflaunch_step() mean as markers.
 */
#include "agent/core/clock.h"
#include "agent/core/job.h"
#include "agent/sched/slots.h"
#include "agent/sched/state.h"
#include "agent/sched/visit.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>

/* Which call of a thread's a slot's bit is. */
enum { BIT_OPTIMIZER, BIT_TRIGGERS };
_Static_assert(BIT_TRIGGERS + STAGE_TRIGGERS <= SLOTS_EACH, "bits of a slot");
_Static_assert(SLOTS_EACH + STAGE_TRIGGERS < 255, "what a token has room for");

static _Atomic uint32_t known; /* of this process: enum auto_known */
static _Atomic uint32_t stepped; /* proflaunch_step() was called: it wins over auto */

static void add_one(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void note_known(enum auto_known what)
{
	if (!(atomic_load_explicit(&known, memory_order_relaxed) & what))
		atomic_fetch_or_explicit(&known, what, memory_order_relaxed);
}

static void feed_auto(uint32_t slot, enum auto_event event)
{
	struct auto_state *state;

	if (sched.now->marker.kind != MARKER_AUTO || !slots_may_count(slot) ||
	    atomic_load_explicit(&stepped, memory_order_relaxed))
		return;
	state = slots_state(slot);
	if (auto_take(state, event, atomic_load_explicit(&known, memory_order_relaxed),
		      event == AUTO_BACKWARD ? clock_ticks() : 0) &&
	    slots_claim(slot))
		/* The program makes ProfilerStep# rows of its own: ours would double each
		 * step. */
		sched_boundary(auto_text(state->choice),
			       state->choice != AUTO_BY_PROFILER);
}

/* ---- torch:<glob> ---- */

static uint32_t begin_call(unsigned trigger)
{
	uint32_t slot = slots_mine();
	unsigned bit = (visit_minds_each(trigger) ? SLOTS_EACH : BIT_TRIGGERS) + trigger;
	uint32_t token = slots_may_count(slot) ? slots_open(slot, bit) : 0;

	if (token && visit_minds(trigger) && slots_claim(slot))
		visit_begin_call(trigger);
	return token;
}

static uint32_t glob_begin(const char *name, size_t len)
{
	int trigger = stage_find(name, len);

	return trigger < 0 ? 0 : begin_call((unsigned)trigger);
}

/* The glob has matched an annotation: unless the glob has a namespace in it, it means no
 * operators, and operators need not be observed for it any more. */
static void annotation_matched(void)
{
	if (!stage_count && !strstr(stage_run.marker.text, "::"))
		atomic_store_explicit(&sched.ops, false, memory_order_relaxed);
}

uint32_t sched_op_begin(const char *name, size_t len)
{
	if (!sched_wants_ops() || !sched_wake())
		return 0;
	return glob_begin(name, len);
}

bool sched_wants_ops(void)
{
	return atomic_load_explicit(&sched.ops, memory_order_relaxed);
}

/* ---- cuda:<glob>, kernel:<glob> ---- */

bool sched_wants_calls(void)
{
	return stage_run.marker.kind == MARKER_CUDA ||
	       stage_run.marker.kind == MARKER_KERNEL;
}

uint32_t sched_call_begin(const char *function, const char *kernel)
{
	const struct marker *m = &stage_run.marker;
	const char *name = m->kind == MARKER_CUDA ? function : kernel;
	int saved = errno;
	uint32_t token = 0;

	if (name && sched_wants_calls() && sched_wake() &&
	    marker_matches(m, name, strlen(name)))
		token = begin_call(STAGE_STEP);
	errno = saved;
	return token;
}

/* ---- python:<name> ---- */

const char *sched_function(unsigned trigger)
{
	return stage_function(trigger);
}

/* A process that starts others (torchrun) has no such function: where one of them has it
 * nobody misses it. */
static void note_function(void)
{
	if (job && !stage_count &&
	    !(atomic_load_explicit(&job->told, memory_order_relaxed) & TOLD_SYMBOL))
		atomic_fetch_or(&job->told, TOLD_SYMBOL);
}

uint32_t sched_function_begin(unsigned trigger)
{
	note_function();
	atomic_store_explicit(&sched.called, true, memory_order_relaxed);
	return sched_wake() ? begin_call(trigger) : 0;
}

bool sched_is_elsewhere(void)
{
	return slots_is_elsewhere();
}

/* ---- annotations ---- */

/* Counts names that the user might have meant, for the closing words. Where a full disk
 * has no room for them they are not told. */
static void note_name(const char *name, size_t len)
{
	struct spool_header *h = spool.head;
	int saved = errno;

	/* A user of none or time: asks for no annotation, and is not told of any. */
	if (stage_run.marker.kind == MARKER_NONE ||
	    stage_run.marker.kind == MARKER_TIME || stage_count)
		return;
	if (h && !sched.now->step && spool_head_has(&h->seen, sizeof(h->seen)))
		tally_add(&h->seen, name, len, 1);
	errno = saved;
}

/* The classes are counted with any marker: the closing words tell what `auto` would have
 * found. */
uint32_t sched_begin(const char *name, size_t len)
{
	enum marker_class class = marker_classify(name, len);

	note_name(name, len);
	if (class == CLASS_OTHER && !stage_wants_names())
		return 0;
	if (!sched_wake())
		return 0;
	if (stage_wants_names()) {
		uint32_t token = glob_begin(name, len);

		if (token) {
			annotation_matched();
			return token;
		}
	}
	switch (class) {
	case CLASS_LOADER:
		add_one(&spool.head->sched.loader_nexts);
		feed_auto(slots_mine(), AUTO_NEXT);
		return 0;
	case CLASS_PROFILER:
		feed_auto(slots_mine(), AUTO_PROFILER_STEP);
		return 0;
	case CLASS_OPTIMIZER:
		note_known(AUTO_OPTIMIZER);
		return slots_open(slots_mine(), BIT_OPTIMIZER);
	case CLASS_ZERO_GRAD:
		note_known(AUTO_OPTIMIZER);
		feed_auto(slots_mine(), AUTO_CLEAR);
		return 0;
	default:
		return 0;
	}
}

void sched_end(uint32_t token)
{
	unsigned bit = 0;
	uint32_t slot = slots_close(token, &bit);

	if (!slot || !spool.head || atomic_load(&sched.life) != LIFE_ON)
		return;
	if (bit == BIT_OPTIMIZER) {
		add_one(&spool.head->sched.optimizer_steps);
		if (slot == slots_mine())
			feed_auto(slot, AUTO_UPDATE);
	} else if (slots_claim(slot)) {
		visit_end_call(bit - (bit < SLOTS_EACH ? BIT_TRIGGERS : SLOTS_EACH));
	}
}

/* libtorch logs the use of its API. Where an optimizer is made, steps will come. */
void sched_usage(const char *event)
{
	if (!strcmp(event, "python.optimizer"))
		note_known(AUTO_OPTIMIZER);
	else if (!strcmp(event, "torch.compile"))
		note_known(AUTO_COMPILED);
}

void sched_backward(void)
{
	if (!sched_wake())
		return;
	add_one(&spool.head->sched.backwards);
	if (sched.now->marker.kind == MARKER_AUTO)
		feed_auto(slots_mine(), AUTO_BACKWARD);
}

/* ---- from the program itself ---- */

void sched_step(void)
{
	static _Atomic uint32_t said;

	if (stage_run.marker.kind == MARKER_AUTO) {
		atomic_store_explicit(&stepped, 1, memory_order_relaxed);
		sched_boundary("proflaunch_step()", true);
		if (spool.head)
			add_one(&spool.head->sched.marker_hits);
	} else if (!atomic_exchange(&said, 1)) {
		log_note(
			"proflaunch_step() is not counted: another marker was asked for");
	}
}

static void hit_symbol(void)
{
	visit_begin_call(STAGE_STEP);
}

/* The function may be in the program, in what the program is linked to, or in a library
 * yet to come; the first one found is taken. */
void sched_library(void)
{
	uint32_t no = 0;

	if (stage_run.marker.kind != MARKER_SYMBOL || !sched.act->patch ||
	    !atomic_compare_exchange_strong(&sched.patched, &no, 1))
		return;
	if (!sched.act->patch(stage_run.marker.text, hit_symbol))
		atomic_store(&sched.patched, 0);
}

void marks_fork_child(void)
{
	slots_fork_child();
	visit_fork_child();
	atomic_store(&known, atomic_load(&known) & AUTO_COMPILED);
	atomic_store(&stepped, 0);
}
