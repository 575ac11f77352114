/* SPDX-License-Identifier: Apache-2.0 */
/* A pending call is asked for when the interpreter, just initialised, allocates its next
 * small object. */
#include "agent/python/first.h"
#include "agent/hooks/allocator.h"
#include "agent/python/interpreter.h"
#include "agent/python/pending.h"

#include <string.h>

enum { OBJECTS = 2 }; /* PYMEM_DOMAIN_OBJ */

static struct {
	void (*get)(int domain, struct allocator *into);
	void (*set)(int domain, const struct allocator *from);
} api;
static struct allocator theirs, ours;
static _Atomic bool asked;
static void (*asker[2])(void);

static int call_askers(void *arg)
{
	struct allocator now;

	(void)arg;
	api.get(OBJECTS, &now);
	if (!memcmp(&now, &ours, sizeof(now)))
		api.set(OBJECTS, &theirs);
	for (unsigned i = 0; i < sizeof(asker) / sizeof(*asker) && asker[i]; i++)
		asker[i]();
	return 0;
}

static void *allocate_first(void *context, size_t size)
{
	if (!atomic_load_explicit(&asked, memory_order_relaxed) && pending_ready() &&
	    pending_add(call_askers))
		atomic_store(&asked, true);
	return theirs.malloc(context, size);
}

bool first_ask(void (*then)(void))
{
	static const struct interpreter_symbol symbols[] = {
		{ "PyMem_GetAllocator", &api.get, false },
		{ "PyMem_SetAllocator", &api.set, false },
	};

	if (asker[0]) {
		asker[1] = then;
		return true;
	}
	if (pending_ready() ||
	    !interpreter_find(symbols, sizeof(symbols) / sizeof(*symbols)))
		return false;
	asker[0] = then;
	api.get(OBJECTS, &theirs);
	ours = theirs;
	ours.malloc = allocate_first;
	api.set(OBJECTS, &ours);
	return true;
}
