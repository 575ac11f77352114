/* SPDX-License-Identifier: Apache-2.0 */
/* Up to 3.11 nothing in a code object tells it from another one that was made at its
 * address, with its name and its file: of what they point to all can lie where the old
 * one's lay. So it is noted that one has gone. */
#include "agent/python/freed.h"
#include "agent/core/gate.h"
#include "agent/hooks/hook.h"
#include "agent/python/interpreter.h"

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
static const void *_Atomic freed[FREED_KEPT]; /* the nth at n % FREED_KEPT */
static atomic_flag busy = ATOMIC_FLAG_INIT;

/* Threads that free at the same time belong to interpreters with a lock each, and are
 * few: one that does not get a word at once says that more has gone than is known. */
void freed_add(const void *code)
{
	uint32_t n;

	if (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {
		atomic_fetch_add(&freed_objects, FREED_KEPT + 1);
		return;
	}
	n = atomic_load_explicit(&freed_objects, memory_order_relaxed);
	atomic_store_explicit(&freed[n % FREED_KEPT], code, memory_order_relaxed);
	if (!atomic_compare_exchange_strong(&freed_objects, &n, n + 1))
		atomic_fetch_add(&freed_objects, FREED_KEPT + 1);
	atomic_flag_clear_explicit(&busy, memory_order_release);
}

/* Read again at the end: an address may have been overwritten meanwhile. */
int freed_since(uint32_t *seen, const void *gone[FREED_KEPT])
{
	uint32_t now = atomic_load_explicit(&freed_objects, memory_order_acquire);
	uint32_t from = *seen, n = now - from;

	*seen = now;
	if (n > FREED_KEPT)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		gone[i] = atomic_load_explicit(&freed[(from + i) % FREED_KEPT],
					       memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&freed_objects, memory_order_relaxed) - from >
			       FREED_KEPT
		       ? -1
		       : (int)n;
}

static void free_code(void *code)
{
	freed_add(code);
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
	interpreter.code = type;
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
