/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_tool.so - a tool that counts Python's small objects: allocators without a
 * context, the same for both domains, in front of what it found there.
 *
 * Threads  one that holds the interpreter's lock.
 * Memory   static.
 * Errors   none.
 * Units    calls.
 */
#include "agent/hooks/allocator.h"

enum { MEM = 1, OBJECT }; /* PYMEM_DOMAIN_MEM, _OBJ */

/* The interpreter's. */
void PyMem_GetAllocator(int domain, struct allocator *into);
void PyMem_SetAllocator(int domain, const struct allocator *from);

__attribute__((visibility("default"))) void begin_tool(void);
__attribute__((visibility("default"))) void end_tool(void);
__attribute__((visibility("default"))) int blocks_seen(void);

static struct allocator found[3];
static int seen;

static void *count_malloc(void *context, size_t size)
{
	(void)context;
	seen++;
	return found[OBJECT].malloc(found[OBJECT].context, size);
}

static void *count_calloc(void *context, size_t count, size_t size)
{
	(void)context;
	seen++;
	return found[OBJECT].calloc(found[OBJECT].context, count, size);
}

static void *pass_realloc(void *context, void *p, size_t size)
{
	(void)context;
	return found[OBJECT].realloc(found[OBJECT].context, p, size);
}

static void pass_free(void *context, void *p)
{
	(void)context;
	found[OBJECT].free(found[OBJECT].context, p);
}

void begin_tool(void)
{
	static const struct allocator mine = { NULL, count_malloc, count_calloc,
					       pass_realloc, pass_free };

	for (int i = MEM; i <= OBJECT; i++) {
		PyMem_GetAllocator(i, &found[i]);
		PyMem_SetAllocator(i, &mine);
	}
}

void end_tool(void)
{
	for (int i = MEM; i <= OBJECT; i++)
		PyMem_SetAllocator(i, &found[i]);
}

int blocks_seen(void)
{
	return seen;
}
