/* SPDX-License-Identifier: Apache-2.0 */
/* Of Python all six events of begins and ends: without those of generators and exceptions
 * calls would stay open. */
#include "agent/python/monitor.h"
#include "agent/core/gate.h"
#include "agent/python/c_events.h"
#include "agent/python/interpreter.h"
#include "agent/python/method.h"
#include "agent/python/told.h"
#include "agent/python/track.h"
#include "base/guard.h"

#define NO_TOOL   (-1)
#define LENGTH(a) (sizeof(a) / sizeof(*(a)))

static struct {
	void *(*system)(const char *name); /* borrowed */
	void *(*attribute)(void *object, const char *name);
	void *(*call)(void *object, const char *name, const char *format, ...);
	void *(*make)(struct method *method, void *self, void *module);
	long (*number)(void *number);
	void (*release)(void *object);
	void (*clear_error)(void);
	void (*fetch)(void **type, void **value, void **trace);
	void (*restore)(void *type, void *value, void *trace);
	void *none;
	const void *code_type;
} api;

static int tool = NO_TOOL;

static void end_tool(void);
static method_fast_call on_begin, on_end, on_c_begin, on_c_end;

static const struct event {
	const char *name;
	struct method method;
} events[] = {
	{ "PY_START", { "start", { .fast = on_begin }, METHOD_FAST, NULL } },
	{ "PY_RESUME", { "resume", { .fast = on_begin }, METHOD_FAST, NULL } },
	{ "PY_THROW", { "throw", { .fast = on_begin }, METHOD_FAST, NULL } },
	{ "PY_RETURN", { "return", { .fast = on_end }, METHOD_FAST, NULL } },
	{ "PY_YIELD", { "yield", { .fast = on_end }, METHOD_FAST, NULL } },
	{ "PY_UNWIND", { "unwind", { .fast = on_end }, METHOD_FAST, NULL } },
	{ "CALL", { "call", { .fast = on_c_begin }, METHOD_FAST, NULL } },
	{ "C_RETURN", { "c_return", { .fast = on_c_end }, METHOD_FAST, NULL } },
	{ "C_RAISE", { "c_raise", { .fast = on_c_end }, METHOD_FAST, NULL } },
};
#define OF_PYTHON 6 /* the first ones */
static long bits[LENGTH(events)]; /* of the events, as set_events takes them */

/* ---- events ---- */

/* The program can take our functions from register_callback, and call them with what it
 * likes. None lives for ever since 3.12. */
static inline void *tell_track(void (*what)(const void *of), void *const *args,
			       long count, long of)
{
	if (__builtin_expect(!gate_cycle() || !interpreter_on, 0))
		end_tool();
	else if (__builtin_expect(count > of && layout_at(args[0], LAYOUT_TYPE) ==
							api.code_type,
				  1))
		what(args[of]);
	return api.none;
}

static void *on_begin(void *self, void *const *args, long count)
{
	(void)self;
	return tell_track(track_begin, args, count, 0);
}

static void *on_end(void *self, void *const *args, long count)
{
	(void)self;
	return tell_track(track_end, args, count, 0);
}

/* What is called comes behind the code and the instruction. */
static void *on_c_begin(void *self, void *const *args, long count)
{
	(void)self;
	return tell_track(c_events_begin, args, count, 2);
}

static void *on_c_end(void *self, void *const *args, long count)
{
	(void)self;
	return tell_track(c_events_end, args, count, 2);
}

/* ---- the tool ---- */

/* C's returns and exceptions come with the event of its call, and are no events of their
 * own to set. */
static long wanted_bits(bool python, bool c)
{
	long all = c ? bits[OF_PYTHON] : 0;

	for (unsigned i = 0; python && i < OF_PYTHON; i++)
		all |= bits[i];
	return all;
}

static bool find_functions(void)
{
	static const struct interpreter_symbol symbols[] = {
		{ "PySys_GetObject", &api.system, false },
		{ "PyObject_GetAttrString", &api.attribute, false },
		{ "PyObject_CallMethod", &api.call, false },
		{ "PyCFunction_NewEx", &api.make, false },
		{ "PyLong_AsLong", &api.number, false },
		{ "Py_DecRef", &api.release, false },
		{ "PyErr_Clear", &api.clear_error, false },
		{ "PyErr_Fetch", &api.fetch, false },
		{ "PyErr_Restore", &api.restore, false },
		{ "PyCode_Type", &api.code_type, false },
		{ "_Py_NoneStruct", &api.none, false },
	};

	return api.none || interpreter_find(symbols, LENGTH(symbols));
}

