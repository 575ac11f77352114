/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that begins has no profile function: threading's own first function is called
 * through us while a window is open, and the importer's until threading is there. */
#include "agent/python/profile.h"
#include "agent/core/gate.h"
#include "agent/python/check.h"
#include "agent/python/imported.h"
#include "agent/python/interpreter.h"
#include "agent/python/last.h"
#include "agent/python/paths.h"
#include "agent/python/slot.h"
#include "agent/python/track.h"

/* What a profile function is told (Include/cpython/pystate.h). */
enum { TOLD_CALL = 0, TOLD_RETURN = 3 };

typedef int profile_function(void *self, void *frame, int what, void *argument);

static struct {
	void (*set)(profile_function *to, void *self); /* the calling thread's */
	int (*set_of)(void *state, profile_function *to, void *self); /* since 3.9 */
	void *(*swap)(void *state);
	void *(*interpreter)(void);
	void *(*first)(void *interpreter), *(*next)(void *state);
} api;
static struct slot begins, imports;

static int on_event(void *self, void *frame, int what, void *argument)
{
	(void)self;
	(void)frame;
	(void)argument;
	if (__builtin_expect(!gate_cycle() || !interpreter_on, 0))
		api.set(NULL, NULL);
	else if (what == TOLD_CALL)
		track_begin();
	else if (what == TOLD_RETURN)
		track_end();
	return 0;
}

/* c_profilefunc of PyThreadState (Include/cpython/pystate.h). */
static const void *function_of(const void *state)
{
	return layout_at(state, interpreter.layout->minor < 11 ? 56 : 64);
}

/* 3.8 knows the calling thread's alone. */
static void set_function(void *state)
{
	void *mine;

	if (api.set_of) {
		api.set_of(state, on_event, NULL);
		return;
	}
	mine = api.swap(state);
	api.set(on_event, NULL);
	api.swap(mine);
}

static bool is_ours(const void *state)
{
	return function_of(state) == (const void *)(uintptr_t)on_event;
}

/* False: another tool is told of its calls. */
static bool take_thread(void *state)
{
	if (!function_of(state))
		set_function(state);
	return is_ours(state);
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
		{ "PyEval_SetProfile", &api.set, false },
		{ "_PyEval_SetProfile", &api.set_of, true },
		{ "PyThreadState_Swap", &api.swap, false },
		{ "PyInterpreterState_Main", &api.interpreter, false },
		{ "PyInterpreterState_ThreadHead", &api.first, false },
		{ "PyThreadState_Next", &api.next, false },
	};

	return api.next || interpreter_find(symbols, sizeof(symbols) / sizeof(*symbols));
}

/* The calling thread comes first: what is there afterwards says whether threads are laid
 * out as expected. */
const char *profile_begin(void)
{
	void *mine = interpreter.thread_state();
	unsigned away = 0;

	if (!find_functions() || !imported_find() || !paths_find())
		return "the interpreter lacks functions that are needed";
	if (!function_of(mine)) {
		set_function(mine);
		if (!is_ours(mine)) {
			api.set(NULL, NULL);
			return "its threads are laid out in another way than expected";
		}
	}
	for (void *state = api.first(api.interpreter()); state; state = api.next(state))
		away += !take_thread(state);
	watch_begins();
	while (away--)
		last_count(PYTHON_AWAY);
	return NULL;
}

void profile_end(void)
{
	slot_unset(&imports);
	slot_unset(&begins);
}
