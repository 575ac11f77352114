/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlclose may unmap code, and something else may come to its addresses.
 *
 * The heap is told by name and not through hook_to, which our constructor fills:
 * libraries that are initialised before us may open, use and close one that has an
 * operator new, and the heap would keep its address.
 */
#include "agent/heap/heap.h"
#include "agent/hooks/enter.h"
#include "agent/hooks/libc.h"
#include "agent/unwind/unwind.h"

#include <dlfcn.h>
#include <errno.h>

/* What is found out while the library's destructors run is void as well: so unwind and
 * heap are told before and after. */
int HOOK_EXPORT(dlclose)(void *handle)
{
	static int (*_Atomic known)(void *);
	int (*real)(void *) = known;
	int saved = errno, result;

	if (!real)
		known = real = (int (*)(void *))hook_next("dlclose");
	unwind_unmapped();
	heap_unmapping();
	errno = saved;
	result = real(handle);
	heap_unmapped();
	unwind_unmapped();
	return result;
}
