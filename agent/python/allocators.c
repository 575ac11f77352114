/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interpreter's own functions find its allocators, once; then they are read and
 * exchanged in its memory. A function of theirs and one of ours may be mixed: ours does
 * what theirs does, with the context that it is called with.
 *
 * PyMem_SetAllocator may run in another thread meanwhile, whose caller holds the
 * interpreter's lock: then nobody allocates, and what it stores last stays. What is read
 * in the middle of that is exchanged nowhere, or function by function where it was.
 */
#include "agent/python/allocators.h"
#include "agent/python/interpreter.h"
#include "base/elf.h"
#include "base/sys.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define IN_RUNTIME 12 /* since 3.12 allocators lie in _PyRuntime, behind a lock */
#define RUNTIME    65536 /* bytes of it in which they lie */
#define FUNCTIONS  4 /* malloc, calloc, realloc, free */
#define DOMAINS    ALLOCATORS_DOMAINS
#define PLACES     ALLOCATORS_PLACES
#define OF_TOOLS   1 /* the first place of theirs */

/* PYMEM_DOMAIN_RAW, and behind it those that are exchanged: _MEM, _OBJ. */
enum { RAW, FIRST, ALL = FIRST + DOMAINS };

static struct {
	int (*is_initialized)(void);
	void (*get)(int domain, struct allocator *into);
	void (*set)(int domain, const struct allocator *from);
	const char *(*name)(void); /* of what is there; NULL: not the interpreter's own */
	char *runtime; /* _PyRuntime */
} api;

static struct elf_span data; /* where to look for them */
static const struct allocator *ours; /* by place, then by domain */
static struct allocator *nexts;
static _Atomic bool claimed[PLACES * DOMAINS], bound[PLACES * DOMAINS];
static struct allocator_behind behind[PLACES * DOMAINS]; /* where `next` is debug hooks */
static struct allocator *live[DOMAINS]; /* where they lie */
static struct allocator mallocs[DOMAINS]; /* with knows_mallocs */
static _Atomic bool named, knows_mallocs;
static _Atomic int state; /* enum allocators_state */

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

bool allocators_prepare(const struct allocator *all, struct allocator *next)
{
	static const struct interpreter_symbol symbols[] = {
		{ "Py_IsInitialized", &api.is_initialized, false },
		{ "PyMem_GetAllocator", &api.get, false },
		{ "PyMem_SetAllocator", &api.set, false },
		{ "_PyMem_GetCurrentAllocatorName", &api.name, false },
		{ "_PyRuntime", &api.runtime, false },
	};

	ours = all;
	nexts = next;
	if (!interpreter_find(symbols, sizeof(symbols) / sizeof(*symbols)))
		return false;
	dl_iterate_phdr(span_of,
			interpreter.layout && interpreter.layout->minor < IN_RUNTIME
				? (void *)api.set
				: api.runtime);
	return true;
}

bool allocators_used(void)
{
	return api.is_initialized();
}

enum allocators_state allocators_state(void)
{
	return (enum allocators_state)atomic_load(&state);
}

bool allocators_named(void)
{
	return atomic_load(&named);
}

/* ---- functions ---- */

/* Behind the context lie the functions. */
static _Atomic uintptr_t *functions_of(const struct allocator *a)
{
	return (_Atomic uintptr_t *)&a->malloc;
}
_Static_assert(sizeof(struct allocator) == (1 + FUNCTIONS) * sizeof(uintptr_t),
	       "a context and the functions");

static bool same_functions(const struct allocator *a, const struct allocator *b)
{
	return !memcmp(&a->malloc, &b->malloc, FUNCTIONS * sizeof(uintptr_t));
}

static void read_functions(const struct allocator *at, struct allocator *into)
{
	into->context = at->context;
	for (unsigned f = 0; f < FUNCTIONS; f++)
		functions_of(into)[f] = atomic_load(&functions_of(at)[f]);
}

