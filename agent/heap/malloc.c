/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc and free and their family. Where nothing is to be done the hook is one look at a
 * word and a jump. All other calls take the long way, each in a function of its own so
 * that the hook has no stack frame.
 */
#include "agent/heap/count.h"
#include "agent/heap/mode.h"
#include "agent/heap/record.h"
#include "agent/heap/watch.h"

#include <errno.h>
#include <string.h>

#if HEAP_HOOKS

#define LONG_WAY __attribute__((noinline))
#define real     heap_real

#define HOOK(ret, name, params) HOOK_VISIBLE ret HOOK_EXPORT(name) params;
#include "agent/heap/malloc.def"
#undef HOOK

/* True while there are no real functions: the bootstrap arena serves. */
static inline bool still_booting(void)
{
	if (__builtin_expect(heap_mode() == HEAP_ASLEEP, 0))
		heap_wake();
	return __builtin_expect(heap_mode() == HEAP_COLD, 0) && !heap_find();
}

/* ---- allocating ---- */

/* A call inside operator new finds no memory: operator new then calls the program's
 * handler or throws, and what these allocate is the program's again. The hook of new
 * finds its guard gone. */
static void *inside_new(void *p)
{
	if (!p && !(guard_word & (GUARD_EMITS | GUARD_OURS)))
		guard_word = 0;
	return p;
}

static LONG_WAY void *long_malloc(size_t size)
{
	enum heap_part part;
	void *p;

	if (still_booting())
		return boot_malloc(size);
	part = heap_enter(HEAP_FRAME, size);
	if (part == HEAP_PASS)
		return inside_new(real.malloc(size));
	p = real.malloc(size);
	heap_watch_note(p, size, false);
	if (part == HEAP_WANTED)
		heap_made(HEAP_MALLOC, p, size);
	heap_leave();
	return p;
}

/* Modes are numbered for this: what is rare comes from HEAP_COLD on, so that two
 * comparisons find the common ones. Most allocations of HEAP_SAMPLE only shorten the
 * thread's way to its next sample. */
void *HOOK_EXPORT(malloc)(size_t size)
{
	enum heap_mode mode = heap_mode();

	if (__builtin_expect(mode == HEAP_IDLE, 1))
		return real.malloc(size);
	if (__builtin_expect(mode >= HEAP_COLD || guard_word, 0))
		return long_malloc(size);
	if (mode != HEAP_SAMPLE)
		return mode == HEAP_COUNT ? heap_malloc_counted(size) : heap_malloc(size);
	if (__builtin_expect(size > heap_gap.left, 0))
		return long_malloc(size);
	heap_gap.left -= size;
	return real.malloc(size);
}

static LONG_WAY void *long_calloc(size_t count, size_t size)
{
	enum heap_part part;
	size_t bytes;
	void *p;

	if (still_booting())
		return boot_calloc(count, size);
	if (__builtin_mul_overflow(count, size, &bytes))
		return real.calloc(count, size); /* it sets errno itself */
	part = heap_enter(HEAP_FRAME, bytes);
	p = real.calloc(count, size);
	heap_watch_note(p, bytes, false);
	if (part == HEAP_WANTED)
		heap_made(HEAP_CALLOC, p, bytes);
	if (part != HEAP_PASS)
		heap_leave();
	return p;
}

void *HOOK_EXPORT(calloc)(size_t count, size_t size)
{
	return heap_idle() ? real.calloc(count, size) : long_calloc(count, size);
}

/* The hook of `name` and its long way; bytes: what the program asks for. */
#define ALLOCATE(name, params, args, bytes)                             \
	static LONG_WAY void *long_##name params                        \
	{                                                               \
		enum heap_part part;                                    \
		void *p;                                                \
                                                                        \
		if (still_booting())                                    \
			return boot_memalign(EARLY_ALIGN, bytes);       \
		part = heap_enter(HEAP_FRAME, bytes);                   \
		if (part == HEAP_PASS)                                  \
			return inside_new(real.name args);              \
		p = real.name args;                                     \
		if (part == HEAP_WANTED)                                \
			heap_made(HEAP_ALIGNED, p, bytes);              \
		heap_leave();                                           \
		return p;                                               \
	}                                                               \
	void *HOOK_EXPORT(name) params                                  \
	{                                                               \
		return heap_idle() ? real.name args : long_##name args; \
	}

#define EARLY_ALIGN align
ALLOCATE(aligned_alloc, (size_t align, size_t size), (align, size), size)
ALLOCATE(memalign, (size_t align, size_t size), (align, size), size)
#undef EARLY_ALIGN
#define EARLY_ALIGN 4096
ALLOCATE(valloc, (size_t size), (size), size)
ALLOCATE(pvalloc, (size_t size), (size), size)
#undef EARLY_ALIGN

static LONG_WAY int long_posix_memalign(void **to, size_t align, size_t size)
{
	enum heap_part part;
	int err;

	if (still_booting())
		return boot_posix_memalign(to, align, size);
	part = heap_enter(HEAP_FRAME, size);
	err = real.posix_memalign(to, align, size);
	if (part == HEAP_PASS) {
		inside_new(err ? NULL : to);
		return err;
	}
	if (part == HEAP_WANTED)
		heap_made(HEAP_ALIGNED, err ? NULL : *to, size);
	heap_leave();
	return err;
}

