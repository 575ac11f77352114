/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the interpreter has its allocators is found once, with its lock held; then they
 * are exchanged by whoever opens and ends a window, without a lock. No thread of the
 * interpreter's can be asked: a pending call makes 3.9 to 3.12 forget a signal that has
 * just come, and the main thread may wait for ever.
 *
 * A function of theirs and one of ours may be mixed: ours calls theirs, neither looks at
 * its context, and each pointer is exchanged only if it is the one that is expected.
 */
#include "agent/python/objects.h"
#include "agent/core/clock.h"
#include "agent/core/gate.h"
#include "agent/python/check.h"
#include "agent/python/interpreter.h"
#include "base/elf.h"
#include "base/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define IN_RUNTIME 12 /* since 3.12 allocators lie in _PyRuntime, behind a lock */
#define LETS_GO    13 /* since 3.13 that lock may let the interpreter's go */
#define RUNTIME    65536 /* bytes of it in which they lie */
#define FUNCTIONS  4 /* malloc, calloc, realloc, free */

/* PYMEM_DOMAIN_RAW, and behind it those that are exchanged: _MEM, _OBJ. */
enum { RAW, FIRST, DOMAINS = FIRST + OBJECTS_DOMAINS };

static struct {
	int (*is_initialized)(void);
	void (*get)(int domain, struct allocator *into);
	void (*set)(int domain, const struct allocator *from);
	const char *(*name)(void); /* of what is there; NULL: not the interpreter's own */
	char *runtime; /* _PyRuntime */
} api;

enum owner { UNASKED, OTHERS, POOLS, MALLOC, HIDDEN }; /* of the small objects */

static bool found; /* all of that */
static struct elf_span data; /* where to look for them */
static const struct allocator *ours;
static struct allocator *own; /* the interpreter's; what ours call */
static _Atomic int whose; /* enum owner; OTHERS: asked again, as they may leave */
static struct allocator *live[OBJECTS_DOMAINS]; /* with POOLS: where they lie */
/* Numbers of windows: the last one that they are for, the one that ours are in place for
 * (0: they are not), and the last in which another tool took them away. */
static _Atomic uint64_t tried, placed, lost;

/* The writable part of the object that `at` lies in. */
static int span_of(struct dl_phdr_info *info, size_t size, void *at)
{
	struct elf_span all = elf_span(info), *to = &data;

	(void)size;
	if ((uintptr_t)at < all.begin || (uintptr_t)at >= all.end)
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_W))
			continue;
		to->begin = info->dlpi_addr + p->p_vaddr;
		to->end = to->begin + p->p_memsz;
	}
	return 1;
}

void objects_prepare(const struct allocator *allocators, struct allocator *next)
{
	static const struct interpreter_symbol symbols[] = {
		{ "Py_IsInitialized", &api.is_initialized, false },
		{ "PyMem_GetAllocator", &api.get, false },
		{ "PyMem_SetAllocator", &api.set, false },
		{ "_PyMem_GetCurrentAllocatorName", &api.name, false },
		{ "_PyRuntime", &api.runtime, false },
	};

	ours = allocators;
	own = next;
	found = interpreter_find(symbols, sizeof(symbols) / sizeof(*symbols));
	if (found)
		dl_iterate_phdr(span_of, interpreter.layout && interpreter.layout->minor <
								       IN_RUNTIME
						 ? (void *)api.set
						 : api.runtime);
}

bool objects_missing(uint64_t cycle)
{
	return found && cycle &&
	       cycle != atomic_load_explicit(&tried, memory_order_relaxed);
}

/* ---- where they lie ---- */

/* The only place with these bytes. */
static void *find_once(uintptr_t begin, uintptr_t end, const void *bytes, size_t size)
{
	char *at = begin < end ? memmem((void *)begin, end - begin, bytes, size) : NULL;

	return at && !memmem(at + 1, end - (uintptr_t)at - 1, bytes, size) ? at : NULL;
}

/* Ours are there for a moment, and nowhere else. */
static bool find_by_mark(void)
{
	for (int i = 0; i < OBJECTS_DOMAINS; i++) {
		api.get(FIRST + i, &own[i]);
		api.set(FIRST + i, &ours[i]);
		live[i] = find_once(data.begin, data.end, &ours[i], sizeof(*ours));
		api.set(FIRST + i, &own[i]);
	}
	return live[0] && live[1];
}

/* Those of all domains lie side by side. */
static bool find_by_value(void)
{
	uintptr_t begin = (uintptr_t)api.runtime, end = begin + RUNTIME;
	struct allocator all[DOMAINS], *at;

	for (int i = 0; i < DOMAINS; i++)
		api.get(i, &all[i]);
	memcpy(own, &all[FIRST], OBJECTS_DOMAINS * sizeof(*own));
	at = begin < data.begin ? NULL
				: find_once(begin, end < data.end ? end : data.end, all,
					    sizeof(all));
	for (int i = 0; at && i < OBJECTS_DOMAINS; i++)
		live[i] = at + FIRST + i;
	return at;
}

