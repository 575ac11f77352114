/* SPDX-License-Identifier: Apache-2.0 */
/* The longest beginning of the name that is a module's comes first, then the script. */
#include "agent/python/named.h"
#include "agent/python/interpreter.h"
#include "agent/python/kin.h"
#include "agent/python/main_module.h"
#include "agent/python/members.h"
#include "agent/python/text.h"
#include "base/fmt.h"
#include "base/seldom.h"

#include <stdint.h>
#include <string.h>

#define PARTS 16 /* of a name */
#define WRAPS 8 /* around a function */
#define TEXT  128
/* CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR */
#define IS_MAKER (0x20 | 0x80 | 0x200)

static struct {
	void *(*code)(void *function); /* borrowed, as what the next one gives */
	void *(*closure)(void *function);
	void *(*intern)(const char *text);
	void *(*attribute)(const void *object, const char *name);
	long (*number)(void *number);
	void (*release)(void *object);
	void (*clear_error)(void);
	void *function;
	void *static_method, *class_method, *method, *property;
} api;

/* Where a look ended: what has no such part. */
struct stuck {
	void *in;
	unsigned part;
	bool script;
};

/* A beginning of names, and the module of it; many have the same. */
struct prefix {
	void *name;
	void *module;
	unsigned round; /* in which it was looked for */
};

struct named {
	const char *text;
	unsigned n;
	void *part[PARTS];
	struct prefix *prefix[PARTS]; /* prefix[i]: the first i parts */
	void *found; /* the last one; compared alone */
	const void *code; /* of it */
	unsigned script_parts; /* the first ones that are what the script is called */
	unsigned judged; /* main_module_turn() of when that was looked at */
	enum named_state state;
	struct stuck stuck;
	char type[64], meant[TEXT]; /* what was found instead, and what was meant */
};

static SELDOM struct named all[NAMED_MOST];
static SELDOM struct prefix prefixes[NAMED_MOST * PARTS];
static unsigned all_n, prefixes_n, rounds;

static void *script; /* its module, in this round; NULL: there is none */

