/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list is asked of the module's own maker: a program that has never imported gc has
 * no module of that name afterwards either, and one that has put something else in the
 * attribute's place has the interpreter's list even so.
 */
#include "agent/python/collector.h"
#include "agent/core/clock.h"
#include "agent/core/gate.h"
#include "agent/python/interpreter.h"
#include "agent/python/method.h"
#include "agent/python/pause.h"
#include "agent/python/text.h"
#include "agent/python/wish.h"
#include "base/guard.h"

#include <string.h>

#define API_VERSION 1013 /* PYTHON_API_VERSION (Include/modsupport.h) */
#define LENGTH(a)   (sizeof(a) / sizeof(*(a)))

static struct {
	void *(*make_gc)(void); /* the module, or its definition (PEP 489) */
	void *(*module)(const char *name);
	int (*put_text)(void *module, const char *name, const char *value);
	void *(*from_definition)(void *definition, void *spec, int version);
	int (*execute)(void *module, void *definition);
	void *(*attribute)(void *object, const char *name);
	void *(*make)(struct method *method, void *self, void *module);
	int (*append)(void *list, void *object);
	long (*size)(void *list);
	void *(*item)(void *list, long i); /* borrowed */
	int (*set_slice)(void *list, long from, long to, void *with);
	void *(*text)(const char *utf8);
	void *(*get)(void *dictionary, void *key); /* borrowed */
	long (*number)(void *number);
	void *(*error)(void); /* borrowed */
	void (*clear_error)(void);
	void (*hold)(void *object), (*release)(void *object);
	void *none;
	const void *module_type, *list_type, *dict_type, *str_type, *int_type;
} api;

static void *list, *ours; /* gc.callbacks, and what we put there */
static void *generation, *collected, *uncollectable; /* keys */
static _Atomic bool there;
static __thread struct pause mine __attribute__((tls_model("initial-exec")));

/* ---- a collection ---- */

static bool is_exactly(const void *object, const void *type)
{
	return layout_at(object, LAYOUT_TYPE) == type;
}

/* 0 where it is not there: the program may call us with what it likes. */
static uint64_t number_of(void *info, void *key)
{
	void *number = api.get(info, key);
	long n = number && is_exactly(number, api.int_type) ? api.number(number) : 0;

	if (n == -1 && api.error())
		api.clear_error();
	return n > 0 ? (uint64_t)n : 0;
}

static void end_collection(void *info, uint64_t now)
{
	const struct pause_found found = {
		.collected = number_of(info, collected),
		.uncollectable = (uint32_t)number_of(info, uncollectable),
	};

	pause_end(&mine, now, &found);
	mine.record = NULL;
}

static void begin_collection(void *info)
{
	struct pause_cost cost = pause_cost_begin();

	pause_begin(&mine, PAUSE_GC, (uint32_t)number_of(info, generation));
	pause_cost_end(&cost, &mine);
}

static void note_phase(void *phase, void *info, uint64_t now)
{
	char text[8];
	size_t len = python_text(interpreter.layout, phase, text, sizeof(text));

	if (len == 5 && !memcmp(text, "start", 5))
		begin_collection(info);
	else if (len == 4 && !memcmp(text, "stop", 4) && mine.record)
		end_collection(info, now);
}

/* No window is open. Where ours is the last of the list it can go at once: the
 * interpreter goes through the list by its indices. Else it is asked to call us later. */
static void leave_list(void)
{
	long n = api.size(list);

	if (!interpreter_on || interpreter.finalizing())
		return;
	if (!n || api.item(list, n - 1) != ours)
		wish_ended();
	else if (api.set_slice(list, n - 1, n, NULL))
		api.clear_error();
	else
		atomic_store(&there, false);
}

/* The interpreter counts references to None up to 3.11. */
static void *on_phase(void *self, void *const *args, long count)
{
	uint64_t now = clock_ticks();
	uintptr_t guard = guard_enter();

	(void)self;
	if (!gate_cycle())
		leave_list();
	else if (interpreter_on && count == 2 && is_exactly(args[0], api.str_type) &&
		 is_exactly(args[1], api.dict_type))
		note_phase(args[0], args[1], now);
	guard_leave(guard);
	api.hold(api.none);
	return api.none;
}

