/* SPDX-License-Identifier: Apache-2.0 */
/* Up to 3.11 each thread has a profile function, later the interpreter has tools of
 * sys.monitoring: profile.h and monitor.h. */
#include "agent/python/functions.h"
#include "agent/core/emit.h"
#include "agent/python/goodbye.h"
#include "agent/python/interpreter.h"
#include "agent/python/monitor.h"
#include "base/log.h"

#include <stdatomic.h>

#define MONITORED 12 /* since 3.12 */

enum state { UNWANTED, WANTED, LEFT };
static _Atomic int state; /* enum state */
static bool of_python, of_c;

/* Of which functions calls are wanted, for a line. */
static const char *wanted_kind(void)
{
	return !of_c ? "Python functions" : of_python ? "functions" : "C functions";
}

/* The interpreter ends: its main thread has come to the end of what it does. */
static void check_last(void)
{
	if (wish_now & WISH_CHECK)
		profile_check();
}

static void leave_functions(const char *why)
{
	atomic_store(&state, LEFT);
	log_warn("calls of %s are not recorded: %s", wanted_kind(), why);
}

/* A window is open, and this thread holds the lock. */
static void ask_now(void)
{
	const char *why;

	if (atomic_load(&state) != WANTED)
		return;
	why = interpreter.layout->minor < MONITORED ? profile_begin(of_python, of_c)
						    : monitor_begin(of_python, of_c);
	if (why) {
		leave_functions(why);
		return;
	}
	if (interpreter.layout->minor < MONITORED)
		atomic_fetch_or(&wish_now, WISH_CHECK);
	if (of_python)
		wish_note(PYTHON_FUNCTIONS);
	if (of_c)
		wish_note(PYTHON_C_CALLS);
}

void functions_want(bool python, bool c)
{
	of_python = python;
	of_c = c;
	atomic_store(&state, WANTED);
	goodbye_add(check_last);
	wish_add(ask_now, NULL);
}

static void say_missing(struct cycle_info *info)
{
	static atomic_flag said = ATOMIC_FLAG_INIT, said_away = ATOMIC_FLAG_INIT;

	if (atomic_load(&info->python[PYTHON_AWAY]) &&
	    !atomic_flag_test_and_set(&said_away))
		log_warn("calls of %s are missing: another tool is told of a thread's "
			 "(cProfile, a debugger, coverage), and up to 3.11 only one can "
			 "be",
			 wanted_kind());
	if (!atomic_load(&info->python[of_python ? PYTHON_FUNCTIONS : PYTHON_C_CALLS]) &&
	    !atomic_flag_test_and_set(&said))
		log_warn("a window without calls of %s: no thread that could ask for "
			 "them came by (up to 3.12 a window that begins by the clock "
			 "waits for an operator of PyTorch)",
			 wanted_kind());
}

/* The next window may be open already. */
void functions_ended(struct cycle_info *info, bool kept)
{
	if (atomic_load(&state) != WANTED)
		return;
	if (!gate_cycle()) {
		atomic_fetch_and(&wish_now, ~WISH_CHECK);
		profile_end();
	}
	if ((kept || info->flags & CYCLE_TIMED) &&
	    (atomic_load(&interpreter_on) || interpreter_ended()))
		say_missing(info);
}

void functions_fork_child(void)
{
	atomic_fetch_and(&wish_now, ~WISH_CHECK);
	profile_end();
}
