/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter's own functions, called with its lock; a failure leaves no exception.
 */
#include "agent/python/goodbye.h"
#include "agent/core/gate.h"
#include "agent/core/thread.h"
#include "agent/python/interpreter.h"
#include "agent/python/method.h"
#include "base/sys.h"

static struct {
	void *(*modules)(void); /* borrowed, as what item gives */
	void *(*item)(void *dictionary, const char *key);
	void *(*attribute)(void *object, const char *name);
	void *(*call)(void *function, ...); /* ends with NULL */
	void *(*make)(struct method *method, void *self, void *module);
	void (*hold)(void *object), (*release)(void *object);
	void (*clear_error)(void);
	void *none, *builtin, *module;
} api;

#define CALLS 4
static void (*also[CALLS + 1])(void);

void goodbye_add(void (*call)(void))
{
	unsigned n = 0;

	while (n < CALLS - 1 && also[n])
		n++;
	also[n] = call;
}

static void *say_goodbye(void *self, void *argument)
{
	(void)self;
	(void)argument;
	for (unsigned i = 0; also[i]; i++)
		also[i]();
	interpreter_end();
	/* A fork's child that is not recorded has its parent's threads in the list. */
	if (atomic_load(&gate->alive)) {
		if (!sys_confined)
			gate_barrier();
		thread_let_leave();
	}
	api.hold(api.none);
	return api.none;
}

bool goodbye_find(void)
{
	static const struct interpreter_symbol functions[] = {
		{ "PyImport_GetModuleDict", &api.modules, false },
		{ "PyDict_GetItemString", &api.item, false },
		{ "PyObject_GetAttrString", &api.attribute, false },
		{ "PyObject_CallFunctionObjArgs", &api.call, false },
		{ "PyCFunction_NewEx", &api.make, false },
		{ "Py_IncRef", &api.hold, false },
		{ "Py_DecRef", &api.release, false },
		{ "PyErr_Clear", &api.clear_error, false },
		{ "_Py_NoneStruct", &api.none, false },
		{ "PyCFunction_Type", &api.builtin, false },
		{ "PyModule_Type", &api.module, false },
	};

	return interpreter_find(functions, sizeof(functions) / sizeof(*functions));
}

/* atexit.register, if the module has been imported, as torch's own imports do, and nobody
 * has put something else in its place: no code of the program's is to run here. */
static void *find_register(void)
{
	void *module = api.item(api.modules(), "atexit"), *found;

	if (!module || layout_at(module, LAYOUT_TYPE) != api.module)
		return NULL;
	found = api.attribute(module, "register");
	if (!found)
		api.clear_error();
	else if (layout_at(found, LAYOUT_TYPE) == api.builtin)
		return found;
	else
		api.release(found);
	return NULL;
}

void goodbye_ask(void)
{
	static struct method method = {
		"proflaunch", { say_goodbye }, METHOD_NONE, NULL
	};
	void *enter = find_register(), *function, *done = NULL;

	if (!enter)
		return;
	function = api.make(&method, NULL, NULL);
	if (function)
		done = api.call(enter, function, NULL);
	atomic_store(&interpreter_tells_end, done);
	if (!done)
		api.clear_error();
	api.release(enter);
	if (function)
		api.release(function);
	if (done)
		api.release(done);
}
