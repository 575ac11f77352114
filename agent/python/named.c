/* SPDX-License-Identifier: Apache-2.0 */
/* The longest beginning of the name that is a module's comes first, then the script. */
#include "agent/python/named.h"
#include "agent/python/interpreter.h"
#include "agent/python/kin.h"
#include "agent/python/text.h"
#include "base/fmt.h"
#include "base/near.h"

#include <stdint.h>
#include <string.h>

#define PARTS 16 /* of a name */
#define WRAPS 8 /* around a function */
#define TEXT  256
/* CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR */
#define IS_MAKER (0x20 | 0x80 | 0x200)

static struct {
	void *(*modules)(void); /* borrowed, as what the next five give */
	void *(*item)(void *dictionary, void *key);
	void *(*contents)(void *module);
	void *(*lookup)(void *type, void *name);
	void *(*code)(void *function);
	void *(*closure)(void *function);
	void *(*intern)(const char *text);
	void *(*attribute)(const void *object, const char *name);
	long (*number)(void *number), (*size)(void *dictionary);
	int (*next)(void *dictionary, long *at, void **key, void **value);
	int (*subtype)(const void *type, const void *of);
	unsigned long (*flags)(const void *type);
	void (*release)(void *object);
	void (*clear_error)(void);
	void *function, *module, *str;
	void *static_method, *class_method, *method, *property;
} api;

static struct {
	const char *text;
	unsigned n;
	void *part[PARTS], *prefix[PARTS]; /* prefix[i]: the first i parts */
	void *script, *file; /* "__main__", "__file__" */
	const void *code; /* of the function that was found */
	unsigned script_parts; /* the first ones that are what the script is called */
} name;

/* Where the last look ended: what has no such part, what was found instead. */
static struct stuck {
	void *in;
	unsigned part;
	bool script;
	char type[64];
} stuck;

bool named_find(void)
{
	static const struct interpreter_symbol symbols[] = {
		{ "PyImport_GetModuleDict", &api.modules, false },
		{ "PyDict_GetItemWithError", &api.item, false },
		{ "PyModule_GetDict", &api.contents, false },
		{ "_PyType_Lookup", &api.lookup, false },
		{ "PyFunction_GetCode", &api.code, false },
		{ "PyFunction_GetClosure", &api.closure, false },
		{ "PyUnicode_InternFromString", &api.intern, false },
		{ "PyObject_GetAttrString", &api.attribute, false },
		{ "PyLong_AsLong", &api.number, false },
		{ "PyDict_Size", &api.size, false },
		{ "PyDict_Next", &api.next, false },
		{ "PyType_IsSubtype", &api.subtype, false },
		{ "PyType_GetFlags", &api.flags, false },
		{ "Py_DecRef", &api.release, false },
		{ "PyErr_Clear", &api.clear_error, false },
		{ "PyFunction_Type", &api.function, false },
		{ "PyModule_Type", &api.module, false },
		{ "PyUnicode_Type", &api.str, false },
		{ "PyStaticMethod_Type", &api.static_method, false },
		{ "PyClassMethod_Type", &api.class_method, false },
		{ "PyMethod_Type", &api.method, false },
		{ "PyProperty_Type", &api.property, false },
	};

	return interpreter_find(symbols, sizeof(symbols) / sizeof(*symbols));
}

/* NULL where there is no memory for it. */
static void *keep_text(const char *text, size_t len)
{
	char copy[1024];
	void *kept;

	fmt(copy, sizeof(copy), "%.*s", (int)len, text);
	kept = api.intern(copy);
	if (!kept)
		api.clear_error();
	return kept;
}

bool named_start(const char *text)
{
	const char *at = text;
	bool all = (name.script = keep_text("__main__", 8)) &&
		   (name.file = keep_text("__file__", 8));

	name.text = text;
	for (name.n = 0; all && name.n < PARTS; at++) {
		size_t len = strcspn(at, ".");

		name.prefix[name.n] =
			keep_text(text, name.n ? (size_t)(at - 1 - text) : 0);
		name.part[name.n] = keep_text(at, len);
		all = name.prefix[name.n] && name.part[name.n];
		name.n++;
		at += len;
		if (!*at)
			return all;
	}
	return false;
}

