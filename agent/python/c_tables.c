/* SPDX-License-Identifier: Apache-2.0 */
/* Of each thing in a module's dictionary its type says how Python calls it. */
#include "agent/python/c_tables.h"
#include "agent/python/c_place.h"
#include "agent/python/imported.h"
#include "agent/python/interpreter.h"
#include "agent/python/kin.h"
#include "agent/python/text.h"
#include "base/fmt.h"
#include "base/text.h"

#include <string.h>

/* Where things have what they are called by, the same in all versions
 * (Include/cpython/methodobject.h, descrobject.h, funcobject.h). */
enum {
	BUILTIN_TABLE = 16, /* of a module's function: its PyMethodDef ... */
	BUILTIN_SELF = 24,
	BUILTIN_MODULE = 32, /* ... and the name of its module */
	METHOD_TABLE = 40, /* of a type's method: its PyMethodDef */
	WRAPPED = 16, /* of a static method: what it wraps */
	TABLE_NAME = 0, /* of a PyMethodDef */
	TABLE_CALL = 8,
	SIZE = 32, /* of a type: how large its objects are */
};
#define IS_HEAP   (1ul << 9) /* Py_TPFLAGS_HEAPTYPE */
#define IS_CALLED (1ul << 11) /* Py_TPFLAGS_HAVE_VECTORCALL */

static struct {
	int (*next)(void *dict, long *at, void **key, void **value);
	void *(*contents)(void *module); /* borrowed */
	int (*subtype)(const void *type, const void *of);
	void *(*attribute)(void *object, void *name); /* without code of the program's */
	void *(*intern)(const char *text);
	void (*retain)(void *object), (*release)(void *object);
	void (*clear_error)(void);
	const void *str, *builtin, *method, *class_method;
	const void *static_method, *function, *bound;
} api;

static void *name_name; /* "__name__" */
bool c_tables_find(void)
{
	static const struct interpreter_symbol symbols[] = {
		{ "PyDict_Next", &api.next, false },
		{ "PyModule_GetDict", &api.contents, false },
		{ "PyType_IsSubtype", &api.subtype, false },
		{ "PyObject_GenericGetAttr", &api.attribute, false },
		{ "PyUnicode_InternFromString", &api.intern, false },
		{ "Py_IncRef", &api.retain, false },
		{ "Py_DecRef", &api.release, false },
		{ "PyErr_Clear", &api.clear_error, false },
		{ "PyUnicode_Type", &api.str, false },
		{ "PyCFunction_Type", &api.builtin, false },
		{ "PyMethodDescr_Type", &api.method, false },
		{ "PyClassMethodDescr_Type", &api.class_method, false },
		{ "PyStaticMethod_Type", &api.static_method, false },
		{ "PyFunction_Type", &api.function, false },
		{ "PyMethod_Type", &api.bound, false },
	};

	if (!interpreter_find(symbols, sizeof(symbols) / sizeof(*symbols)))
		return false;
	name_name = api.intern("__name__");
	if (!name_name)
		api.clear_error();
	return name_name;
}

/* ---- what things are ---- */

static const void *type_of(const void *object)
{
	return layout_at(object, LAYOUT_TYPE);
}

static unsigned long flags_of(const void *type)
{
	return (unsigned long)(uintptr_t)layout_at(type, LAYOUT_FLAGS);
}

static bool is_type(const void *object)
{
	return flags_of(type_of(object)) & LAYOUT_IS_TYPE;
}

static bool is_a(const void *object, const void *type)
{
	return type_of(object) == type || api.subtype(type_of(object), type);
}

/* What a type made in C is called has its module's name first; a class of Python's has
 * its own alone. */
static bool is_own_type(const struct c_look *k, const void *type)
{
	const char *name = layout_at(type, LAYOUT_NAME);

	return c_tables_below(name, strnlen(name, C_NAME), k->root, k->top_len);
}

/* ---- one function ---- */

static void add_place(struct c_look *k, const void *at, const char *type,
		      const char *name, void *owner)
{
	size_t room = sizeof(k->name) - k->len;

	if (!*name || !strncmp(name, "__", 2) || !layout_at(at, 0) || c_place_find(at))
		return;
	fmt(k->name + k->len, room, type ? ".%s.%s" : "%s.%s", type ? type : "", name);
	if (c_place_add((void *)(uintptr_t)at, k->name, strlen(k->name)))
		api.retain(owner); /* where the pointer lies may be its own memory */
	else
		k->missed++;
}

static void add_table(struct c_look *k, const void *table, const char *type, void *owner)
{
	const char *name =
		table && !k->objects_only ? layout_at(table, TABLE_NAME) : NULL;

	if (name)
		add_place(k, (const char *)table + TABLE_CALL, type, name, owner);
}

static const char *last_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

