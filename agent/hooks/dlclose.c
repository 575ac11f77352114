/* SPDX-License-Identifier: Apache-2.0 */
/* dlclose may unmap code, and something else may come to its addresses. */
#include "agent/hooks/enter.h"
#include "agent/hooks/libc.h"
#include "agent/unwind/unwind.h"

#include <dlfcn.h>
#include <errno.h>

/* What is found out while the library's destructors run is void as well: so unwind is
 * told before and after. */
int HOOK_EXPORT(dlclose)(void *handle)
{
	static int (*_Atomic known)(void *);
	int (*real)(void *) = known;
	int saved = errno, result;

	if (!real)
		known = real = (int (*)(void *))hook_next("dlclose");
	unwind_unmapped();
	errno = saved;
	result = real(handle);
	unwind_unmapped();
	return result;
}