/* ---- by dictionaries ---- */

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

static bool is_module(const void *object)
{
	return api.subtype(type_of(object), api.module);
}

static void *class_of(void *object)
{
	return api.flags(type_of(object)) & LAYOUT_IS_TYPE ? object
							   : (void *)type_of(object);
}

/* What a module's dictionary has by that name, or those of a class and of what it
 * inherits from; of any other object its class is asked. */
static void *member_of(void *object, void *key)
{
	void *found;

	if (is_module(object))
		return item_of(api.contents(object), key);
	found = api.lookup(class_of(object), key);
	if (!found)
		api.clear_error();
	return found;
}

static void *follow_from(void *object, unsigned part)
{
	void *found = object;

	for (; found && part < name.n; part++) {
		stuck.in = found;
		stuck.part = part;
		found = member_of(found, name.part[part]);
	}
	return found;
}

/* ---- the script ---- */

static void *script_of(void)
{
	void *main = item_of(api.modules(), name.script);

	return main && is_module(main) ? main : NULL;
}

long named_script_size(void)
{
	void *main = script_of();

	return main ? api.size(api.contents(main)) : 0;
}

/* `python pkg/train.py` and `python -m pkg.train` run what a user calls train, or
 * pkg.train. */
static bool is_called(void *script, unsigned parts)
{
	void *file = item_of(api.contents(script), name.file);
	char path[1024], *at;
	size_t len, want = 0;

	if (!file || type_of(file) != api.str)
		return false;
	len = python_text(interpreter.layout, file, path, sizeof(path) - 1);
	path[len] = 0;
	if (len > 3 && !strcmp(path + len - 3, ".py"))
		path[len -= 3] = 0;
	if (len > 9 && !strcmp(path + len - 9, "/__main__"))
		path[len -= 9] = 0;
	for (unsigned i = 0; i < parts; i++)
		want += strcspn(name.text + want, ".") + 1;
	want--;
	if (want > len || (want < len && path[len - want - 1] != '/'))
		return false;
	at = path + len - want;
	for (size_t i = 0; i < want; i++)
		if (at[i] != (name.text[i] == '.' ? '/' : name.text[i]))
			return false;
	return true;
}

static void *find_in_script(void)
{
	void *script = script_of(), *found;

	if (!script)
		return NULL;
	/* The interpreter forgets the file's name when it has executed it. */
	for (unsigned n = name.n - 1; n && !name.script_parts; n--)
		name.script_parts = is_called(script, n) ? n : 0;
	stuck.script |= name.script_parts;
	if (name.script_parts)
		return follow_from(script, name.script_parts);
	found = item_of(api.contents(script), name.part[0]);
	/* A name of one part can be nobody else's. */
	if (!found && name.n > 1)
		return NULL;
	stuck.script = true;
	return follow_from(script, 0);
}

/* ---- what was found ---- */

/* The attribute by which a wrapper of C's has the function that it calls. Only a type of
 * C's has a dot in its name. */
static const char *wrapped_by(const void *type)
{
	const char *called = layout_at(type, LAYOUT_NAME);

	if (type == api.static_method || type == api.class_method || type == api.method)
		return "__func__";
	if (type == api.property)
		return "fget";
	if (!strcmp(called, "functools.partial"))
		return "func";
	return strcmp(called, "functools._lru_cache_wrapper") ? NULL : "__wrapped__";
}

static void *unwrap_all(void *object)
{
	const char *by;

	for (unsigned i = 0; i < WRAPS && (by = wrapped_by(type_of(object))); i++) {
		void *inner = api.attribute(object, by);

		if (!inner) {
			api.clear_error();
			break;
		}
		api.release(inner); /* the wrapper has it still */
		object = inner;
	}
	return object;
}

