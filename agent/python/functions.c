/* SPDX-License-Identifier: Apache-2.0 */
/* Up to 3.11 each thread has a profile function, later the interpreter has tools of
 * sys.monitoring: profile.h and monitor.h. */
#include "agent/python/functions.h"
#include "agent/core/emit.h"
#include "agent/python/check.h"
#include "agent/python/goodbye.h"
#include "agent/python/interpreter.h"
#include "agent/python/monitor.h"
#include "agent/python/pending.h"
#include "base/guard.h"
#include "base/log.h"

#include <errno.h>
#include <stdatomic.h>

#define MONITORED 12 /* since 3.12 */

enum state { UNWANTED, WANTED, LEFT };
static _Atomic int state; /* enum state */
_Atomic int functions_wish;

/* The interpreter ends: its main thread has come to the end of what it does. */
static void check_last(void)
{
	if (functions_wish & FUNCTIONS_CHECK)
		profile_check();
}

void functions_want(void)
{
	atomic_store(&state, WANTED);
	goodbye_add(check_last);
}

static void note_begin(void)
{
	struct thread *t = emit_enter(REC_FUNCTION);
	struct cycle_info *info = t ? emit_info() : NULL;
	uint64_t none = 0;

	if (info)
		atomic_compare_exchange_strong(&info->python[PYTHON_FUNCTIONS], &none,
					       clock_ticks());
	if (t)
		emit_leave(t);
}

static void leave_functions(const char *why)
{
	atomic_store(&state, LEFT);
	log_warn("calls of Python functions are not recorded: %s", why);
}

static void ask_now(void)
{
	uintptr_t guard = guard_enter();
	const char *why =
		interpreter.layout->minor < MONITORED ? profile_begin() : monitor_begin();

	guard_leave(guard);
	if (why) {
		leave_functions(why);
		return;
	}
	if (interpreter.layout->minor < MONITORED)
		atomic_fetch_or(&functions_wish, FUNCTIONS_CHECK);
	note_begin();
}

void functions_look(void)
{
	int saved = errno;

	if (functions_wish & FUNCTIONS_ASK && atomic_load(&interpreter_on) &&
	    gate_cycle() && check_holds_lock() &&
	    atomic_fetch_and(&functions_wish, ~FUNCTIONS_ASK) & FUNCTIONS_ASK)
		ask_now();
	errno = saved;
}

static int look_pending(void *arg)
{
	(void)arg;
	functions_look();
	return 0;
}

void functions_opened(void)
{
	if (atomic_load(&state) != WANTED || !gate_cycle())
		return;
	atomic_fetch_or(&functions_wish, FUNCTIONS_ASK);
	if (atomic_load(&interpreter_on) && !interpreter.finalizing())
		pending_add_any(look_pending);
}

static void say_missing(struct cycle_info *info)
{
	static atomic_flag said = ATOMIC_FLAG_INIT, said_away = ATOMIC_FLAG_INIT;

	if (atomic_load(&info->python[PYTHON_AWAY]) &&
	    !atomic_flag_test_and_set(&said_away))
		log_warn("calls of Python functions are missing: another tool is told of "
			 "a thread's (cProfile, a debugger, coverage), and up to 3.11 "
			 "only one can be");
	if (!atomic_load(&info->python[PYTHON_FUNCTIONS]) &&
	    !atomic_flag_test_and_set(&said))
		log_warn("a window without calls of Python functions: no thread that "
			 "could ask for them came by (up to 3.12 a window that begins by "
			 "the clock waits for an operator of PyTorch)");
}

/* The next window may be open already. */
void functions_ended(struct cycle_info *info, bool kept)
{
	if (atomic_load(&state) != WANTED)
		return;
	if (!gate_cycle()) {
		atomic_store(&functions_wish, 0);
		profile_end();
	}
	if ((kept || info->flags & CYCLE_TIMED) &&
	    (atomic_load(&interpreter_on) || interpreter_ended()))
		say_missing(info);
}

void functions_fork_child(void)
{
	atomic_store(&functions_wish, 0);
	profile_end();
}
