/* SPDX-License-Identifier: Apache-2.0 */
/* Each kind is seen in its own way; what two of them ask the interpreter for is asked at
 * the same moment (wish.h). The third needs nobody. */
#include "agent/python/pauses.h"
#include "agent/core/emit.h"
#include "agent/python/collector.h"
#include "agent/python/imports.h"
#include "agent/python/interpreter.h"
#include "agent/python/lock_wait.h"
#include "agent/python/wish.h"
#include "base/log.h"
#include "base/sys.h"

#include <stdatomic.h>

#define ASKED (PAUSES_GC | PAUSES_IMPORT)

static _Atomic unsigned wanted; /* and not refused yet */
static _Atomic bool waits_seen;

static void leave_kind(unsigned kind, const char *what, const char *why)
{
	atomic_fetch_and(&wanted, ~kind);
	log_warn("%s are not recorded: %s", what, why);
}

/* A window is open, or has just ended. */
static void begin_kinds(void)
{
	const char *why;

	if (wanted & PAUSES_GC && (why = collector_begin()))
		leave_kind(PAUSES_GC, "Python's garbage collections", why);
	if (wanted & PAUSES_IMPORT && (why = imports_begin()))
		leave_kind(PAUSES_IMPORT, "Python's imports", why);
	if (wanted & ASKED)
		wish_note(PYTHON_EVENTS);
}

static void end_kinds(void)
{
	collector_end();
	imports_end();
}

void pauses_want(unsigned which)
{
	atomic_store(&wanted, which);
	if (which & ASKED)
		wish_add(begin_kinds, end_kinds);
}

/* Behind a seccomp filter a read-only page may not be opened. */
void pauses_found(void)
{
	const char *why;

	if (!(wanted & PAUSES_GIL) || waits_seen || sys_confined || !interpreter.layout)
		return;
	why = lock_wait_start();
	if (why)
		leave_kind(PAUSES_GIL, "waits for Python's lock", why);
	else
		atomic_store(&waits_seen, true);
}

/* Where the last window's end has not been asked for yet, what it had goes on. */
static void note_going_on(struct cycle_info *info)
{
	uint64_t none = 0;

	if (wanted & PAUSES_GC && collector_is_there())
		atomic_compare_exchange_strong(&info->python[PYTHON_EVENTS], &none,
					       info->begin);
	if (waits_seen)
		atomic_store(&info->python[PYTHON_LOCK], 1);
}

void pauses_opened(void)
{
	struct thread *t = wanted ? emit_enter(REC_NONE) : NULL;

	if (!t)
		return;
	note_going_on(emit_info());
	emit_leave(t);
	if (wanted & PAUSES_IMPORT)
		imports_opened();
}

static void say_missing(const struct cycle_info *info)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (wanted & ASKED &&
	    !atomic_load(&((struct cycle_info *)info)->python[PYTHON_EVENTS]) &&
	    !atomic_flag_test_and_set(&said))
		log_warn("a window without Python's garbage collections and imports: no "
			 "thread that could ask for them came by (up to 3.12 a window "
			 "that begins by the clock waits for an operator of PyTorch)");
}

/* The next window may be open already. */
void pauses_ended(struct cycle_info *info, bool kept)
{
	if (!gate_cycle())
		imports_closed();
	if ((kept || info->flags & CYCLE_TIMED) &&
	    (atomic_load(&interpreter_on) || interpreter_ended()))
		say_missing(info);
}

void pauses_fork_child(void)
{
	collector_fork_child();
	lock_wait_fork_child();
	imports_closed();
}
