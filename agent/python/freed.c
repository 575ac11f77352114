/* SPDX-License-Identifier: Apache-2.0 */
/* Up to 3.11 nothing in a code object tells it from another one that was made at its
 * address, with its name and its file: of what they point to all can lie where the old
 * one's lay. So it is noted that one has gone. */
#include "agent/python/freed.h"
#include "agent/core/gate.h"
#include "agent/hooks/hook.h"

#include <dlfcn.h>
#include <string.h>

typedef void free_object(void *object);

/* PyTypeObject's beginning, the same in all versions (Include/cpython/object.h). */
struct type {
	uint64_t references, type, size;
	const char *name;
	uint64_t basic_size, item_size;
	free_object *_Atomic free;
};

static struct type *code_type;
static free_object *stock;
_Atomic uint32_t freed_objects;

static void free_code(void *code)
{
	atomic_fetch_add(&freed_objects, 1);
	if (!gate_cycle()) { /* a fork's child, whose window is its parent's */
		freed_unwatch();
		if (gate_cycle()) /* a window has opened meanwhile, and watched */
			freed_watch();
	}
	stock(code);
}

bool freed_find(void)
{
	struct type *type = hook_real_dlsym(RTLD_DEFAULT, "PyCode_Type");

	if (!type || !type->name || strcmp(type->name, "code") != 0)
		return false;
	code_type = type;
	stock = atomic_load(&type->free);
	return stock;
}

void freed_watch(void)
{
	free_object *now = stock;

	if (code_type)
		atomic_compare_exchange_strong(&code_type->free, &now, free_code);
}

void freed_unwatch(void)
{
	free_object *now = free_code;

	if (code_type)
		atomic_compare_exchange_strong(&code_type->free, &now, stock);
}
