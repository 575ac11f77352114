/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI's functions are looked up in one library, all or none: a table that is half
 * another library's would pass one library's handles to the other. */
#include "agent/cupti/lib/api.h"
#include "base/sys.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

struct cupti_api cupti;

/* The thread in dlsym, 0 = none: our hook of dlsym must not take these questions for a
 * second profiler's. */
static _Atomic uint32_t asking;

static const struct {
	const char *name;
	size_t at;
	bool required;
} rows[] = {
#define API(function, must, params) \
	{ "cupti" #function, offsetof(struct cupti_api, function), must },
#include "agent/cupti/lib/api.def"
#undef API
};

const char *api_resolve(void *handle)
{
	const char *missing = NULL;
	struct cupti_api found;

	atomic_store(&asking, sys_tid());
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		void *function = dlsym(handle, rows[i].name);

		memcpy((char *)&found + rows[i].at, &function, sizeof(function));
		if (!function && rows[i].required && !missing)
			missing = rows[i].name;
	}
	atomic_store(&asking, 0);
	if (!missing)
		cupti = found;
	return missing;
}

int api_asking(void)
{
	return atomic_load(&asking) == sys_tid();
}
