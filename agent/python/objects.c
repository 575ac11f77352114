/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the interpreter has its allocators is found once, with its lock held; then they
 * are exchanged by whoever opens and ends a window, without a lock. No thread of the
 * interpreter's can be asked: a pending call makes 3.9 to 3.12 forget a signal that has
 * just come, and the main thread may wait for ever.
 */
#include "agent/python/objects.h"
#include "agent/core/clock.h"
#include "agent/core/gate.h"
#include "agent/python/allocators.h"
#include "agent/python/check.h"
#include "agent/python/interpreter.h"
#include "base/log.h"

#include <stdatomic.h>

#define LETS_GO 13 /* since 3.13 the allocators' lock may let the interpreter's go */

static bool found; /* an interpreter that can be asked */
/* Numbers of windows: the last one that they are for, the one that ours are in place for
 * (0: they are not), and the last in which another tool took them away. */
static _Atomic uint64_t tried, placed, lost;

void objects_prepare(const struct allocator *ours, struct allocator *next)
{
	found = allocators_prepare(ours, next);
}

bool objects_missing(uint64_t cycle)
{
	return found && cycle &&
	       cycle != atomic_load_explicit(&tried, memory_order_relaxed);
}

/* ---- a window begins ---- */

static void say_left_out(const char *why)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		log_warn("Python's small objects are not recorded: %s", why);
}

static void put_back(void)
{
	atomic_store(&placed, 0);
	allocators_put_back();
}

/* Ours may be there still: the window before ends now, or a tool has put back what it had
 * found. NULL: they are; or why not. */
static const char *put_in_place(uint64_t number)
{
	uint64_t before = atomic_load(&placed);
	const char *why;

	if (before && !allocators_reach_ours())
		atomic_store(&lost, before);
	/* From here on objects_idle leaves them there. */
	atomic_store(&placed, number);
	why = allocators_are_ours() ? NULL : allocators_exchange();
	if (why)
		put_back();
	return why;
}

void objects_look(void)
{
	if (found && allocators_state() != ALLOCATORS_HIDDEN && !allocators_named() &&
	    check_holds_lock())
		allocators_find();
}

void objects_begin(struct cycle_info *info)
{
	enum allocators_state is = allocators_state();
	const char *why = "its allocators are not where they are expected";
	uint64_t since;

	if (!info || !objects_missing(info->number))
		return;
	if (is == ALLOCATORS_UNASKED && !check_holds_lock())
		return; /* who does comes by later */
	/* In the middle of an allocation. */
	if (is == ALLOCATORS_UNASKED && interpreter.layout->minor < LETS_GO)
		is = allocators_find();
	if (is == ALLOCATORS_UNASKED) {
		atomic_store(&info->python[PYTHON_UNSEEN], 1);
		return; /* objects_look comes later */
	}
	if (atomic_exchange(&tried, info->number) == info->number)
		return;
	since = info->begin;
	if (is == ALLOCATORS_FOUND && allocators_are_mallocs()) {
		why = NULL;
	} else if (is == ALLOCATORS_FOUND) {
		why = put_in_place(info->number);
		since = clock_ticks();
	}
	if (!why)
		atomic_store(&info->python[PYTHON_OBJECTS], since);
	/* What came before that is late by so much, and no more is said of it. */
	atomic_store(&info->python[PYTHON_UNSEEN], why != NULL);
	if (why)
		say_left_out(why);
}

/* The window may have ended meanwhile, and nobody would put back what was there. */
void objects_begin_late(struct cycle_info *info)
{
	objects_begin(info);
	if (info && !gate_cycle() && atomic_load(&placed) == info->number)
		put_back();
}

void objects_unseen(struct cycle_info *info)
{
	if (found && info && !atomic_load(&info->python[PYTHON_OBJECTS]) &&
	    allocators_used())
		atomic_store(&info->python[PYTHON_UNSEEN], 1);
}

/* ---- a window ends ---- */

/* A window may begin at this very moment in another thread: then its objects are taken
 * for exchanged ones, and left out. */
void objects_idle(const struct allocator *ours)
{
	if (!atomic_load(&placed) && !gate_cycle() && allocators_is_there(ours))
		allocators_put_back();
}

/* The next window may be open already. */
void objects_leave(struct cycle_info *info)
{
	if (!found || !info || !atomic_load(&info->python[PYTHON_OBJECTS]))
		return;
	if (atomic_load(&lost) == info->number ||
	    (atomic_load(&placed) == info->number && !allocators_reach_ours()))
		atomic_store(&info->python[PYTHON_EXCHANGED], 1);
}

void objects_ended(struct cycle_info *info)
{
	if (!found || !atomic_load(&info->python[PYTHON_OBJECTS]))
		return;
	objects_leave(info);
	if (atomic_load(&placed) && !gate_cycle())
		put_back();
}

void objects_fork_child(void)
{
	if (atomic_load(&placed))
		put_back();
	atomic_store(&tried, 0);
	atomic_store(&lost, 0);
}