bool named_find(void)
{
	static const struct interpreter_symbol symbols[] = {
		{ "PyFunction_GetCode", &api.code, false },
		{ "PyFunction_GetClosure", &api.closure, false },
		{ "PyUnicode_InternFromString", &api.intern, false },
		{ "PyObject_GetAttrString", &api.attribute, false },
		{ "PyLong_AsLong", &api.number, false },
		{ "Py_DecRef", &api.release, false },
		{ "PyErr_Clear", &api.clear_error, false },
		{ "PyFunction_Type", &api.function, false },
		{ "PyStaticMethod_Type", &api.static_method, false },
		{ "PyClassMethod_Type", &api.class_method, false },
		{ "PyMethod_Type", &api.method, false },
		{ "PyProperty_Type", &api.property, false },
	};

	return interpreter_find(symbols, sizeof(symbols) / sizeof(*symbols)) &&
	       members_find() && main_module_find();
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

static void *keep_whole(const char *text)
{
	return keep_text(text, strlen(text));
}

static struct prefix *keep_prefix(const char *text, size_t len)
{
	void *name = keep_text(text, len);
	unsigned i = 0;

	while (i < prefixes_n && prefixes[i].name != name)
		i++;
	if (!name || i == sizeof(prefixes) / sizeof(*prefixes))
		return NULL;
	prefixes_n += i == prefixes_n;
	prefixes[i].name = name;
	return &prefixes[i];
}

struct named *named_add(const char *text)
{
	struct named *n = &all[all_n];
	const char *at = text;
	bool kept = all_n < NAMED_MOST && main_module_start(keep_whole);

	if (!kept)
		return NULL;
	n->text = text;
	for (n->n = 0; kept && n->n < PARTS; at++) {
		size_t len = strcspn(at, ".");

		n->prefix[n->n] = keep_prefix(text, n->n ? (size_t)(at - 1 - text) : 0);
		n->part[n->n] = keep_text(at, len);
		kept = n->prefix[n->n] && n->part[n->n];
		n->n++;
		at += len;
		if (kept && !*at) {
			all_n++;
			return n;
		}
	}
	return NULL;
}

static const void *type_of(const void *object)
{
	return layout_at(object, LAYOUT_TYPE);
}

void named_round(void)
{
	rounds++;
	script = main_module_look();
}

/* No code of the program's runs within a round. */
static void *module_of(struct prefix *p)
{
	if (p->round != rounds)
		p->module = members_module(p->name);
	p->round = rounds;
	return p->module;
}

static void *follow_from(struct named *n, void *object, unsigned part)
{
	void *found = object;

	for (; found && part < n->n; part++) {
		n->stuck.in = found;
		n->stuck.part = part;
		found = members_of(found, n->part[part]);
	}
	return found;
}

/* ---- by its beginnings ---- */

static void *find_in_script(struct named *n)
{
	void *found;

	if (!script)
		return NULL;
	if (n->judged != main_module_turn())
		for (unsigned i = n->n - 1; i && !n->script_parts; i--)
			n->script_parts = main_module_is(n->text, i) ? i : 0;
	n->judged = main_module_turn();
	n->stuck.script |= n->script_parts;
	if (n->script_parts)
		return follow_from(n, script, n->script_parts);
	found = members_item(script, n->part[0]);
	/* A name of one part can be nobody else's. */
	if (!found && n->n > 1)
		return NULL;
	n->stuck.script = true;
	return follow_from(n, script, 0);
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

static void *find_by_name(struct named *n)
{
	void *found = NULL, *module;
	struct stuck first;

	n->stuck = (struct stuck){ 0 };
	for (unsigned i = n->n - 1; i; i--)
		if ((module = module_of(n->prefix[i]))) {
			found = follow_from(n, module, i);
			break;
		}
	if (found)
		return found;
	first = n->stuck;
	found = find_in_script(n);
	/* What the script has by the module's name is that module, as a rule. */
	if (first.in && !n->script_parts)
		n->stuck = first;
	return found;
}

void *named_look(struct named *n)
{
	void *found = find_by_name(n);

	n->meant[0] = 0;
	n->state = n->stuck.in ? NAMED_NO_NAME : NAMED_NO_MODULE;
	if (!found)
		return NULL;
	found = unwrap_all(found);
	if (found == n->found) {
		n->state = NAMED_FOUND;
		return found;
	}
	n->state = NAMED_OTHER;
	fmt(n->type, sizeof(n->type), "%s",
	    (const char *)layout_at(type_of(found), LAYOUT_NAME));
	if (!is_function(found))
		return NULL;
	/* One of ours was judged before. */
	n->state = type_of(found) == api.function && is_maker(found) ? NAMED_MAKER
								     : NAMED_FOUND;
	if (n->state != NAMED_FOUND)
		return NULL;
	if (type_of(found) == api.function)
		/* All that a decorator makes have the same. */
		n->code = api.closure(found) ? NULL : api.code(found);
	return n->found = found;
}

bool named_is_code(const struct named *n, const void *code)
{
	return code && n->code == code;
}

enum named_state named_state(const struct named *n)
{
	return n->state;
}

/* ---- what to say ---- */

void named_meant(struct named *n)
{
	char word[2 * TEXT];

	if (n->state != NAMED_NO_NAME)
		return;
	word[python_text(interpreter.layout, n->part[n->stuck.part], word,
			 sizeof(word) - 1)] = 0;
	members_meant(n->stuck.in, word, n->meant, sizeof(n->meant));
}

const char *named_why(const struct named *n)
{
	static char why[1024];
	const char *dot = strrchr(n->text, '.');
	bool meant = *n->meant;

	switch (n->state) {
	case NAMED_NO_MODULE:
		fmt(why, sizeof(why),
		    "no module %.*s was imported, and the script has no such name",
		    dot ? (int)(dot - n->text) : 0, n->text);
		break;
	case NAMED_NO_NAME:
		fmt(why, sizeof(why), "%s has no such function%s%s%s",
		    n->stuck.script ? "the script" : "the module",
		    meant ? " (did you mean " : "", n->meant, meant ? "?)" : "");
		break;
	case NAMED_OTHER:
		fmt(why, sizeof(why), "that is no function of Python's, but of type %s",
		    n->type);
		break;
	case NAMED_MAKER:
		return "a call of it only makes a generator or a coroutine, so it ends no step";
	default:
		return "the function was never called";
	}
	return why;
}
