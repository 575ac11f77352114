/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc and free and their family. Where nothing is to be done the hook is one look at
 * a word and a jump. All others take the long way, each in a function of its own so
 * that the short one has no stack frame.
 */
#include "agent/hooks/heap_parts.h"

#include <errno.h>
#include <string.h>

#if HEAP_HOOKS

#define LONG_WAY static __attribute__((noinline))
#define real     heap_real

#define HOOK(ret, name, params) HOOK_VISIBLE ret HOOK_EXPORT(name) params;
#include "agent/hooks/malloc.def"
#undef HOOK

/* True while there are no real functions: the bootstrap arena serves. */
static inline bool early(void)
{
	if (__builtin_expect(heap_mode() == HEAP_ASLEEP, 0))
		heap_wake();
	return __builtin_expect(heap_mode() == HEAP_COLD, 0) && !heap_find();
}

/* ---- allocating ---- */

/* Inside operator new: when there is no memory it calls the program's handler or throws,
 * and what that allocates is the program's again. The new hook finds its guard gone. */
static void *inside_new(void *p)
{
	if (!p && !(thread_guard & (THREAD_EMITS | THREAD_OURS)))
		thread_guard = 0;
	return p;
}

LONG_WAY void *long_malloc(size_t size)
{
	enum heap_part part;
	void *p;

	if (early())
		return boot_malloc(size);
	part = heap_enter(HEAP_FRAME, size);
	if (part == HEAP_PASS)
		return inside_new(real.malloc(size));
	p = real.malloc(size);
	if (part == HEAP_WANTED)
		heap_made(HEAP_MALLOC, p, size);
	heap_leave();
	return p;
}

void *HOOK_EXPORT(malloc)(size_t size)
{
	enum heap_mode mode = heap_mode();

	if (__builtin_expect(mode == HEAP_IDLE, 1))
		return real.malloc(size);
	if (__builtin_expect(mode >= HEAP_COLD || thread_guard, 0))
		return long_malloc(size);
	if (mode != HEAP_SAMPLE)
		return mode == HEAP_COUNT ? heap_malloc_counted(size) : heap_malloc(size);
	if (__builtin_expect(size > heap_gap.left, 0))
		return long_malloc(size);
	heap_gap.left -= size;
	return real.malloc(size);
}

LONG_WAY void *long_calloc(size_t count, size_t size)
{
	enum heap_part part;
	size_t bytes;
	void *p;

	if (early())
		return boot_calloc(count, size);
	if (__builtin_mul_overflow(count, size, &bytes))
		return real.calloc(count, size); /* says so itself */
	part = heap_enter(HEAP_FRAME, bytes);
	p = real.calloc(count, size);
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

/* Each of these is `call` on the way to real_call, a call of the real function. */
#define ALLOCATE(name, params, args, bytes)                             \
	LONG_WAY void *long_##name params                               \
	{                                                               \
		enum heap_part part;                                    \
		void *p;                                                \
                                                                        \
		if (early())                                            \
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

LONG_WAY int long_posix_memalign(void **to, size_t align, size_t size)
{
	enum heap_part part;
	int err;

	if (early())
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

/* Out of the bootstrap arena, as soon as there is something else. */
static void *move_out(void *p, size_t size)
{
	size_t old = boot_usable(p);
	void *moved = HOOK_EXPORT(malloc)(size);

	if (moved)
		memcpy(moved, p, old < size ? old : size);
	return moved;
}

LONG_WAY void *long_realloc(void *p, size_t size)
{
	struct heap_move m;
	void *moved;

	if (early())
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

LONG_WAY void *long_reallocarray(void *p, size_t count, size_t size)
{
	struct heap_move m;
	size_t bytes;
	void *moved;

	if (early() || boot_owns(p) || !real.reallocarray ||
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

/* What can be freed and lies elsewhere came from real functions; they are known. */
LONG_WAY void long_free(void *p)
{
	if (boot_owns(p) || !p || early())
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

	if (__builtin_expect(boot_owns(p), 0))
		return;
	if (__builtin_expect(mode == HEAP_IDLE, 1) ||
	    (mode == HEAP_SAMPLE && !heap_maybe_sampled(p)))
		real.free(p);
	else if (__builtin_expect(mode >= HEAP_COLD || thread_guard || !p, 0) ||
		 mode == HEAP_SAMPLE)
		long_free(p);
	else if (mode == HEAP_COUNT)
		heap_free_counted(p);
	else
		heap_free(p);
}

/* jemalloc's and C23's: not there in most C libraries, then free does it. */
#define RELEASE(name, params, args)                               \
	LONG_WAY void long_##name params                          \
	{                                                         \
		if (boot_owns(p) || !p || early())                \
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

void *heap_any_malloc(size_t size)
{
	return HOOK_EXPORT(malloc)(size);
}

void heap_any_free(void *p)
{
	HOOK_EXPORT(free)(p);
}

size_t HOOK_EXPORT(malloc_usable_size)(void *p)
{
	if (boot_owns(p))
		return boot_usable(p);
	return p && !early() ? real.malloc_usable_size(p) : 0;
}

#endif
