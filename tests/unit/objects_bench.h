/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects_bench - an interpreter that the test plays itself, with its three allocators,
 * and windows.
 *
 * Threads  one.
 * Memory   static.
 * Errors   a failed Check assertion.
 * Units    none.
 */
#ifndef TESTS_OBJECTS_BENCH_H
#define TESTS_OBJECTS_BENCH_H

#include "agent/core/gate.h"
#include "agent/python/allocators.h"
#include "agent/python/check.h"
#include "agent/python/interpreter.h"
#include "agent/python/objects.h"
#include "tests/unit/emit_bench.h"

static bool lock_held = true;
static unsigned sets, asked;
static int initialised = 1;
static struct python_layout layout = { .minor = 12 };

/* _PyRuntime, with its three allocators somewhere in it; as static data before 3.12. */
static struct {
	char before[1 << 15];
	struct allocator raw, there[ALLOCATORS_DOMAINS];
	char after[1 << 16];
} runtime;
static struct allocator next[ALLOCATORS_PLACES * ALLOCATORS_DOMAINS];

#define OURS(n)                                                                \
	{                                                                      \
		NULL, (void *)(100 + n), (void *)(101 + n), (void *)(102 + n), \
			(void *)(103 + n)                                      \
	}
static const struct allocator ours[ALLOCATORS_PLACES * ALLOCATORS_DOMAINS] = {
	OURS(0),  OURS(10), OURS(20), OURS(30), OURS(40),  OURS(50),
	OURS(60), OURS(70), OURS(80), OURS(90), OURS(100), OURS(110),
};
static void *interpreter_runtime = &runtime;

static inline void *take(void *context, size_t size)
{
	(void)context;
	return malloc(size);
}

static inline void *take_from_pool(void *context, size_t size)
{
	return take(context, size);
}

static inline void *take_and_count(void *context, size_t size)
{
	(void)context;
	return malloc(size + 16);
}

/* A tool need have no context. */
static const struct allocator by_malloc = { .malloc = take },
			      pools = { .malloc = take_from_pool },
			      tool = { .malloc = take_and_count, .calloc = (void *)7 };

/* What ours call in this place. */
static inline const struct allocator *next_of(unsigned place)
{
	return &next[place * ALLOCATORS_DOMAINS];
}

/* Ours of this place. */
static inline const struct allocator *ours_of(unsigned place)
{
	return &ours[place * ALLOCATORS_DOMAINS];
}

bool check_holds_lock(void)
{
	return lock_held;
}

/* ---- the interpreter ---- */

static int is_initialised(void)
{
	return initialised;
}

static inline void get_allocator(int domain, struct allocator *into)
{
	*into = (&runtime.raw)[domain];
}

static inline void set_allocator(int domain, const struct allocator *from)
{
	(&runtime.raw)[domain] = *from;
	sets++;
}

static const char *name_of_allocators(void)
{
	asked++;
	if (memcmp(&runtime.raw, &by_malloc, sizeof(by_malloc)) ||
	    memcmp(&runtime.there[0], &runtime.there[1], sizeof(by_malloc)))
		return NULL;
	if (!memcmp(&runtime.there[0], &by_malloc, sizeof(by_malloc)))
		return "malloc";
	return memcmp(&runtime.there[0], &pools, sizeof(pools)) ? "pymalloc_debug"
								: "pymalloc";
}

bool interpreter_find(const struct interpreter_symbol *symbol, size_t n)
{
	const struct {
		const char *name;
		void *is;
	} known[] = {
		{ "Py_IsInitialized", (void *)is_initialised },
		{ "PyMem_GetAllocator", (void *)get_allocator },
		{ "PyMem_SetAllocator", (void *)set_allocator },
		{ "_PyMem_GetCurrentAllocatorName", (void *)name_of_allocators },
		{ "_PyRuntime", interpreter_runtime },
	};

	for (size_t i = 0; i < n; i++) {
		ck_assert_str_eq(symbol[i].name, known[i].name);
		memcpy(symbol[i].to, &known[i].is, sizeof(void *));
	}
	return true;
}

struct interpreter interpreter;

/* ---- windows ---- */

#define OLD_AND_NEW(test) tcase_add_loop_test(tc, test, 11, 13)

static inline bool same_functions(const struct allocator *a, const struct allocator *b)
{
	return !memcmp(&a->malloc, &b->malloc, sizeof(*a) - sizeof(a->context));
}

static inline bool are_there(const struct allocator *mem, const struct allocator *object)
{
	return !memcmp(&runtime.there[0], mem, sizeof(*mem)) &&
	       !memcmp(&runtime.there[1], object, sizeof(*object));
}

static inline void put(const struct allocator *a)
{
	runtime.there[0] = runtime.there[1] = *a;
}

static inline void setup_as(int minor)
{
	layout.minor = (unsigned char)minor;
	interpreter.layout = &layout;
	bench_open(WAY_OWN, 16 << 20);
	gate_set(0, 0);
	runtime.raw = by_malloc;
	put(&pools);
	objects_prepare(ours, next);
}

/* A window opens; since when they are recorded in it. */
static inline uint64_t begin(uint64_t number)
{
	bench_cycle(number);
	bench_info()->begin = 77;
	ck_assert(objects_missing(number));
	objects_begin(bench_info());
	ck_assert(!objects_missing(number));
	return atomic_load(&bench_info()->python[PYTHON_OBJECTS]);
}

static inline bool says(struct cycle_info *info, enum python_count what)
{
	return atomic_load(&info->python[what]);
}

static struct cycle_info *last; /* that has ended */

/* The window ends; did another tool exchange them? */
static inline bool end(void)
{
	last = bench_info();
	gate_set(0, 0);
	objects_ended(last);
	return says(last, PYTHON_EXCHANGED);
}

#endif