int HOOK_EXPORT(posix_memalign)(void **to, size_t align, size_t size)
{
	return heap_idle() ? real.posix_memalign(to, align, size)
			   : long_posix_memalign(to, align, size);
}

/* ---- moving ---- */

/* A block leaves the bootstrap arena as soon as there is a real allocator. */
static void *move_out(void *p, size_t size)
{
	size_t old = boot_usable(p);
	void *moved = HOOK_EXPORT(malloc)(size);

	if (moved)
		memcpy(moved, p, old < size ? old : size);
	return moved;
}

static LONG_WAY void *long_realloc(void *p, size_t size)
{
	struct heap_move m;
	void *moved;

	/* Without real functions there are no blocks but the arena's. */
	if (still_booting())
		return !p || boot_owns(p) ? boot_realloc(p, size) : NULL;
	if (boot_owns(p))
		return move_out(p, size);
	heap_move_begins(&m, HEAP_FRAME, p, size);
	moved = real.realloc(p, size);
	heap_moved(&m, moved, size);
	return moved;
}

void *HOOK_EXPORT(realloc)(void *p, size_t size)
{
	return heap_idle() && !boot_owns(p) ? real.realloc(p, size)
					    : long_realloc(p, size);
}

static LONG_WAY void *long_reallocarray(void *p, size_t count, size_t size)
{
	struct heap_move m;
	size_t bytes;
	void *moved;

	if (still_booting() || boot_owns(p) || !real.reallocarray ||
	    __builtin_mul_overflow(count, size, &bytes)) {
		if (!__builtin_mul_overflow(count, size, &bytes))
			return HOOK_EXPORT(realloc)(p, bytes);
		errno = ENOMEM;
		return NULL;
	}
	heap_move_begins(&m, HEAP_FRAME, p, bytes);
	moved = real.reallocarray(p, count, size);
	heap_moved(&m, moved, bytes);
	return moved;
}

void *HOOK_EXPORT(reallocarray)(void *p, size_t count, size_t size)
{
	return heap_idle() && !boot_owns(p) && real.reallocarray
		       ? real.reallocarray(p, count, size)
		       : long_reallocarray(p, count, size);
}

/* ---- freeing ---- */

/* A block that lies outside of the arena came from real functions: they are known. */
static LONG_WAY void long_free(void *p)
{
	if (boot_owns(p) || !p || still_booting())
		return;
	if (heap_gone(HEAP_FRAME, HEAP_FREE, p)) {
		real.free(p);
		heap_leave();
	} else {
		real.free(p);
	}
}

void HOOK_EXPORT(free)(void *p)
{
	enum heap_mode mode = heap_mode();

	/* In no mode may the real free see a block of the arena. */
	if (__builtin_expect(boot_owns(p), 0))
		return;
	if (__builtin_expect(mode == HEAP_IDLE, 1) ||
	    (mode == HEAP_SAMPLE && !heap_maybe_sampled(p)))
		real.free(p);
	else if (__builtin_expect(mode >= HEAP_COLD || guard_word || !p, 0) ||
		 mode == HEAP_SAMPLE)
		long_free(p);
	else if (mode == HEAP_COUNT)
		heap_free_counted(p);
	else
		heap_free(p);
}

/* Functions of jemalloc's and of C23: where the C library lacks them free does it. */
#define RELEASE(name, params, args)                               \
	static LONG_WAY void long_##name params                   \
	{                                                         \
		if (boot_owns(p) || !p || still_booting())        \
			return;                                   \
		if (!real.name) {                                 \
			HOOK_EXPORT(free)(p);                     \
		} else if (heap_gone(HEAP_FRAME, HEAP_FREE, p)) { \
			real.name args;                           \
			heap_leave();                             \
		} else {                                          \
			real.name args;                           \
		}                                                 \
	}                                                         \
	void HOOK_EXPORT(name) params                             \
	{                                                         \
		if (heap_idle() && !boot_owns(p) && real.name)    \
			real.name args;                           \
		else                                              \
			long_##name args;                         \
	}

RELEASE(sdallocx, (void *p, size_t size, int flags), (p, size, flags))
RELEASE(free_sized, (void *p, size_t size), (p, size))
RELEASE(free_aligned_sized, (void *p, size_t align, size_t size), (p, align, size))

/* ---- where there is no operator new or delete ---- */

void *heap_any_malloc(size_t size, size_t align)
{
	void *p;

	if (align <= sizeof(void *))
		return HOOK_EXPORT(malloc)(size);
	return HOOK_EXPORT(posix_memalign)(&p, align, size) ? NULL : p;
}

void heap_any_free(void *p)
{
	HOOK_EXPORT(free)(p);
}

size_t HOOK_EXPORT(malloc_usable_size)(void *p)
{
	if (boot_owns(p))
		return boot_usable(p);
	return p && !still_booting() ? real.malloc_usable_size(p) : 0;
}

#endif
