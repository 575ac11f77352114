/* SPDX-License-Identifier: Apache-2.0 */
/* The kin is a static type, made as the interpreter makes its own: a copy of the other,
 * which inherits from it. It adds what pickle and copy ask a function of no known type
 * for. */
#include "agent/python/kin.h"
#include "agent/python/interpreter.h"
#include "agent/python/method.h"
#include "base/guard.h"
#include "base/seldom.h"

#include <stdint.h>
#include <string.h>

#define NEEDED 11 /* 3.x */
/* PyTypeObject of 3.11 (Include/cpython/object.h), bytes */
#define SIZE         408
#define BASIC_SIZE   32
#define FLAGS        168
#define BASE         256
#define METHODS      232
#define MEMBERS      240
#define TYPE_VERSION 384 /* tp_version_tag */
#define READY        (1ul << 12 | 1ul << 13 | 1ul << 19) /* READY, READYING, VALID_VERSION */
/* PyFunctionObject of 3.11 */
#define FUNCTION_SIZE    136
#define FUNCTION_CODE    48
#define FUNCTION_DOC     80
#define FUNCTION_VERSION 128 /* that call sites compare */

/* PyMemberDef */
struct member {
	const char *name;
	int type;
	long offset;
	int flags;
	const char *doc;
};
#define IS_OBJECT 6 /* T_OBJECT: NULL is None */

static struct {
	char *type; /* PyFunction_Type */
	int (*ready)(void *type);
	void *(*attribute)(void *object, const char *name);
	void (*clear_error)(void);
} api;

static SELDOM char kin[SIZE] __attribute__((aligned(16)));
static enum { UNMADE, MADE, REFUSED } state;
/* Several may want the same function to be of that type. */
static SELDOM struct {
	void *function; /* NULL: a free one */
	unsigned wanted;
} functions[KIN_MOST];

bool kin_find(void)
{
	static const struct interpreter_symbol symbols[] = {
		{ "PyFunction_Type", &api.type, false },
		{ "PyType_Ready", &api.ready, false },
		{ "PyObject_GetAttrString", &api.attribute, false },
		{ "PyErr_Clear", &api.clear_error, false },
	};

	return interpreter_find(symbols, sizeof(symbols) / sizeof(*symbols));
}

/* A name alone: then it is found by that, as any function is. */
static void *reduce_to_name(void *self, void *protocol)
{
	(void)protocol;
	return api.attribute(self, "__qualname__");
}

static void put_word(unsigned at, const void *value)
{
	memcpy(kin + at, &value, sizeof(value));
}

static void make_kin(void)
{
	/* Between these the interpreter has dictionary, bases, MRO and caches. */
	static const unsigned own[] = { 248, 264, 336, 344, 352, 360, 368 };
	/* Each type has a `__doc__` of its own; a function's is what a member tells. */
	static struct member members[] = {
		{ "__doc__", IS_OBJECT, FUNCTION_DOC, 0, NULL }, { 0 }
	};
	static struct method methods[] = {
		{ "__reduce_ex__", { reduce_to_name }, METHOD_ONE, NULL }, { 0 }
	};
	uintptr_t guard;
	uint64_t flags;

	state = REFUSED;
	if (layout_at(api.type, BASIC_SIZE) != (const void *)FUNCTION_SIZE)
		return;
	memcpy(kin, api.type, SIZE);
	for (unsigned i = 0; i < sizeof(own) / sizeof(*own); i++)
		put_word(own[i], NULL);
	put_word(0, (const void *)1); /* references */
	put_word(BASE, api.type);
	put_word(METHODS, methods);
	put_word(MEMBERS, members);
	memcpy(&flags, kin + FLAGS, sizeof(flags));
	flags &= ~READY;
	memcpy(kin + FLAGS, &flags, sizeof(flags));
	memset(kin + TYPE_VERSION, 0, 4);
	guard = guard_enter(); /* what the type allocates is not the program's */
	if (api.ready(kin))
		api.clear_error();
	else
		state = MADE;
	guard_leave(guard);
}

static bool exchange_type(void *function, const void *from, const void *to)
{
	if (layout_at(function, LAYOUT_TYPE) != from)
		return false;
	__atomic_store_n((const void **)(void *)((char *)function + LAYOUT_TYPE), to,
			 __ATOMIC_RELEASE);
	return true;
}

/* The row that has it, or NULL: the first free one; -1: there is none. */
static int row_of(const void *function)
{
	int row = 0;

	while (row < KIN_MOST && functions[row].function != function)
		row++;
	return row < KIN_MOST ? row : -1;
}

bool kin_set(void *function)
{
	int row;

	if (interpreter.layout->minor != NEEDED)
		return true;
	if (state == UNMADE)
		make_kin();
	row = row_of(function);
	if (row < 0) {
		row = row_of(NULL);
		if (row < 0 || state != MADE || !exchange_type(function, api.type, kin))
			return false;
		functions[row].function = function;
		/* What was specialised for this function is no more. */
		memset((char *)function + FUNCTION_VERSION, 0, 4);
	}
	functions[row].wanted++;
	return true;
}

void kin_unset(void *function)
{
	int row = row_of(function);

	if (row < 0 || --functions[row].wanted)
		return;
	functions[row].function = NULL;
	exchange_type(function, kin, api.type);
}

bool kin_is_type(const void *type)
{
	return state == MADE && type == kin;
}

const void *kin_code(const void *function)
{
	return layout_at(function, FUNCTION_CODE);
}
