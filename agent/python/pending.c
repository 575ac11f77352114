/* SPDX-License-Identifier: Apache-2.0 */
/* Py_AddPendingCall takes no lock but its list's own, and never the interpreter's. */
#include "agent/python/pending.h"
#include "agent/python/interpreter.h"

#define COUNTS_SINCE 0x030c0000ul /* Py_Version (Include/cpython/pylifecycle.h) */

static struct {
	int (*is_initialized)(void);
	int (*add)(int (*call)(void *), void *arg);
	const unsigned long *version;
} api;

bool pending_find(void)
{
	static const struct interpreter_symbol functions[] = {
		{ "Py_IsInitialized", &api.is_initialized, false },
		{ "Py_AddPendingCall", &api.add, false },
		{ "Py_Version", &api.version, true },
	};

	return interpreter_find(functions, sizeof(functions) / sizeof(*functions));
}

bool pending_ready(void)
{
	return api.is_initialized && api.add && api.is_initialized();
}

bool pending_add(int (*call)(void *arg))
{
	return pending_ready() && !api.add(call, NULL);
}

bool pending_counts_threads(void)
{
	return pending_find() && api.version && *api.version >= COUNTS_SINCE;
}
