/* SPDX-License-Identifier: Apache-2.0 */
/* A lookup that fails may leave an exception, of a key that cannot be compared: it is
 * cleared. */
#include "agent/python/members.h"
#include "agent/python/interpreter.h"
#include "agent/python/text.h"
#include "base/fmt.h"
#include "base/near.h"

#define TEXT 256

static struct {
	void *(*modules)(void); /* borrowed, as what the next three give */
	void *(*item)(void *dictionary, void *key);
	void *(*contents)(void *module);
	void *(*lookup)(void *type, void *name);
	long (*size)(void *dictionary);
	int (*next)(void *dictionary, long *at, void **key, void **value);
	int (*subtype)(const void *type, const void *of);
	unsigned long (*flags)(const void *type);
	void (*clear_error)(void);
	void *module, *str;
} api;

bool members_find(void)
{
	static const struct interpreter_symbol symbols[] = {
		{ "PyImport_GetModuleDict", &api.modules, false },
		{ "PyDict_GetItemWithError", &api.item, false },
		{ "PyModule_GetDict", &api.contents, false },
		{ "_PyType_Lookup", &api.lookup, false },
		{ "PyDict_Size", &api.size, false },
		{ "PyDict_Next", &api.next, false },
		{ "PyType_IsSubtype", &api.subtype, false },
		{ "PyType_GetFlags", &api.flags, false },
		{ "PyErr_Clear", &api.clear_error, false },
		{ "PyModule_Type", &api.module, false },
		{ "PyUnicode_Type", &api.str, false },
	};

	return interpreter_find(symbols, sizeof(symbols) / sizeof(*symbols));
}

static const void *type_of(const void *object)
{
	return layout_at(object, LAYOUT_TYPE);
}

static void *item_of(void *dictionary, void *key)
{
	void *found = dictionary ? api.item(dictionary, key) : NULL;

	if (!found)
		api.clear_error();
	return found;
}

void *members_module(void *name)
{
	return item_of(api.modules(), name);
}

bool members_is_module(const void *object)
{
	return api.subtype(type_of(object), api.module);
}

void *members_item(void *module, void *name)
{
	return item_of(api.contents(module), name);
}

long members_count(void *module)
{
	return api.size(api.contents(module));
}

static void *class_of(void *object)
{
	return api.flags(type_of(object)) & LAYOUT_IS_TYPE ? object
							   : (void *)type_of(object);
}

void *members_of(void *object, void *name)
{
	void *found;

	if (members_is_module(object))
		return members_item(object, name);
	found = api.lookup(class_of(object), name);
	if (!found)
		api.clear_error();
	return found;
}

void members_meant(void *object, const char *word, char *to, size_t size)
{
	void *key, *value,
		*dictionary = members_is_module(object)
				      ? api.contents(object)
				      : (void *)layout_at(class_of(object), LAYOUT_DICT);
	struct near near = near_begin(word);
	char text[TEXT];
	long at = 0;

	*to = 0;
	while (dictionary && api.next(dictionary, &at, &key, &value)) {
		if (type_of(key) != api.str)
			continue;
		text[python_text(interpreter.layout, key, text, sizeof(text) - 1)] = 0;
		near_try(&near, text);
		if (near.best == text) {
			fmt(to, size, "%s", text);
			near.best = to;
		}
	}
}
