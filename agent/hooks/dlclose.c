/* SPDX-License-Identifier: Apache-2.0 */
/* dlclose may unmap code, and something else may come to its addresses. */
#include "agent/hooks/heap.h"
#include "agent/hooks/look.h"
#include "agent/hooks/unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

HOOK_VISIBLE int HOOK_EXPORT(dlclose)(void *handle);

/* What is found out while its destructors run is void as well. */
int HOOK_EXPORT(dlclose)(void *handle)
{
	static int (*_Atomic known)(void *);
	int (*real)(void *) = known;
	int saved = errno, result;

	if (!real) {
		hook_look_dlsym(NULL, NULL);
		known = real = (int (*)(void *))hook_real_dlsym(RTLD_NEXT, "dlclose");
	}
	unwind_unmapped();
	heap_unmapping();
	errno = saved;
	result = real(handle);
	heap_unmapped();
	unwind_unmapped();
	return result;
}
