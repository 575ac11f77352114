/* SPDX-License-Identifier: Apache-2.0 */
/* Py_AddPendingCall takes no lock but its list's own, and never the interpreter's. */
#include "agent/python/pending.h"
#include "agent/python/interpreter.h"
#include "base/sys.h"

#include <time.h>

/* Py_Version (Include/cpython/pylifecycle.h). */
#define COUNTS_SINCE 0x030c0000ul
#define ANY_SINCE    0x030d0000ul /* those before forget a signal */
/* The call is made wherever the interpreter is, after so many looks, of which it makes 32
 * at each jump backwards, or so many ns. */
#define LOOKS   20000
#define LONGEST 100000000

static struct {
	int (*is_initialized)(void);
	int (*add)(int (*call)(void *), void *arg);
	const unsigned long *version;
	void *(*state)(void), *(*state_old)(void); /* of the lock's holder */
	void *(*frame)(void); /* borrowed */
	void *(*caller)(void *frame); /* a reference */
	void (*release)(void *object);
} api;

bool pending_find(void)
{
	static const struct interpreter_symbol functions[] = {
		{ "Py_IsInitialized", &api.is_initialized, false },
		{ "Py_AddPendingCall", &api.add, false },
		{ "Py_Version", &api.version, true },
		{ "PyThreadState_GetUnchecked", &api.state, true },
		{ "_PyThreadState_UncheckedGet", &api.state_old, true },
		{ "PyEval_GetFrame", &api.frame, true },
		{ "PyFrame_GetBack", &api.caller, true },
		{ "Py_DecRef", &api.release, true },
	};

	return interpreter_find(functions, sizeof(functions) / sizeof(*functions));
}

bool pending_ready(void)
{
	return api.is_initialized && api.add && api.is_initialized();
}

bool pending_add(int (*call)(void *arg))
{
	return pending_ready() && sys_tid() == sys_pid() && !api.add(call, NULL);
}

bool pending_add_any(int (*call)(void *arg))
{
	bool any = api.version && *api.version >= ANY_SINCE;

	return any ? pending_ready() && !api.add(call, NULL) : pending_add(call);
}

bool pending_counts_threads(void)
{
	return api.version && *api.version >= COUNTS_SINCE && pending_ready();
}

/* ---- after a function of C ---- */

static int (*after_call)(void *arg);
/* Compared alone: the frame that called it, and the innermost one at the last look. */
static const void *after_frame, *after_seen;
static int64_t after_until;
static unsigned after_looks;

static bool holds_lock(void)
{
	void *(*state)(void) = api.state ? api.state : api.state_old;

	return state && api.frame && api.caller && api.release && state();
}

/* Is the frame a caller of the innermost one? One that was is still: all but the first
 * look into a loop cost little. */
static bool is_caller(const void *frame)
{
	void *at = api.frame(), *next;
	bool found = at == after_seen;

	if (found)
		return at != frame;
	after_seen = at;
	for (at = at ? api.caller(at) : NULL; at; at = next) {
		found |= at == frame;
		next = found ? NULL : api.caller(at);
		api.release(at);
	}
	return found;
}

static int call_if_returned(void *arg)
{
	if (after_looks++ < LOOKS && sys_clock_ns(CLOCK_MONOTONIC) < after_until &&
	    is_caller(after_frame) && !api.add(call_if_returned, NULL))
		return 0;
	return after_call(arg);
}

bool pending_after(int (*call)(void *arg))
{
	if (!holds_lock())
		return false;
	after_call = call;
	after_frame = api.frame();
	if (!after_frame)
		return false;
	after_seen = after_frame;
	after_looks = 0;
	after_until = sys_clock_ns(CLOCK_MONOTONIC) + LONGEST;
	return pending_add(call_if_returned);
}