/* The place of ours that this function is of; or PLACES. */
static unsigned place_of(unsigned domain, unsigned f, uintptr_t function)
{
	unsigned p = 0;

	while (p < PLACES &&
	       atomic_load(&functions_of(&ours[p * DOMAINS + domain])[f]) != function)
		p++;
	return p;
}

static bool is_ours(unsigned domain, const struct allocator *a)
{
	for (unsigned f = 0; f < FUNCTIONS; f++)
		if (place_of(domain, f, atomic_load(&functions_of(a)[f])) == PLACES)
			return false;
	return true;
}

static bool has_ours(unsigned domain, const struct allocator *a)
{
	for (unsigned f = 0; f < FUNCTIONS; f++)
		if (place_of(domain, f, atomic_load(&functions_of(a)[f])) < PLACES)
			return true;
	return false;
}

static bool can_read(uintptr_t at, size_t size)
{
	return at && !(at % sizeof(uintptr_t)) && !sys_confined &&
	       sys_can_read((void *)at) &&
	       sys_can_read((void *)(at + size - sizeof(uintptr_t)));
}

/* Debug hooks' context is a letter for the domain, and what is behind them (struct
 * debug_alloc_api_t in CPython's obmalloc.c). NULL: they are none. */
static const struct allocator *behind_debug_hooks(unsigned domain, const void *context)
{
	const uintptr_t *letter = context;

	if (!can_read((uintptr_t)letter, sizeof(*letter) + sizeof(struct allocator)) ||
	    *letter != (uintptr_t) "mo"[domain])
		return NULL;
	return (const struct allocator *)(letter + 1);
}

static void bind_place(unsigned i, const struct allocator *next)
{
	const struct allocator *at = behind_debug_hooks(i % DOMAINS, next->context);

	nexts[i] = *next;
	nexts[i].context = NULL;
	if (at) {
		behind[i] = (struct allocator_behind){ at, *at };
		nexts[i].context = &behind[i];
	}
	atomic_store(&bound[i], true);
}

/* What stands in front of these functions from now on; NULL: all places are taken. */
static const struct allocator *find_place(unsigned domain, const struct allocator *is)
{
	for (unsigned i = domain; i < PLACES * DOMAINS; i += DOMAINS)
		if (atomic_load(&bound[i]) && same_functions(&nexts[i], is))
			return &ours[i];
	for (unsigned i = domain + OF_TOOLS * DOMAINS; i < PLACES * DOMAINS; i += DOMAINS)
		if (!atomic_exchange(&claimed[i], true)) {
			bind_place(i, is);
			return &ours[i];
		}
	return NULL;
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
	for (unsigned i = 0; i < DOMAINS; i++) {
		const struct allocator *place;
		struct allocator is, mark;

		api.get((int)(FIRST + i), &is);
		place = find_place(i, &is);
		if (!place)
			return false;
		mark = *place;
		mark.context = is.context;
		api.set((int)(FIRST + i), &mark);
		live[i] = find_once(data.begin, data.end, &mark, sizeof(mark));
		api.set((int)(FIRST + i), &is);
	}
	return live[0] && live[1];
}

/* Those of all domains lie side by side. */
static bool find_by_value(void)
{
	uintptr_t begin = (uintptr_t)api.runtime, end = begin + RUNTIME;
	struct allocator all[ALL], *at;

	for (int i = 0; i < ALL; i++)
		api.get(i, &all[i]);
	at = begin < data.begin ? NULL
				: find_once(begin, end < data.end ? end : data.end, all,
					    sizeof(all));
	for (int i = 0; at && i < DOMAINS; i++)
		live[i] = at + FIRST + i;
	return at;
}

/* The interpreter compares all that is there, malloc below its pools, too. */
static void hear_names(void)
{
	const char *name = api.name();
	bool pools = name && !strcmp(name, "pymalloc");

	/* Debug hooks in front of malloc's give parts of its blocks. */
	if (!pools &&
	    (!name || (strcmp(name, "malloc") != 0 && strcmp(name, "malloc_debug") != 0)))
		return;
	for (unsigned i = 0; i < DOMAINS; i++) {
		struct allocator is;

		api.get((int)(FIRST + i), &is);
		if (pools)
			bind_place(i, &is);
		else
			mallocs[i] = is;
	}
	atomic_store(&knows_mallocs, !pools);
	atomic_store(&named, true);
}

