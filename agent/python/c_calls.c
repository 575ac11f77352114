/* SPDX-License-Identifier: Apache-2.0 */
/* Who imports a module of those that were asked for looks through it when that has
 * returned, and so is complete. */
#include "agent/python/c_calls.h"
#include "agent/core/gate.h"
#include "agent/core/rare.h"
#include "agent/python/c_place.h"
#include "agent/python/c_roots.h"
#include "agent/python/check.h"
#include "agent/python/goodbye.h"
#include "agent/python/importer.h"
#include "agent/python/interpreter.h"
#include "agent/python/wish.h"
#include "base/guard.h"
#include "base/log.h"

#include <stdatomic.h>

static const char *modules; /* NULL: nothing is wanted */
static enum { NEW, FINDING, LEFT } state; /* under the interpreter's lock */
static bool objects_only;
static _Atomic bool looked;
static unsigned missed;
static struct importer import;
static __thread unsigned importing; /* imports of those modules, within each other */

/* ---- found ---- */

static void look_through(void)
{
	struct rare rare;
	unsigned now;

	rare_begin(&rare);
	now = c_roots_look(modules, objects_only);
	missed = now > missed ? now : missed; /* some are met again */
	atomic_store(&looked, true);
	c_place_settle();
	rare_end(&rare);
	wish_note(PYTHON_C_CALLS);
}

static void look_guarded(void)
{
	uintptr_t guard = guard_enter();

	look_through();
	guard_leave(guard);
}

static void *on_import(void *function, void *const *args, size_t count, void *names)
{
	bool ours = SLOT_COUNT(count) && gate_cycle() && c_roots_have(modules, args[0]);
	void *result;

	importing += ours;
	result = slot_next(&import.slot)(function, args, count, names);
	importing -= ours;
	if (ours && !importing && result && gate_cycle() && check_holds_lock())
		look_guarded();
	return result;
}

static bool find_all(void)
{
	return c_roots_find() && importer_ready() && !importer_find(&import, on_import);
}

static bool watch_importer(void)
{
	if (!importer_watch(&import))
		return false;
	if (!gate_cycle())
		slot_unset(&import.slot);
	return true;
}

static void leave_importer(void)
{
	importer_leave(&import);
}

/* A window is open, and this thread holds the lock. */
static void look_now(void)
{
	if (state == NEW && !find_all()) {
		state = LEFT;
		log_warn("calls of C functions are not recorded: the interpreter lacks "
			 "functions that are needed");
	} else if (state == NEW) {
		state = FINDING;
	}
	if (state == FINDING && watch_importer() && !importing && c_roots_grown())
		look_through();
}

void c_calls_want(const char *list, bool only)
{
	objects_only = only;
	modules = list;
	goodbye_add(c_place_leave);
	wish_add(look_now, leave_importer);
}

/* ---- windows ---- */

void c_calls_opened(void)
{
	if (!atomic_load(&looked) || !gate_cycle())
		return;
	c_place_settle();
	wish_note(PYTHON_C_CALLS);
}

static void say_missing(const struct cycle_info *info)
{
	static atomic_flag said = ATOMIC_FLAG_INIT, said_missed = ATOMIC_FLAG_INIT;

	if (missed && !atomic_flag_test_and_set(&said_missed))
		log_warn(
			"calls of %u C functions or more are missing: %d can be watched, and "
			"none whose table is constant",
			missed, C_PLACES);
	if ((c_place_count() || objects_only) &&
	    atomic_load(&info->python[PYTHON_C_CALLS]))
		return;
	if (!atomic_flag_test_and_set(&said))
		log_warn("a window without calls of C functions: %s%s",
			 atomic_load(&looked) ? "no such function was imported: "
					      : "the interpreter could not be asked for ",
			 modules);
}

/* The next one may be open already. */
void c_calls_ended(const struct cycle_info *info, bool kept)
{
	if (!modules || !(atomic_load(&interpreter_on) || interpreter_ended()))
		return;
	if (atomic_load(&interpreter_on)) {
		c_place_settle();
		if (!gate_cycle())
			slot_unset(&import.slot);
	}
	if (kept)
		say_missing(info);
}

void c_calls_fork_child(void)
{
	if (!modules)
		return;
	c_place_fork_child();
	slot_unset(&import.slot);
}
