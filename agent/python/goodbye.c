/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter's own functions, called with its lock; a failure leaves no exception.
 */
#include "agent/python/goodbye.h"
#include "agent/core/gate.h"
#include "agent/core/thread.h"
#include "agent/hooks/hook.h"
#include "agent/python/interpreter.h"
#include "base/sys.h"

#include <dlfcn.h>
#include <string.h>

#define NO_ARGUMENTS 4 /* METH_NOARGS (Include/methodobject.h) */

struct method { /* PyMethodDef */
	const char *name;
	void *(*call)(void *self, void *arguments);
	int flags;
	const char *doc;
};

static struct {
	void *(*modules)(void); /* borrowed, as what item gives */
	void *(*item)(void *dictionary, const char *key);
	void *(*attribute)(void *object, const char *name);
	void *(*call)(void *function, ...); /* ends with NULL */
	void *(*make)(struct method *method, void *self, void *module);
	void (*hold)(void *object), (*release)(void *object);
	void (*clear_error)(void);
	void *none, *builtin;
} api;

static void *say_goodbye(void *self, void *arguments)
{
	(void)self;
	(void)arguments;
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

static bool find_api(void)
{
	static const struct {
		const char *name;
		void *to;
	} functions[] = {
		{ "PyImport_GetModuleDict", &api.modules },
		{ "PyDict_GetItemString", &api.item },
		{ "PyObject_GetAttrString", &api.attribute },
		{ "PyObject_CallFunctionObjArgs", &api.call },
		{ "PyCFunction_NewEx", &api.make },
		{ "Py_IncRef", &api.hold },
		{ "Py_DecRef", &api.release },
		{ "PyErr_Clear", &api.clear_error },
		{ "_Py_NoneStruct", &api.none },
		{ "PyCFunction_Type", &api.builtin },
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *found = hook_real_dlsym(RTLD_DEFAULT, functions[i].name);

		if (!found)
			return false;
		memcpy(functions[i].to, &found, sizeof(found));
	}
	return true;
}

/* atexit.register, if the module has been imported, as torch's own imports do, and nobody
 * has put something else in its place: no code of the program's is to run here. */
static void *find_register(void)
{
	void *module = api.item(api.modules(), "atexit");
	void *found = module ? api.attribute(module, "register") : NULL;

	if (!found || layout_at(found, LAYOUT_TYPE) == api.builtin)
		return found;
	api.release(found);
	return NULL;
}

void goodbye_ask(void)
{
	static struct method method = { "proflaunch", say_goodbye, NO_ARGUMENTS, NULL };
	void *enter = find_api() ? find_register() : NULL, *function, *done = NULL;

	if (!enter)
		return;
	function = api.make(&method, NULL, NULL);
	if (function)
		done = api.call(enter, function, NULL);
	if (!done)
		api.clear_error();
	api.release(enter);
	if (function)
		api.release(function);
	if (done)
		api.release(done);
}