/* Gives the result back; false: there was an exception, which is gone. */
static bool is_done(void *result)
{
	if (result)
		api.release(result);
	else
		api.clear_error();
	return result;
}

/* Fills `bits`. */
static bool find_bits(void *monitoring)
{
	void *names = api.attribute(monitoring, "events"), *number;
	bool found = names;

	for (unsigned i = 0; found && i < LENGTH(events); i++) {
		number = api.attribute(names, events[i].name);
		bits[i] = number ? api.number(number) : 0;
		found = is_done(number) && bits[i] > 0;
	}
	return is_done(names) && found;
}

/* 0, 1, 2 and 5 are those of debuggers, coverage, profilers and optimisers. */
static int take_number(void *monitoring)
{
	static const int numbers[] = { 4, 3, 1, 0 };

	for (unsigned i = 0; i < LENGTH(numbers); i++) {
		void *owner = api.call(monitoring, "get_tool", "i", numbers[i]);
		bool is_free = owner == api.none;

		if (is_done(owner) && is_free &&
		    is_done(api.call(monitoring, "use_tool_id", "is", numbers[i],
				     "proflaunch")))
			return numbers[i];
	}
	return NO_TOOL;
}

static bool set_functions(void *monitoring, bool on)
{
	bool done = true;

	for (unsigned i = 0; i < LENGTH(events); i++) {
		struct method *method = (struct method *)&events[i].method;
		void *function = on ? api.make(method, NULL, NULL) : api.none;

		done &= function && is_done(api.call(monitoring, "register_callback",
						     "ilO", tool, bits[i], function));
		if (on && function)
			api.release(function);
	}
	return done;
}

/* The end of a call is told by the instruction that has told its begin. */
static bool will_tell(const void *state, const void *row)
{
	(void)state;
	return c_events_are_in(row);
}

static bool has_changed(const void *state)
{
	(void)state;
	return true;
}

static void leave_tool(void *monitoring)
{
	told_leave();
	is_done(api.call(monitoring, "set_events", "il", tool, 0l));
	set_functions(monitoring, false);
	is_done(api.call(monitoring, "free_tool_id", "i", tool));
	tool = NO_TOOL;
}

static const char *begin_tool(void *monitoring, bool python, bool c)
{
	static const struct told_listener setter = { will_tell, has_changed };

	if (!monitoring || !find_bits(monitoring))
		return "it has no sys.monitoring";
	tool = take_number(monitoring);
	if (tool == NO_TOOL)
		return "other tools have all places of sys.monitoring";
	if (set_functions(monitoring, true) &&
	    is_done(api.call(monitoring, "set_events", "il", tool,
			     wanted_bits(python, c)))) {
		if (c)
			told_watch(&setter);
		return NULL;
	}
	leave_tool(monitoring);
	return "sys.monitoring refused our functions";
}

/* Another interpreter may have begun since. */
static bool is_registered(void *monitoring)
{
	void *owner = monitoring ? api.call(monitoring, "get_tool", "i", tool) : NULL;
	bool named = owner && owner != api.none;

	return is_done(owner) && named;
}

const char *monitor_begin(bool python, bool c)
{
	const char *why = NULL;
	void *monitoring;

	if (!find_functions() || !c_events_find() || !told_find())
		return "the interpreter lacks functions that are needed";
	monitoring = api.system("monitoring");
	if (tool != NO_TOOL && !is_registered(monitoring))
		tool = NO_TOOL;
	if (tool == NO_TOOL)
		why = begin_tool(monitoring, python, c);
	if (why) /* what stands there may be anything, and events no numbers */
		api.clear_error();
	return why;
}

/* An exception may be on its way. */
static void end_tool(void)
{
	void *type, *value, *trace, *monitoring = api.system("monitoring");
	uintptr_t guard = guard_enter();

	api.fetch(&type, &value, &trace);
	if (tool != NO_TOOL && monitoring)
		leave_tool(monitoring);
	api.restore(type, value, trace);
	guard_leave(guard);
}
