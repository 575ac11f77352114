/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Since 3.12 the functions that show and exchange allocators take a lock, which may be a
 * cancellation point, and since 3.13 may let the interpreter's own lock go: they are
 * called between two instructions alone. In the middle of an allocation, by the holder of
 * the lock, and at the end of a window the allocators are read and written where they
 * lie.
 */
#include "agent/python/objects.h"
#include "agent/core/clock.h"
#include "agent/core/gate.h"
#include "agent/python/check.h"
#include "agent/python/interpreter.h"
#include "base/log.h"
#include "base/sys.h"

#include <stdatomic.h>
#include <string.h>

enum { RAW, FIRST_DOMAIN }; /* PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM; then _OBJ */
#define OWN_LOCKS 12 /* since 3.12 interpreters of a process may have a lock each */
#define PAGE      4096
#define RUNTIME   65536 /* bytes of _PyRuntime in which its allocators lie */
#define AGAIN     4096 /* calls between two tries to put back what was there */

static struct {
	void (*get)(int domain, struct allocator *into);
	void (*set)(int domain, const struct allocator *from);
	void *(*newest)(void), *(*oldest)(void); /* interpreter: since 3.9 */
	const char *runtime; /* _PyRuntime */
} api;

static bool found; /* all of that */
static const struct allocator *ours;
static struct allocator *behind; /* what ours call */
static struct allocator *live; /* since 3.12: where the interpreter has both */
static _Atomic bool in_place[OBJECTS_DOMAINS];
static _Atomic uint64_t tried; /* the number of the last window that they are for */
static _Atomic uint64_t
	lost; /* ... and of the last in which another tool took them away */

void objects_prepare(const struct allocator *allocators, struct allocator *next)
{
	static const struct interpreter_symbol symbols[] = {
		{ "PyMem_GetAllocator", &api.get, false },
		{ "PyMem_SetAllocator", &api.set, false },
		{ "PyInterpreterState_Head", &api.newest, false },
		{ "PyInterpreterState_Main", &api.oldest, true },
		{ "_PyRuntime", &api.runtime, false },
	};

	ours = allocators;
	behind = next;
	found = interpreter_find(symbols, sizeof(symbols) / sizeof(*symbols));
}

bool objects_missing(uint64_t cycle)
{
	return found && cycle &&
	       cycle != atomic_load_explicit(&tried, memory_order_relaxed);
}

/* ---- what is there ---- */

static bool is_same(const struct allocator *a, const struct allocator *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* The list is not walked: another interpreter may be going. */
static bool has_several_locks(void)
{
	return interpreter.layout->minor >= OWN_LOCKS &&
	       (!api.oldest || api.newest() != api.oldest());
}

enum { POOLS, MALLOC, OTHERS }; /* whose the small objects are */

/* The interpreter's own allocators have no context, and are the same in both domains. */
static int owner_of(const struct allocator there[OBJECTS_DOMAINS])
{
	struct allocator raw;

	api.get(RAW, &raw);
	if (there[0].context || !is_same(&there[0], &there[1]))
		return OTHERS;
	return is_same(&there[0], &raw) ? MALLOC : POOLS;
}

/* Both lie side by side in the interpreter's state, and ours are nowhere else in it. */
static bool find_live(void)
{
	size_t readable = 0;

	while (!live && readable < RUNTIME && sys_can_read(api.runtime + readable))
		readable += PAGE;
	if (!live && readable > PAGE)
		live = memmem(api.runtime, readable - PAGE, ours,
			      OBJECTS_DOMAINS * sizeof(*ours));
	return live;
}

/* ---- a window begins ---- */

static void say_left_out(const char *why)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		log_warn("Python's small objects are not recorded: %s", why);
}

static void put_back(unsigned i)
{
	/* First, so that who looks meanwhile does not miss ours (objects_ended). */
	atomic_store(&in_place[i], false);
	if (live)
		live[i] = behind[i];
	else
		api.set(FIRST_DOMAIN + (int)i, &behind[i]);
}

static void put_in_place(struct cycle_info *info,
			 const struct allocator there[OBJECTS_DOMAINS])
{
	for (unsigned i = 0; i < OBJECTS_DOMAINS; i++) {
		behind[i] = there[i];
		api.set(FIRST_DOMAIN + (int)i, &ours[i]);
		atomic_store(&in_place[i], true);
	}
	if (interpreter.layout->minor < OWN_LOCKS || find_live()) {
		atomic_store(&info->python[PYTHON_OBJECTS], clock_ticks());
		return;
	}
	for (unsigned i = 0; i < OBJECTS_DOMAINS; i++)
		put_back(i);
	say_left_out("its allocators are not where they are expected");
}

/* What is there now but for ours. True: ours are in both places. */
static bool look_around(struct allocator there[OBJECTS_DOMAINS])
{
	bool all = true;

	for (unsigned i = 0; i < OBJECTS_DOMAINS; i++) {
		api.get(FIRST_DOMAIN + (int)i, &there[i]);
		if (is_same(&there[i], &ours[i])) {
			there[i] = behind[i];
			continue;
		}
		all = false;
		if (atomic_load(&in_place[i]))
			atomic_store(&lost, atomic_load(&tried));
	}
	return all;
}

void objects_begin(struct cycle_info *info)
{
	struct allocator there[OBJECTS_DOMAINS];
	bool stayed;
	int is;

	if (!info || !objects_missing(info->number) || !check_holds_lock())
		return;
	stayed = look_around(there);
	is = owner_of(there);
	atomic_store(&tried, info->number);
	if (stayed || is == MALLOC)
		atomic_store(&info->python[PYTHON_OBJECTS], info->begin);
	else if (is == OTHERS)
		say_left_out("debug hooks, or a tool such as tracemalloc, allocate them");
	else if (has_several_locks())
		say_left_out("the process has several interpreters, each of which may "
			     "have a lock of its own");
	else
		put_in_place(info, there);
}

/* ---- a window ends ---- */

static bool is_there(unsigned i)
{
	struct allocator there;

	if (live)
		return is_same(&live[i], &ours[i]);
	api.get(FIRST_DOMAIN + (int)i, &there);
	return is_same(&there, &ours[i]);
}

/* Is it time to try? At once after a window, and then now and then. */
static bool is_due(uint64_t number)
{
	static _Atomic uint64_t last = UINT64_MAX;
	static _Atomic uint32_t calls;
	uint32_t n = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);

	return atomic_exchange_explicit(&last, number, memory_order_relaxed) != number ||
	       n % AGAIN == 0;
}

void objects_over(void)
{
	if (!atomic_load(&in_place[0]) && !atomic_load(&in_place[1]))
		return;
	if (gate_cycle() || !is_due(atomic_load(&tried)))
		return;
	if (!check_holds_lock() || has_several_locks())
		return;
	for (unsigned i = 0; i < OBJECTS_DOMAINS; i++) {
		if (atomic_load(&in_place[i]) && is_there(i))
			put_back(i);
	}
}

void objects_ended(struct cycle_info *info)
{
	bool gone = atomic_load(&lost) == info->number;

	if (!found || !atomic_load(&info->python[PYTHON_OBJECTS]))
		return;
	for (unsigned i = 0; i < OBJECTS_DOMAINS; i++)
		gone |= !is_there(i) && atomic_load(&in_place[i]);
	if (gone)
		atomic_store(&info->python[PYTHON_EXCHANGED], 1);
}

void objects_fork_child(void)
{
	atomic_store(&tried, 0);
	atomic_store(&lost, 0);
}
