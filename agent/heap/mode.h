/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mode - whether calls are recorded just now, and the real functions behind the hooks.
 *
 * Threads  any, at any time, in any state: no lock, no malloc.  Hot path.
 * Memory   static.
 * Errors   NULL or false, as each says; errno stays the real function's.
 * Units    bytes.
 */
#ifndef HEAP_MODE_H
#define HEAP_MODE_H

#include "agent/core/record_heap.h"
#include "agent/core/thread.h"
#include "agent/heap/boot.h"
#include "agent/heap/heap.h"
#include "agent/hooks/hook.h"

#include <stdatomic.h>

/* Sanitizers bring their own malloc: no hooks in such builds of the agent. */
#if defined SANITIZED_ADDRESS || defined SANITIZED_THREAD
#define HEAP_HOOKS 0
#else
#define HEAP_HOOKS 1
#endif

/* What a hook does at each call.  The mode is one word, so that a hook that has nothing
 * to do finds that out by one load.  HEAP_COLD and what follows it are rare: malloc.c
 * asks for all of them by one comparison. */
enum heap_mode {
	HEAP_IDLE, /* nothing: the real function is jumped to */
	HEAP_COUNT,
	HEAP_SAMPLE,
	HEAP_ALL,
	HEAP_COLD, /* the real functions are not known yet */
	HEAP_ASLEEP /* a fresh child: its first call may open a window */
};

/* ---- heap/find.c: the real functions ---- */

struct heap_real {
	_Atomic uint32_t mode; /* enum heap_mode; while it is not HEAP_COLD ... */
	_Atomic uint32_t changes; /* how often mode has changed */
#define HOOK(ret, name, params) ret(*name) params; /* ... all of the C ones are set */
#include "agent/heap/malloc.def"
#undef HOOK
};
extern struct heap_real heap_real;

/* The functions of malloc.def by number: those of C first, then those of C++. */
#define HEAP_NUMBER(name)                                                          \
	((offsetof(struct heap_real, name) - offsetof(struct heap_real, malloc)) / \
	 sizeof(void *))
enum {
	HEAP_FIRST_CXX = HEAP_NUMBER(_Znwm),
	HEAP_FORMS = (sizeof(struct heap_real) - offsetof(struct heap_real, malloc)) /
		     sizeof(void *)
};
extern const char *const heap_names[];

static inline void **heap_slot(unsigned form)
{
	return (void **)&heap_real.malloc + form;
}

/* Finds the real functions. False: another call looks just now (or this very one, further
 * out), so use heap/boot.h. */
bool heap_find(void);
/* Is that form of operator new (of heap_real) in the library that has malloc? */
bool heap_has_new(void *const *slot);
bool heap_is_glibc(void); /* the library that has malloc; after heap_find */
const char *heap_owner(const void *fn); /* path of a real function's library, or NULL */
/* The library whose malloc comes before ours; NULL: none. "": the program itself. */
const char *heap_ahead(void);

static inline enum heap_mode heap_mode(void)
{
	return (enum heap_mode)atomic_load_explicit(&heap_real.mode,
						    memory_order_acquire);
}

static inline bool heap_idle(void)
{
	return __builtin_expect(heap_mode() == HEAP_IDLE, 1);
}

static inline uint32_t heap_changes(void)
{
	return atomic_load_explicit(&heap_real.changes, memory_order_acquire);
}

/* ---- heap.c: what the options say ---- */

extern struct heap_settings {
	uint32_t mode; /* enum heap_mode, in windows */
	bool stacks, always; /* malloc_since = start */
	bool walks; /* stacks of either kind are taken */
	heap_also *also; /* NULL: native stacks alone */
	uint64_t sample_bytes, seed;
} heap_settings;

void heap_wake(void); /* the first call of a fork's child: ends HEAP_ASLEEP */
/* HEAP_SAMPLE before there is a window: the first sample opens one. Most short processes
 * have no sample, and nothing has to be made for them. */
extern _Atomic bool heap_dozes;
void heap_doze_ends(void); /* calls heap_first, once */

/* ---- malloc.c: our own malloc and free, by names that new.c may call ---- */

void *heap_any_malloc(size_t size, size_t align); /* align 0: malloc's own */
void heap_any_free(void *p);

#endif
