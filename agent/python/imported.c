/* SPDX-License-Identifier: Apache-2.0 */
/* sys.modules is a dictionary by name, and so is what a module has. */
#include "agent/python/imported.h"
#include "agent/python/interpreter.h"

static struct {
	void *(*modules)(void); /* borrowed */
	void *(*item)(void *dict, const char *key); /* borrowed */
	void *(*contents)(void *module); /* borrowed */
	void *(*get)(void *dict, void *key); /* borrowed */
	const void *module_type;
} api;

bool imported_find(void)
{
	static const struct interpreter_symbol symbols[] = {
		{ "PyImport_GetModuleDict", &api.modules, false },
		{ "PyDict_GetItemString", &api.item, false },
		{ "PyDict_GetItem", &api.get, false },
		{ "PyModule_GetDict", &api.contents, false },
		{ "PyModule_Type", &api.module_type, false },
	};

	return interpreter_find(symbols, sizeof(symbols) / sizeof(*symbols));
}

void *imported_item(const char *module, const char *name)
{
	void *in = api.item(api.modules(), module);
	void *contents = in && layout_at(in, LAYOUT_TYPE) == api.module_type
				 ? api.contents(in)
				 : NULL;

	return contents ? api.item(contents, name) : NULL;
}

bool imported_is(void *module)
{
	return api.get(api.modules(), module);
}
