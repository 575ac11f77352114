/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yield - the functions of CUPTI that a program's own profiler calls (yield.def).
 *
 * Threads  the client's.
 * Memory   static.
 * Errors   what the real function returns, or would without us; CUPTI_UNKNOWN when no
 *          libcupti is mapped. errno is as it was.
 * Units    as CUPTI.
 *
 * While CUPTI is not ours, calls go straight on to the library that the caller means;
 * what it asked for is noted, so that both have theirs when we come. While CUPTI is
 * ours, its registration stays ours and the client is served by tee.c.
 */
#ifndef CUPTI_YIELD_H
#define CUPTI_YIELD_H

#include "agent/cupti/tee.h"

#ifdef HOOK_NO_EXPORT /* unit tests call them by these names */
#define YIELD_EXPORT(name) yield_test_##name
#define YIELD_VISIBLE
#else
#define YIELD_EXPORT(name) name
#define YIELD_VISIBLE      __attribute__((visibility("default")))
#endif
#define HOOK(type, name, params) YIELD_VISIBLE type YIELD_EXPORT(name) params;
#include "agent/cupti/yield.def"
#undef HOOK

/* A call of the client's: where it would have gone, and whether we share that. */
struct visit {
	void *real; /* NULL: no libcupti is mapped */
	bool shared; /* CUPTI is ours, and the client means the same copy */
	bool noted; /* we may come later: what it does is remembered */
	int saved; /* errno */
};
enum yield_function {
#define HOOK(type, name, params) YIELD_##name,
#include "agent/cupti/yield.def"
#undef HOOK
	YIELD_cuptiGetTimestamp,
	YIELD_cuptiGetVersion,
	YIELD_FUNCTIONS
};
struct visit yield_enter(enum yield_function function, const void *caller);
int yield_leave(const struct visit *v, int result);

#define ENTER(name) yield_enter(YIELD_##name, __builtin_return_address(0))
#define REAL(v, types, ...) \
	((v).real ? ((int(*) types)(v).real)(__VA_ARGS__) : (int)CUPTI_UNKNOWN)

/* The function in the libcupti that `caller` is linked to, NULL = none is mapped. Sets
 * *ours when that is the copy that we use, and the caller is not CUPTI itself. */
void *yield_real(enum yield_function function, const void *caller, bool *ours);
bool yield_asking(void); /* are we inside it? Our dlsym hook sees that, too */
/* The client does what cannot be shared: CUPTI is its own from here on. */
void yield_step_aside(const char *who);
void yield_second_interface(void); /* the same, for who speaks the _v2 functions */

#endif