/* Perhaps in the middle of an allocation, which is no cancellation point, as the lock may
 * be. */
enum allocators_state allocators_find(void)
{
	int cancels;

	if (pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels))
		return allocators_state();
	if (!atomic_load(&named))
		hear_names();
	if (allocators_state() == ALLOCATORS_UNASKED)
		atomic_store(&state,
			     (interpreter.layout->minor < IN_RUNTIME ? find_by_mark()
								     : find_by_value())
				     ? ALLOCATORS_FOUND
				     : ALLOCATORS_HIDDEN);
	pthread_setcancelstate(cancels, NULL);
	return allocators_state();
}

/* ---- exchanged ---- */

bool allocators_are_mallocs(void)
{
	for (unsigned i = 0; i < DOMAINS; i++) {
		struct allocator is;

		read_functions(live[i], &is);
		if (!atomic_load(&knows_mallocs) || !same_functions(&is, &mallocs[i]))
			return false;
	}
	return true;
}

/* False: not all of `from` was there. */
static bool exchange_functions(struct allocator *at, const struct allocator *from,
			       const struct allocator *to)
{
	bool all = true;

	for (unsigned f = 0; f < FUNCTIONS; f++) {
		uintptr_t is = atomic_load(&functions_of(from)[f]);

		all &= atomic_compare_exchange_strong(&functions_of(at)[f], &is,
						      atomic_load(&functions_of(to)[f]));
	}
	return all;
}

static const char *exchange_domain(unsigned domain)
{
	const struct allocator_behind *b;
	const struct allocator *place;
	struct allocator is;

	read_functions(live[domain], &is);
	place = has_ours(domain, &is) ? NULL : find_place(domain, &is);
	if (!place)
		return "too many tools have exchanged its allocators";
	b = nexts[place - ours].context;
	if (b && has_ours(domain, b->at))
		return "PyMem_SetupDebugHooks was called within a window";
	return exchange_functions(live[domain], &is, place)
		       ? NULL
		       : "another tool exchanges its allocators just now";
}

const char *allocators_exchange(void)
{
	const char *why = NULL;

	allocators_put_back();
	for (unsigned i = 0; i < DOMAINS && !why; i++)
		why = exchange_domain(i);
	return why;
}

/* Each by itself: a tool may have kept some of ours and some of theirs. */
void allocators_put_back(void)
{
	for (unsigned i = 0; i < DOMAINS; i++)
		for (unsigned f = 0; f < FUNCTIONS; f++) {
			_Atomic uintptr_t *at = &functions_of(live[i])[f];
			uintptr_t is = atomic_load(at);
			unsigned p = place_of(i, f, is);

			if (p < PLACES)
				atomic_compare_exchange_strong(
					at, &is,
					functions_of(&nexts[p * DOMAINS + i])[f]);
		}
}

bool allocators_are_ours(void)
{
	for (unsigned i = 0; i < DOMAINS; i++)
		if (!is_ours(i, live[i]))
			return false;
	return true;
}

/* What tracemalloc and memray have found is behind their context. A tool of another kind
 * is not followed. */
static bool is_in_front_of_ours(unsigned domain)
{
	const struct allocator *found = live[domain]->context;

	return can_read((uintptr_t)found, sizeof(*found)) && is_ours(domain, found);
}

bool allocators_reach_ours(void)
{
	for (unsigned i = 0; i < DOMAINS; i++)
		if (!is_ours(i, live[i]) && !is_in_front_of_ours(i))
			return false;
	return true;
}

bool allocators_is_there(const struct allocator *one)
{
	return atomic_load(functions_of(live[(one - ours) % DOMAINS])) ==
	       atomic_load(functions_of(one));
}