/* ---- the list ---- */

static bool find_functions(void)
{
	static const struct interpreter_symbol symbols[] = {
		{ "PyInit_gc", &api.make_gc, false },
		{ "PyModule_New", &api.module, false },
		{ "PyModule_AddStringConstant", &api.put_text, false },
		{ "PyModule_FromDefAndSpec2", &api.from_definition, false },
		{ "PyModule_ExecDef", &api.execute, false },
		{ "PyObject_GetAttrString", &api.attribute, false },
		{ "PyCFunction_NewEx", &api.make, false },
		{ "PyList_Append", &api.append, false },
		{ "PyList_Size", &api.size, false },
		{ "PyList_GetItem", &api.item, false },
		{ "PyList_SetSlice", &api.set_slice, false },
		{ "PyUnicode_InternFromString", &api.text, false },
		{ "PyDict_GetItem", &api.get, false },
		{ "PyLong_AsLong", &api.number, false },
		{ "PyErr_Occurred", &api.error, false },
		{ "PyErr_Clear", &api.clear_error, false },
		{ "Py_IncRef", &api.hold, false },
		{ "Py_DecRef", &api.release, false },
		{ "_Py_NoneStruct", &api.none, false },
		{ "PyModule_Type", &api.module_type, false },
		{ "PyList_Type", &api.list_type, false },
		{ "PyDict_Type", &api.dict_type, false },
		{ "PyUnicode_Type", &api.str_type, false },
		{ "PyLong_Type", &api.int_type, false },
	};

	return api.int_type || interpreter_find(symbols, LENGTH(symbols));
}

/* A module of the definition, which no import gives a name: of its spec the interpreter
 * asks the attribute `name` alone. */
static void *make_module(void *definition)
{
	void *spec = api.module("spec"), *module = NULL;

	if (spec && !api.put_text(spec, "name", "gc"))
		module = api.from_definition(definition, spec, API_VERSION);
	if (module && api.execute(module, definition)) {
		api.release(module);
		module = NULL;
	}
	if (spec)
		api.release(spec);
	return module;
}

/* Up to 3.9 what makes the module gives it; later it gives a definition, which is the
 * interpreter's own and is not counted. */
static void *find_list(void)
{
	void *made = api.make_gc(), *found = NULL, *module;
	bool whole = made && is_exactly(made, api.module_type);

	module = !made || whole ? made : make_module(made);
	if (module) {
		found = api.attribute(module, "callbacks");
		api.release(module);
	}
	if (!found)
		api.clear_error();
	if (found && !is_exactly(found, api.list_type)) {
		api.release(found);
		found = NULL;
	}
	return found;
}

static const char *find_all(void)
{
	static struct method method = {
		"proflaunch", { .fast = on_phase }, METHOD_FAST, NULL
	};

	if (!find_functions())
		return "the interpreter lacks functions that are needed";
	generation = generation ? generation : api.text("generation");
	collected = collected ? collected : api.text("collected");
	uncollectable = uncollectable ? uncollectable : api.text("uncollectable");
	ours = ours ? ours : api.make(&method, NULL, NULL);
	if (!generation || !collected || !uncollectable || !ours) {
		api.clear_error();
		return "there is no memory";
	}
	list = find_list();
	return list ? NULL : "the interpreter has no gc.callbacks";
}

/* Where ours is; below 0: nowhere. */
static long find_ours(void)
{
	long i = api.size(list);

	while (i-- && api.item(list, i) != ours)
		;
	return i;
}

const char *collector_begin(void)
{
	const char *why = list ? NULL : find_all();

	if (why)
		return why;
	if (find_ours() < 0 && api.append(list, ours)) {
		api.clear_error();
		return "there is no memory";
	}
	atomic_store(&there, true);
	return NULL;
}

void collector_end(void)
{
	long i;

	while (list && (i = find_ours()) >= 0)
		if (api.set_slice(list, i, i + 1, NULL)) {
			api.clear_error();
			return;
		}
	atomic_store(&there, false);
}

bool collector_is_there(void)
{
	return atomic_load(&there);
}

void collector_fork_child(void)
{
	mine.record = NULL;
}
