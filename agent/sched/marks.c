/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What torch's events, a patched function and proflaunch_step() mean as markers.
 *
 * An annotation within one of the same kind is not counted (an optimizer's step that
 * calls its parent's step): a word for each thread and kind says that one is open.
 * Its end may come on another thread, so tokens name the thread's word.
 */
#include "agent/core/clock.h"
#include "agent/core/job.h"
#include "agent/core/thread.h"
#include "agent/sched/auto.h"
#include "agent/sched/state.h"
#include "base/log.h"
#include "base/seldom.h"

#include <errno.h>
#include <string.h>

#define SLOTS 256u /* living threads that have markers; others are not counted */

/* A token is a mark, above it its slot + 1, and of whose slot that was what has room. */
enum mark { MARK_OPTIMIZER = 1, MARK_GLOB = 2 };
#define LIVE_AT 17

struct mark_slot {
	struct auto_state state;
	_Atomic uint32_t open; /* bits: enum mark */
	_Atomic uint32_t live; /* of the thread's state then; 0: it changes hands */
	struct thread *_Atomic of;
};

static SELDOM struct mark_slot slots[SLOTS];
static _Atomic uint32_t slots_taken;
static __thread uint32_t my_slot
	__attribute__((tls_model("initial-exec"))); /* slot + 1, 0 = none yet */

static _Atomic uint32_t owner; /* slot + 1 of the thread that made the first boundary */
static _Atomic uint32_t known; /* of this process: enum auto_known */
static _Atomic uint32_t stepped; /* proflaunch_step() was called: it wins over auto */

static void add_one(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* What `live` is of a slot whose thread has ended; 0: it has not. */
static uint32_t ended_live(struct mark_slot *s)
{
	uint32_t live = atomic_load(&s->live);
	struct thread *t = atomic_load(&s->of);

	return live && atomic_load(&t->live) != live ? live : 0;
}

/* One that nobody has had, or that of a thread that has ended; its number + 1. */
static uint32_t take_slot(void)
{
	uint32_t n = atomic_load(&slots_taken);

	while (n < SLOTS)
		if (atomic_compare_exchange_weak(&slots_taken, &n, n + 1))
			return n + 1;
	for (n = 0; n < SLOTS; n++) {
		uint32_t live = ended_live(&slots[n]);

		if (live && atomic_compare_exchange_strong(&slots[n].live, &live, 0))
			return n + 1;
	}
	return 0;
}

/* The calling thread's slot + 1; 0 = there are none left. */
static uint32_t slot_mine(void)
{
	struct thread *t = thread_mine;
	struct mark_slot *s;
	uint32_t before;

	if (my_slot)
		return my_slot;
	if (!t && !(t = thread_state()))
		return 0;
	before = my_slot = take_slot();
	if (!my_slot)
		return 0;
	/* Steps are not inherited with the slot. */
	atomic_compare_exchange_strong(&owner, &before, 0);
	s = &slots[my_slot - 1];
	memset((void *)&s->state, 0, sizeof(s->state));
	atomic_store(&s->open, 0);
	atomic_store(&s->of, t);
	atomic_store(&s->live, atomic_load(&t->live));
	return my_slot;
}

/* The slot + 1 of the thread that makes the steps; 0 = none does, or it has ended. */
static uint32_t living_owner(uint32_t first)
{
	return first && ended_live(&slots[first - 1]) ? 0 : first;
}

/* Only the thread that made the first boundary makes steps: of two loops in one process
 * each would else count the other's. When it has ended the next one does, as where a
 * server has a thread for each request. */
static bool may_count(uint32_t slot)
{
	uint32_t first = atomic_load_explicit(&owner, memory_order_relaxed);

	return slot && (first == slot || !living_owner(first));
}

static bool claim_steps(uint32_t slot)
{
	uint32_t first = atomic_load(&owner);

	while (first != slot && !living_owner(first))
		if (atomic_compare_exchange_weak(&owner, &first, slot))
			return true;
	return first == slot;
}

/* The token of an outermost annotation; 0 for one inside another of its kind. */
static uint32_t open_mark(uint32_t slot, enum mark mark)
{
	struct mark_slot *s;

	if (!slot)
		return 0;
	s = &slots[slot - 1];
	if (atomic_fetch_or_explicit(&s->open, mark, memory_order_relaxed) & mark)
		return 0;
	return atomic_load(&s->live) << LIVE_AT | slot << 8 | mark;
}

static void note_known(enum auto_known what)
{
	if (!(atomic_load_explicit(&known, memory_order_relaxed) & what))
		atomic_fetch_or_explicit(&known, what, memory_order_relaxed);
}

static void feed_auto(uint32_t slot, enum auto_event event)
{
	struct auto_state *state;

	if (sched.marker.kind != MARKER_AUTO || !may_count(slot) ||
	    atomic_load_explicit(&stepped, memory_order_relaxed))
		return;
	state = &slots[slot - 1].state;
	if (auto_take(state, event, atomic_load_explicit(&known, memory_order_relaxed),
		      event == AUTO_BACKWARD ? clock_ticks() : 0) &&
	    claim_steps(slot))
		/* The program makes ProfilerStep# rows of its own: ours would double each
		 * step. */
		sched_boundary(auto_text(state->choice),
			       state->choice != AUTO_BY_PROFILER);
}

/* ---- torch:<glob> ---- */

static void hit_marker(void)
{
	sched_boundary(NULL, true);
	if (spool.head)
		add_one(&spool.head->sched.marker_hits);
}

static uint32_t mark_begin(void)
{
	uint32_t slot = slot_mine();
	uint32_t token = may_count(slot) ? open_mark(slot, MARK_GLOB) : 0;

	if (token && sched.marker.at_begin && claim_steps(slot))
		hit_marker();
	return token;
}

static uint32_t glob_begin(const char *name, size_t len)
{
	return marker_matches(&sched.marker, name, len) ? mark_begin() : 0;
}

/* The glob has matched an annotation: unless the glob has a namespace in it, it means no
 * operators, and operators need not be observed for it any more. */
static void annotation_matched(void)
{
	if (!strstr(sched.marker.text, "::"))
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
	return sched.marker.kind == MARKER_CUDA || sched.marker.kind == MARKER_KERNEL;
}

uint32_t sched_call_begin(const char *function, const char *kernel)
{
	const char *name = sched.marker.kind == MARKER_CUDA ? function : kernel;
	int saved = errno;
	uint32_t token = 0;

	if (name && sched_wants_calls() && sched_wake())
		token = glob_begin(name, strlen(name));
	errno = saved;
	return token;
}

/* ---- python:<name> ---- */

const char *sched_function(void)
{
	return sched.marker.kind == MARKER_PYTHON ? sched.marker.text : NULL;
}

/* A process that starts others (torchrun) has no such function: where one of them has it
 * nobody misses it. */
static void note_function(void)
{
	if (job &&
	    !(atomic_load_explicit(&job->told, memory_order_relaxed) & TOLD_SYMBOL))
		atomic_fetch_or(&job->told, TOLD_SYMBOL);
}

uint32_t sched_function_begin(void)
{
	note_function();
	atomic_store_explicit(&sched.called, true, memory_order_relaxed);
	return sched_wake() ? mark_begin() : 0;
}

bool sched_is_elsewhere(void)
{
	uint32_t first = living_owner(atomic_load_explicit(&owner, memory_order_relaxed));

	return first && first != my_slot;
}

/* ---- annotations ---- */

/* Counts names that the user might have meant, for the closing words. Where a full disk
 * has no room for them they are not told. */
static void note_name(const char *name, size_t len)
{
	struct spool_header *h = spool.head;
	int saved = errno;

	/* A user of none or time: asks for no annotation, and is not told of any. */
	if (sched.marker.kind == MARKER_NONE || sched.marker.kind == MARKER_TIME)
		return;
	if (h && !sched.step && spool_head_has(&h->seen, sizeof(h->seen)))
		tally_add(&h->seen, name, len, 1);
	errno = saved;
}

/* The classes are counted with any marker: the closing words tell what `auto` would have
 * found. */
uint32_t sched_begin(const char *name, size_t len)
{
	enum marker_class class = marker_classify(name, len);

	note_name(name, len);
	if (class == CLASS_OTHER && sched.marker.kind != MARKER_TORCH)
		return 0;
	if (!sched_wake())
		return 0;
	if (sched.marker.kind == MARKER_TORCH) {
		uint32_t token = glob_begin(name, len);

		if (token) {
			annotation_matched();
			return token;
		}
	}
	switch (class) {
	case CLASS_LOADER:
		add_one(&spool.head->sched.loader_nexts);
		feed_auto(slot_mine(), AUTO_NEXT);
		return 0;
	case CLASS_PROFILER:
		feed_auto(slot_mine(), AUTO_PROFILER_STEP);
		return 0;
	case CLASS_OPTIMIZER:
		note_known(AUTO_OPTIMIZER);
		return open_mark(slot_mine(), MARK_OPTIMIZER);
	case CLASS_ZERO_GRAD:
		note_known(AUTO_OPTIMIZER);
		feed_auto(slot_mine(), AUTO_CLEAR);
		return 0;
	default:
		return 0;
	}
}

void sched_end(uint32_t token)
{
	uint32_t slot = (token & ((1u << LIVE_AT) - 1)) >> 8;

	if (!slot || slot > SLOTS ||
	    (atomic_load(&slots[slot - 1].live) ^ token >> LIVE_AT) << LIVE_AT)
		return;
	atomic_fetch_and_explicit(&slots[slot - 1].open, ~(token & 0xff),
				  memory_order_relaxed);
	if (!spool.head || atomic_load(&sched.life) != LIFE_ON)
		return;
	if (token & MARK_OPTIMIZER) {
		add_one(&spool.head->sched.optimizer_steps);
		if (slot == my_slot)
			feed_auto(slot, AUTO_UPDATE);
	} else if (token & MARK_GLOB && !sched.marker.at_begin && claim_steps(slot)) {
		hit_marker();
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
	if (sched.marker.kind == MARKER_AUTO)
		feed_auto(slot_mine(), AUTO_BACKWARD);
}

/* ---- from the program itself ---- */

void sched_step(void)
{
	static _Atomic uint32_t said;

	if (sched.marker.kind == MARKER_AUTO) {
		atomic_store_explicit(&stepped, 1, memory_order_relaxed);
		sched_boundary("proflaunch_step()", true);
		if (spool.head)
			add_one(&spool.head->sched.marker_hits);
	} else if (!atomic_exchange(&said, 1)) {
		log_note(
			"proflaunch_step() is not counted: another marker was asked for");
	}
}

/* The function may be in the program, in what the program is linked to, or in a library
 * yet to come; the first one found is taken. */
void sched_library(void)
{
	uint32_t no = 0;

	if (sched.marker.kind != MARKER_SYMBOL || !sched.act->patch ||
	    !atomic_compare_exchange_strong(&sched.patched, &no, 1))
		return;
	if (!sched.act->patch(sched.marker.text, hit_marker))
		atomic_store(&sched.patched, 0);
}

void marks_fork_child(void)
{
	my_slot = 0;
	for (uint32_t n = atomic_exchange(&slots_taken, 0); n--;)
		atomic_store(&slots[n].live, 0);
	atomic_store(&owner, 0);
	atomic_store(&known, atomic_load(&known) & AUTO_COMPILED);
	atomic_store(&stepped, 0);
}