/* The interpreter compares all that is there, malloc below its pools, too. A tool must
 * not be taken for them: it may call what was there before, and that may be ours. */
static enum owner ask_interpreter(void)
{
	const char *name = api.name();

	if (name && !strcmp(name, "malloc"))
		return MALLOC;
	if (!name || strcmp(name, "pymalloc") != 0)
		return OTHERS;
	return (interpreter.layout->minor < IN_RUNTIME ? find_by_mark() : find_by_value())
		       ? POOLS
		       : HIDDEN;
}

/* Perhaps in the middle of an allocation, which is no cancellation point, as the lock may
 * be. */
static enum owner find_owner(void)
{
	enum owner is;
	int state;

	if (pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state))
		return HIDDEN;
	is = ask_interpreter();
	pthread_setcancelstate(state, NULL);
	atomic_store(&whose, is);
	return is;
}

/* ---- a window begins ---- */

static void say_left_out(enum owner is)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		log_warn("Python's small objects are not recorded: %s",
			 is == HIDDEN ? "its allocators are not where they are expected"
				      : "debug hooks, or a tool such as tracemalloc, "
					"allocate them");
}

/* Behind the context lie the functions. */
static _Atomic uintptr_t *functions_of(struct allocator *a)
{
	return (_Atomic uintptr_t *)&a->malloc;
}
_Static_assert(sizeof(struct allocator) == (1 + FUNCTIONS) * sizeof(uintptr_t),
	       "a context and the functions");

/* False: not all of `from` was there. */
static bool exchange_all(const struct allocator *from, const struct allocator *to)
{
	bool all = true;

	for (unsigned i = 0; i < OBJECTS_DOMAINS; i++) {
		_Atomic uintptr_t *at = functions_of(live[i]);
		struct allocator old = from[i], new = to[i];

		for (unsigned f = 0; f < FUNCTIONS; f++) {
			uintptr_t is = functions_of(&old)[f];

			all &= atomic_compare_exchange_strong(&at[f], &is,
							      functions_of(&new)[f]);
		}
	}
	return all;
}

static bool are_in_place(void)
{
	return exchange_all(ours, ours);
}

static void put_back(void)
{
	atomic_store(&placed, 0);
	exchange_all(ours, own);
}

/* Ours may be there still: the window before ends now, or a tool has put back what it had
 * found. */
static bool put_in_place(uint64_t number)
{
	uint64_t before = atomic_load(&placed);
	bool there = are_in_place();

	if (before && !there)
		atomic_store(&lost, before);
	if (!there) {
		put_back();
		there = exchange_all(own, ours);
	}
	if (there)
		atomic_store(&placed, number);
	else
		put_back();
	return there;
}

void objects_look(void)
{
	if (found && atomic_load(&whose) <= OTHERS && check_holds_lock())
		find_owner();
}

void objects_begin(struct cycle_info *info)
{
	enum owner is = (enum owner)atomic_load(&whose);

	if (!info || !objects_missing(info->number))
		return;
	if (is <= OTHERS && !check_holds_lock())
		return; /* who does comes by later */
	/* In the middle of an allocation. */
	if (is <= OTHERS && interpreter.layout->minor < LETS_GO)
		is = find_owner();
	if (is == UNASKED) {
		atomic_store(&info->python[PYTHON_UNSEEN], 1);
		return; /* objects_look comes later */
	}
	if (atomic_exchange(&tried, info->number) == info->number)
		return;
	if (is == POOLS && !put_in_place(info->number))
		is = OTHERS;
	if (is == MALLOC)
		atomic_store(&info->python[PYTHON_OBJECTS], info->begin);
	else if (is == POOLS)
		atomic_store(&info->python[PYTHON_OBJECTS], clock_ticks());
	/* What came before that is late by so much, and no more is said of it. */
	atomic_store(&info->python[PYTHON_UNSEEN], is != MALLOC && is != POOLS);
	if (is == OTHERS || is == HIDDEN)
		say_left_out(is);
}

/* The window may have ended meanwhile, and nobody would put back what was there. */
void objects_begin_late(struct cycle_info *info)
{
	objects_begin(info);
	if (info && !gate_cycle() && atomic_load(&placed) == info->number)
		put_back();
}

void objects_unseen(struct cycle_info *info)
{
	if (found && info && !atomic_load(&info->python[PYTHON_OBJECTS]) &&
	    api.is_initialized())
		atomic_store(&info->python[PYTHON_UNSEEN], 1);
}

/* ---- a window ends ---- */

/* The next window may be open already. */
void objects_ended(struct cycle_info *info)
{
	uint64_t number = info->number;

	if (!found || !atomic_load(&info->python[PYTHON_OBJECTS]))
		return;
	if (atomic_load(&lost) == number ||
	    (atomic_load(&placed) == number && !are_in_place()))
		atomic_store(&info->python[PYTHON_EXCHANGED], 1);
	if (atomic_load(&placed) && !gate_cycle())
		put_back();
}

void objects_fork_child(void)
{
	if (atomic_load(&placed))
		put_back();
	atomic_store(&tried, 0);
	atomic_store(&lost, 0);
}
