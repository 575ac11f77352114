/* SPDX-License-Identifier: Apache-2.0 */
/* sys.modules is gone through for each module that was asked for. */
#include "agent/python/c_roots.h"
#include "agent/python/c_tables.h"
#include "agent/python/interpreter.h"
#include "agent/python/text.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "base/seldom.h"

#define KNOWN      1024
#define KNOWN_NEAR 16 /* places that one may have */
static SELDOM struct {
	const void *module;
	long size;
} known[KNOWN];
#define PRIVATE 1024
static SELDOM struct later { /* modules with an underscore, behind the others */
	void *name, *module;
} later[PRIVATE];
static long seen; /* modules, when they were looked through */

static struct {
	void *(*modules)(void); /* borrowed, as what the next two give */
	void *(*item)(void *dict, const char *key);
	void *(*contents)(void *module);
	int (*next)(void *dict, long *at, void **key, void **value);
	long (*size)(void *dict);
	int (*subtype)(const void *type, const void *of);
	void (*retain)(void *object), (*release)(void *object);
	const void *str, *module;
} api;

bool c_roots_find(void)
{
	static const struct interpreter_symbol symbols[] = {
		{ "PyImport_GetModuleDict", &api.modules, false },
		{ "PyDict_GetItemString", &api.item, false },
		{ "PyModule_GetDict", &api.contents, false },
		{ "PyDict_Next", &api.next, false },
		{ "PyDict_Size", &api.size, false },
		{ "PyType_IsSubtype", &api.subtype, false },
		{ "Py_IncRef", &api.retain, false },
		{ "Py_DecRef", &api.release, false },
		{ "PyUnicode_Type", &api.str, false },
		{ "PyModule_Type", &api.module, false },
	};

	return c_tables_find() &&
	       interpreter_find(symbols, sizeof(symbols) / sizeof(*symbols));
}

static bool is_module(const void *object)
{
	const void *type = layout_at(object, LAYOUT_TYPE);

	return type == api.module || api.subtype(type, api.module);
}

/* A module that has as much as when it was looked at is not looked at again. */
static bool is_known(const void *module, long size)
{
	size_t i = hash_place((uintptr_t)module, KNOWN);

	for (unsigned n = 0; n < KNOWN_NEAR; n++, i = (i + 1) % KNOWN) {
		if (known[i].module && known[i].module != module)
			continue;
		if (known[i].module && known[i].size == size)
			return true;
		known[i].module = module;
		known[i].size = size;
		break;
	}
	return false;
}

/* Up to 3.10 one that was made and not begun (`__new__` alone) has no dictionary, and to
 * ask for the size of none is an exception. */
static void look_at(struct c_look *k, void *module)
{
	void *contents = api.contents(module);

	if (!contents || is_known(module, api.size(contents)))
		return;
	api.retain(module); /* c_tables.c says why */
	c_tables_add(k, module);
	api.release(module);
}

static void look_by_name(struct c_look *k, const void *name, void *module)
{
	k->len = python_text(interpreter.layout, name, k->name, C_NAME / 2);
	k->name[k->len] = '\0';
	look_at(k, module);
}

static bool is_named(const struct c_look *k, const void *name, bool *private)
{
	char text[C_NAME];
	size_t len;

	if (layout_at(name, LAYOUT_TYPE) != api.str)
		return false;
	len = python_text(interpreter.layout, name, text, sizeof(text) - 1);
	text[len] = '\0';
	*private = strstr(text, "._");
	return c_tables_below(text, len, k->root, k->root_len);
}

static void keep_later(unsigned i, void *name, void *module)
{
	api.retain(name);
	api.retain(module);
	later[i] = (struct later){ name, module };
}

/* The keys come first, for a thousand modules that are not meant lie all over memory. */
static void look_through(struct c_look *k)
{
	void *modules = api.modules(), *key, *value;
	unsigned n = 0;
	bool private;
	long at = 0;

	while (api.next(modules, &at, &key, &value)) {
		if (!is_named(k, key, &private) || !is_module(value))
			continue;
		if (private && n < PRIVATE)
			keep_later(n++, key, value);
		else
			look_by_name(k, key, value);
	}
	for (unsigned i = 0; i < n; i++) {
		look_by_name(k, later[i].name, later[i].module);
		api.release(later[i].name);
		api.release(later[i].module);
	}
}

static void look_at_root(struct c_look *k)
{
	void *module;

	k->len = (size_t)fmt(k->name, C_NAME / 2, "%.*s", (int)k->root_len, k->root);
	module = api.item(api.modules(), k->name);
	if (module && is_module(module))
		look_at(k, module);
}

static void look_at_roots(struct c_look *k, const char *modules)
{
	for (k->root = modules; *k->root;
	     k->root += k->root_len + (k->root[k->root_len] == ',')) {
		k->root_len = strcspn(k->root, ",");
		k->top_len = strcspn(k->root, ",.");
		if (k->root_len >= C_NAME / 2)
			continue;
		look_at_root(k);
		look_through(k);
	}
}

/* Up to 3.11 it may collect garbage, and the program's own code then imports, in this
 * thread or another: what that brings is for the next window. */
unsigned c_roots_look(const char *modules, bool objects_only)
{
	static bool looking, left_some;
	struct c_look k = { .objects_only = objects_only };

	left_some = looking;
	if (looking)
		return 0;
	looking = true;
	look_at_roots(&k, modules);
	looking = false;
	seen = left_some ? -1 : api.size(api.modules());
	return k.missed;
}

bool c_roots_grown(void)
{
	return api.size(api.modules()) != seen;
}

bool c_roots_have(const char *modules, const void *name)
{
	char text[C_NAME];
	size_t len, root;

	if (layout_at(name, LAYOUT_TYPE) != api.str)
		return false;
	len = python_text(interpreter.layout, name, text, sizeof(text));
	for (; *modules; modules += root + (modules[root] == ',')) {
		root = strcspn(modules, ",");
		if (c_tables_below(text, len, modules, root))
			return true;
	}
	return false;
}