static bool is_function(const void *object)
{
	return type_of(object) == api.function || kin_is_type(type_of(object));
}

static bool is_maker(void *function)
{
	void *flags = api.attribute(api.code(function), "co_flags");
	long value = flags ? api.number(flags) : 0;

	if (flags)
		api.release(flags);
	else
		api.clear_error();
	return value & IS_MAKER;
}

void *named_look(enum named *how)
{
	void *found = NULL, *module;
	struct stuck first;

	stuck.in = NULL;
	stuck.script = false;
	for (unsigned n = name.n - 1; n && !found; n--)
		if ((module = item_of(api.modules(), name.prefix[n]))) {
			found = follow_from(module, n);
			break;
		}
	first = stuck;
	if (!found)
		found = find_in_script();
	/* What the script has by the module's name is that module, as a rule. */
	if (first.in && !name.script_parts)
		stuck = first;
	*how = stuck.in ? NAMED_NO_NAME : NAMED_NO_MODULE;
	if (!found)
		return NULL;
	found = unwrap_all(found);
	*how = NAMED_OTHER;
	fmt(stuck.type, sizeof(stuck.type), "%s",
	    (const char *)layout_at(type_of(found), LAYOUT_NAME));
	if (!is_function(found))
		return NULL;
	/* One of ours was judged before. */
	*how = type_of(found) == api.function && is_maker(found) ? NAMED_MAKER
								 : NAMED_FOUND;
	if (*how == NAMED_FOUND && type_of(found) == api.function)
		/* All that a decorator makes have the same. */
		name.code = api.closure(found) ? NULL : api.code(found);
	return *how == NAMED_FOUND ? found : NULL;
}

bool named_is_code(const void *code)
{
	return code && name.code == code;
}

/* ---- what to say ---- */

/* The name in `dictionary` that was meant, or "". */
static void find_nearest(void *dictionary, struct near *near, char *to, size_t size)
{
	char text[TEXT];
	void *key, *value;
	long at = 0;

	while (dictionary && api.next(dictionary, &at, &key, &value)) {
		if (type_of(key) != api.str)
			continue;
		text[python_text(interpreter.layout, key, text, sizeof(text) - 1)] = 0;
		near_try(near, text);
		if (near->best == text) {
			fmt(to, size, "%s", text);
			near->best = to;
		}
	}
}

static const char *name_meant(void)
{
	static char to[TEXT];
	char word[TEXT];
	struct near near;

	*to = 0;
	if (!stuck.in)
		return to;
	word[python_text(interpreter.layout, name.part[stuck.part], word,
			 sizeof(word) - 1)] = 0;
	near = near_begin(word);
	find_nearest(is_module(stuck.in)
			     ? api.contents(stuck.in)
			     : (void *)layout_at(class_of(stuck.in), LAYOUT_DICT),
		     &near, to, sizeof(to));
	return to;
}

const char *named_why(enum named how, bool with_near)
{
	static char why[1024];
	const char *dot = name.text ? strrchr(name.text, '.') : NULL;
	const char *near = with_near && how == NAMED_NO_NAME ? name_meant() : "";

	switch (how) {
	case NAMED_NO_MODULE:
		fmt(why, sizeof(why),
		    "no module %.*s was imported, and the script has no such name",
		    dot ? (int)(dot - name.text) : 0, name.text);
		break;
	case NAMED_NO_NAME:
		fmt(why, sizeof(why), "%s has no such function%s%s%s",
		    stuck.script ? "the script" : "the module",
		    *near ? " (did you mean " : "", near, *near ? "?)" : "");
		break;
	case NAMED_OTHER:
		fmt(why, sizeof(why), "that is no function of Python's, but of type %s",
		    stuck.type);
		break;
	case NAMED_MAKER:
		return "a call of it only makes a generator or a coroutine, so it ends no step";
	default:
		return "the function was never called";
	}
	return why;
}
