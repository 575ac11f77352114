/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that begins has no profile function: threading's own first function is called
 * through us while a window is open, and the importer's until threading is there. */
#include "agent/python/profile.h"
#include "agent/core/gate.h"
#include "agent/python/c_events.h"
#include "agent/python/check.h"
#include "agent/python/imported.h"
#include "agent/python/interpreter.h"
#include "agent/python/last.h"
#include "agent/python/paths.h"
#include "agent/python/slot.h"
#include "agent/python/told.h"
#include "agent/python/track.h"
#include "base/sys.h"

#include <string.h>

static struct {
	void *(*interpreter)(void);
	void *(*first)(void *interpreter), *(*next)(void *state);
} api;

static struct slot begins, imports;
static bool of_python, of_c; /* what is wanted: stays as it is */

/* ---- a thread's state ---- */

/* PyThreadState (Include/cpython/pystate.h of 3.8 to 3.11). What the interpreter's own
 * function for it does is done here: that one asks the program's audit hooks, which may
 * raise, and let the lock go, so that the states of other threads go away. */
enum {
	STATE_TRACING = 44, /* it is in a profile function */
	STATE_TRACED = 48, /* are there any? In 3.10 and later where that is */
	STATE_TRACED_311 = 56,
	NEXT_FUNCTION = 8, /* from there: the trace function */
};

/* Does what is there say of functions what is right? */
static bool is_as_expected(const void *state)
{
	unsigned minor = interpreter.layout->minor;
	bool any = told_of(state) || layout_at(state, told_at() + NEXT_FUNCTION);
	const void *traced = minor < 10    ? (const char *)state + STATE_TRACED
			     : minor == 10 ? layout_at(state, STATE_TRACED)
					   : layout_at(state, STATE_TRACED_311);

	if (minor >= 10 && !sys_can_read(traced))
		return false;
	return layout_word(state, STATE_TRACING) ||
	       any == (minor < 11 ? layout_word(traced, 0) != 0
				  : *(const uint8_t *)traced != 0);
}

/* While the thread is in a profile function the interpreter looks again behind it. */
static void turn_on(void *state)
{
	char *traced = (char *)state + STATE_TRACED;
	int on = 1;

	if (layout_word(state, STATE_TRACING))
		return;
	if (interpreter.layout->minor == 11)
		*(uint8_t *)(uintptr_t)layout_at(state, STATE_TRACED_311) = 255;
	else if (interpreter.layout->minor == 10)
		memcpy((void *)(uintptr_t)layout_at(state, STATE_TRACED), &on,
		       sizeof(on));
	else
		memcpy(traced, &on, sizeof(on));
}

/* ---- events ---- */

static int on_event(void *self, void *frame, int what, void *argument)
{
	(void)self, (void)frame;
	if (__builtin_expect(!gate_cycle() || !interpreter_on, 0))
		told_put(interpreter.thread_state(), NULL);
	else if (what == TOLD_CALL && of_python)
		track_begin(NULL);
	else if (what == TOLD_RETURN && of_python)
		track_end(NULL);
	else if (what == TOLD_C_CALL && of_c)
		c_events_begin(argument);
	else if (what >= TOLD_C_EXCEPTION && what <= TOLD_C_RETURN && of_c)
		c_events_end(argument);
	return 0;
}

static bool is_ours(const void *state)
{
	return told_of(state) == on_event;
}

/* False: another tool is told of its calls. */
static bool take_thread(void *state)
{
	if (!told_of(state)) {
		told_put(state, on_event);
		turn_on(state);
	}
	return is_ours(state);
}

/* ---- sys.setprofile ---- */

static bool will_tell(const void *state, const void *row)
{
	(void)row;
	return is_ours(state);
}

/* Another function took the place of ours. */
static bool has_changed(const void *state)
{
	bool changed = !is_ours(state);

	if (changed)
		track_leave();
	return changed;
}

static const struct told_listener setter = { will_tell, has_changed };

/* ---- threads ---- */

void profile_check(void)
{
	const void *state = interpreter.thread_state();

	if (state && !is_ours(state) && gate_cycle())
		track_leave();
}

static void *on_bootstrap(void *function, void *const *args, size_t count, void *names)
{
	if (gate_cycle() && interpreter_on && !take_thread(interpreter.thread_state()))
		last_count(PYTHON_AWAY);
	return slot_next(&begins)(function, args, count, names);
}

/* False: the module is not imported yet. */
static bool find_bootstrap(void)
{
	const void *type = imported_item("threading", "Thread");
	void *first = type ? paths_attribute(type, "_bootstrap") : NULL;

	if (first && (begins.at || !slot_find(&begins, first, on_bootstrap)))
		slot_set(&begins);
	return first;
}

static void *on_import(void *function, void *const *args, size_t count, void *names)
{
	void *result = slot_next(&imports)(function, args, count, names);

	if (result && gate_cycle() && check_holds_lock() && find_bootstrap())
		slot_unset(&imports);
	return result;
}

static void watch_begins(void)
{
	void *import;

	if (find_bootstrap())
		return;
	import = imported_item("_frozen_importlib", "_find_and_load");
	if (import && (imports.at || !slot_find(&imports, import, on_import)))
		slot_set(&imports);
}

static bool find_functions(void)
{
	static const struct interpreter_symbol symbols[] = {
		{ "PyInterpreterState_Main", &api.interpreter, false },
		{ "PyInterpreterState_ThreadHead", &api.first, false },
		{ "PyThreadState_Next", &api.next, false },
	};

	return api.next || interpreter_find(symbols, sizeof(symbols) / sizeof(*symbols));
}

const char *profile_begin(bool python, bool c)
{
	void *state;

	of_python = python;
	of_c = c;
	if (!find_functions() || !imported_find() || !paths_find() || !c_events_find() ||
	    !told_find())
		return "the interpreter lacks functions that are needed";
	for (state = api.first(api.interpreter()); state; state = api.next(state))
		if (!is_as_expected(state))
			return "its threads are laid out in another way than expected";
	for (state = api.first(api.interpreter()); state; state = api.next(state))
		if (!take_thread(state))
			last_count(PYTHON_AWAY);
	told_watch(&setter);
	watch_begins();
	return NULL;
}

void profile_end(void)
{
	slot_unset(&imports);
	slot_unset(&begins);
	told_leave();
}