/* A method of an object that the module has (numpy.random.normal) is its type's. */
static void add_builtin(struct c_look *k, void *object)
{
	const void *self = layout_at(object, BUILTIN_SELF);
	const void *of = layout_at(object, BUILTIN_MODULE);
	const void *type = self && !is_type(self) ? type_of(self) : self;
	char module[C_NAME];
	size_t len;

	if (of && type_of(of) == api.str) {
		len = python_text(interpreter.layout, of, module, sizeof(module));
		if (c_tables_below(module, len, k->root, k->root_len))
			add_table(k, layout_at(object, BUILTIN_TABLE), NULL, object);
	} else if (!of && type && is_own_type(k, type)) {
		add_table(k, layout_at(object, BUILTIN_TABLE),
			  last_part(layout_at(type, LAYOUT_NAME)), object);
	}
}

/* Does another module, which the type is of, have it by that name? */
static bool is_elsewhere(const struct c_look *k, const char *type, const char *name,
			 const void *object)
{
	size_t len = strcspn(type, ".");
	char top[C_NAME];

	if (!type[len] || len >= sizeof(top) ||
	    c_tables_below(type, len, k->root, k->top_len))
		return false;
	fmt(top, sizeof(top), "%.*s", (int)len, type);
	return imported_item(top, name) == object;
}

/* Of an object that has several names in its module (transpose, permute_dims) its own
 * one. What C has made answers in C; an exception is gone. */
static void own_name(void *object, char own[C_NAME])
{
	void *name = strchr(layout_at(type_of(object), LAYOUT_NAME), '.')
			     ? api.attribute(object, name_name)
			     : NULL;

	own[0] = '\0';
	if (name && type_of(name) == api.str)
		own[python_text(interpreter.layout, name, own, C_NAME - 1)] = '\0';
	if (name)
		api.release(name);
	else
		api.clear_error();
}

/* Since 3.12 the objects of such a class are called by a pointer of their own, too, where
 * it is below one of C's (partial, weakref.ref). To hold one would delay its end. */
static bool is_of_python(const void *type)
{
	return flags_of(type) & IS_HEAP && !strchr(layout_at(type, LAYOUT_NAME), '.');
}

/* An object of C that is called through a pointer of its own: a ufunc, a function that
 * Cython has compiled. The interpreter's own kinds are called otherwise, or are Python.
 */
static void add_object(struct c_look *k, void *object, const char *type, const char *name)
{
	static const char *const others[] = { "functools.", "operator.", "_operator.",
					      "types.",     "weakref",   NULL };
	const void *of = type_of(object);
	const char *kind = layout_at(of, LAYOUT_NAME);
	uintptr_t at = (uintptr_t)layout_at(of, LAYOUT_CALL);
	char own[C_NAME];

	if (!(flags_of(of) & IS_CALLED) || !at || at % sizeof(void *) ||
	    at + sizeof(void *) > (uintptr_t)layout_at(of, SIZE) || of == api.function ||
	    of == api.bound || kin_is_type(of) || is_of_python(of))
		return;
	for (const char *const *other = others; *other; other++)
		if (text_after(kind, *other))
			return;
	if (!type && is_elsewhere(k, kind, name, object))
		return;
	own_name(object, own);
	add_place(k, (char *)object + at, type, *own ? own : name, object);
}

/* ---- what has functions ---- */

static void look_at(struct c_look *k, void *object, const char *type, const char *name);

/* A static method may wrap itself. */
static void look_wrapped(struct c_look *k, const void *object, const char *type,
			 const char *name)
{
	if (object && type_of(object) != api.static_method)
		look_at(k, (void *)(uintptr_t)object, type, name);
}

static void look_at(struct c_look *k, void *object, const char *type, const char *name)
{
	const void *of = type_of(object);

	if (of == api.method || of == api.class_method)
		add_table(k, layout_at(object, METHOD_TABLE), type, object);
	else if (is_a(object, api.builtin))
		add_builtin(k, object);
	else if (of == api.static_method)
		look_wrapped(k, layout_at(object, WRAPPED), type, name);
	else if (!is_type(object))
		add_object(k, object, type, name);
}

/* An attribute that is missing makes an object, and up to 3.11 that may collect garbage:
 * the program's own code then changes the dictionary. */
static void look_kept(struct c_look *k, void *object, const char *type, const char *name)
{
	api.retain(object);
	look_at(k, object, type, name);
	api.release(object);
}

static void look_at_type(struct c_look *k, const void *type)
{
	void *dict = (void *)(uintptr_t)layout_at(type, LAYOUT_DICT), *key, *value;
	const char *called = last_part(layout_at(type, LAYOUT_NAME));
	char name[C_NAME];
	long at = 0;

	while (dict && api.next(dict, &at, &key, &value)) {
		name[0] = '\0';
		if (type_of(key) == api.str)
			name[python_text(interpreter.layout, key, name,
					 sizeof(name) - 1)] = '\0';
		look_kept(k, value, called, name);
	}
}

void c_tables_add(struct c_look *k, void *module)
{
	void *dict = api.contents(module), *key, *value;
	char name[C_NAME];
	long at = 0;

	while (dict && api.next(dict, &at, &key, &value)) {
		if (type_of(key) != api.str)
			continue;
		name[python_text(interpreter.layout, key, name, sizeof(name) - 1)] = '\0';
		if (!is_type(value))
			look_kept(k, value, NULL, name);
		else if (is_own_type(k, value))
			look_at_type(k, value);
	}
}
