/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls - the functions of CUPTI that a program's own profiler calls (client/calls.def).
 *
 * Threads  the client's.
 * Memory   static.
 * Errors   what the real function returns, or would without us; CUPTI_UNKNOWN when no
 *          libcupti is mapped. errno is as it was.
 * Units    as CUPTI.
 *
 * While CUPTI is not ours, calls go straight on to the library that the caller means;
 * what it asked for is noted, so that both have theirs when we come. While CUPTI is
 * ours, its registration stays ours and the client is served by client/copies.c.
 */
#ifndef CUPTI_CLIENT_CALLS_H
#define CUPTI_CLIENT_CALLS_H

#include "agent/cupti/client/copies.h"

#ifdef HOOK_NO_EXPORT /* unit tests call them by these names */
#define YIELD_EXPORT(name) yield_test_##name
#define YIELD_VISIBLE
#else
#define YIELD_EXPORT(name) name
#define YIELD_VISIBLE      __attribute__((visibility("default")))
#endif
#define HOOK(type, name, params) YIELD_VISIBLE type YIELD_EXPORT(name) params;
#include "agent/cupti/client/calls.def"
#undef HOOK

/* A call of the client's: where it would have gone, and whether that library is
 * shared. */
struct visit {
	void *real; /* NULL: no libcupti is mapped */
	bool shared; /* CUPTI is ours, and the client means the same copy */
	bool noted; /* we may come later: what the client does is remembered */
	int saved; /* errno */
};
enum yield_function {
#define HOOK(type, name, params) YIELD_##name,
#include "agent/cupti/client/calls.def"
#undef HOOK
	YIELD_cuptiGetTimestamp,
	YIELD_cuptiGetVersion,
	YIELD_FUNCTIONS
};
struct visit client_enter(enum yield_function function, const void *caller);
int client_leave(const struct visit *v, int result);

#define ENTER(name) client_enter(YIELD_##name, __builtin_return_address(0))
#define REAL(v, types, ...) \
	((v).real ? ((int(*) types)(v).real)(__VA_ARGS__) : (int)CUPTI_UNKNOWN)

/* The function in the libcupti that `caller` is linked to, NULL = none is mapped. Sets
 * *ours when that is the copy that we use, and the caller is not CUPTI itself. */
void *real_of(enum yield_function function, const void *caller, bool *ours);
void real_fork_child(void);
bool real_asking(void); /* are we inside real_of? Our dlsym hook sees that, too */
#endif
