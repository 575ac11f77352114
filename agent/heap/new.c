/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operator new and delete, every form. Allocators that export them do not come through
 * malloc; libstdc++'s do, and then the guard makes one allocation of both.
 *
 * The real ones are kept under types of three arguments: those that a form does not
 * have lie in registers that it does not look at.
 */
#include "agent/heap/mode.h"
#include "agent/heap/record.h"
#include "base/elf.h"

#if HEAP_HOOKS

#define LONG_WAY __attribute__((noinline))
#define real     heap_real

typedef void *(*new_fn)(size_t, uintptr_t, uintptr_t);
typedef void (*delete_fn)(void *, uintptr_t, uintptr_t);

#define HOOK(ret, name, params) HOOK_VISIBLE ret HOOK_EXPORT(name) params;
#include "agent/heap/malloc.def"
#undef HOOK

/* ---- what a C++ exception sees of us ---- */

enum { CLEANING = 2, GO_ON = 8 }; /* _UA_CLEANUP_PHASE, _URC_CONTINUE_UNWIND */

int heap_personality(int version, int actions, uint64_t class, void *exception,
		     void *context) __attribute__((visibility("hidden")));

/* bad_alloc is thrown through us: the call is over. Nothing is caught or changed. */
int heap_personality(int version, int actions, uint64_t class, void *exception,
		     void *context)
{
	(void)version, (void)class, (void)exception, (void)context;
	if (actions & CLEANING)
		guard_word = 0;
	return GO_ON;
}

/* One straight line, so that all of it lies under that personality. */
static __attribute__((noinline)) void *guarded_new(new_fn fn, size_t size, uintptr_t a,
						   uintptr_t b)
{
	void *p;

	__asm__ volatile(".cfi_personality 0x1b, heap_personality");
	p = fn(size, a, b);
	__asm__ volatile("" : "+r"(p));
	return p;
}

/* ---- new ---- */

#define FORMS        20
#define FORM_ALIGNED 4 /* a bit of its number, in the order of malloc.def */
_Static_assert(HEAP_NUMBER(_ZnwmSt11align_val_t) == HEAP_FIRST_CXX + FORM_ALIGNED &&
		       HEAP_NUMBER(_ZdlPv) == HEAP_FIRST_CXX + 2 * FORM_ALIGNED,
	       "the forms of new");

static inline void *kept_real(void *const *slot)
{
	return __atomic_load_n(slot, __ATOMIC_RELAXED);
}

/* NULL: only where our hooks could not be hidden (find.c). */
static void *find_real_operator(void *const *slot)
{
	if (__builtin_expect(heap_mode() == HEAP_COLD, 0))
		heap_find();
	if (__builtin_expect(heap_mode() == HEAP_ASLEEP, 0))
		heap_wake();
	return kept_real(slot);
}

/* What was seen of each form: whether it comes back to us as malloc or free (or as
 * another form). If it does not, what comes from inside of it is the program's own: its
 * new handler, what it throws. */
enum way { UNKNOWN, THROUGH, ALONE };
static _Atomic uint8_t ways[FORMS];

static _Atomic uint8_t *way_of(void *const *slot)
{
	return &ways[slot - (void *const *)&real._Znwm];
}

static enum way seen_way(void *const *slot)
{
	return (enum way)atomic_load_explicit(way_of(slot), memory_order_relaxed);
}

/* malloc marks the guard only while it records: a call during which a window began or
 * ended shows nothing. Nor does a call where several functions have that form (kept_real:
 * NULL). */
static void learn_way(void *const *slot, bool came_back, uint32_t changes)
{
	if (seen_way(slot) == UNKNOWN && kept_real(slot) && !heap_idle() &&
	    changes == heap_changes())
		atomic_store_explicit(way_of(slot), came_back ? THROUGH : ALONE,
				      memory_order_relaxed);
}

/* Only records tell which function was called: in other modes malloc's hook is enough. */
static inline bool left_to_malloc(void *const *slot, size_t size)
{
	enum heap_mode mode = heap_mode();

	return mode == HEAP_IDLE ||
	       (seen_way(slot) == THROUGH && !guard_word &&
		(mode == HEAP_COUNT || (mode == HEAP_SAMPLE && size <= heap_gap.left)));
}

struct new_call {
	void **slot;
	new_fn fn;
	size_t size;
	uintptr_t a, b;
	enum heap_part part;
	uint32_t changes;
};

/* The form is the C++ library's: what malloc sees meanwhile is this call. Where the guard
 * is gone afterwards, malloc has failed, and what came then is recorded. */
static void *new_through(struct new_call *c)
{
	void *p = guarded_new(c->fn, c->size, c->a, c->b);

	if (!guard_word)
		c->part = HEAP_PASS;
	else if (p)
		learn_way(c->slot, guard_word & GUARD_NESTED, c->changes);
	return p;
}

/* The form is an allocator's: what malloc sees meanwhile is recorded as such. Should that
 * have been this very call, it is recorded already. */
static void *new_alone(struct new_call *c, uintptr_t frame)
{
	bool looks = seen_way(c->slot) == UNKNOWN;
	void *p;

	guard_word = looks ? frame | GUARD_LOOKS : 0;
	p = guarded_new(c->fn, c->size, c->a, c->b);
	if (looks && !guard_word)
		c->part = HEAP_QUIET;
	if (looks && p)
		learn_way(c->slot, !guard_word, c->changes);
	guard_word = frame;
	return p;
}

static bool is_alone(void *const *slot)
{
	return seen_way(slot) == ALONE ||
	       (seen_way(slot) == UNKNOWN && heap_has_new(slot));
}

/* Where the C++ library's form calls an allocator's, the inner one is taken for the call,
 * and the outer one finds its guard gone. */
static enum heap_part enter_new(void *const *slot, uintptr_t frame, size_t size)
{
	enum heap_part part = heap_enter(frame, size);

	if (part != HEAP_PASS || guard_word & (GUARD_EMITS | GUARD_OURS) ||
	    !is_alone(slot))
		return part;
	guard_word = 0;
	return heap_enter(frame, size);
}

/* Nobody had the form at the start, and our hook of it could not be hidden (find.c).
 * Where memory is short the C++ library's is called, should there be one by now: it asks
 * the program's handler, and throws. Its blocks are malloc's, too. */
static void *new_by_malloc(const struct new_call *c)
{
	size_t form = (size_t)(c->slot - heap_slot(HEAP_FIRST_CXX));
	void *p = heap_any_malloc(c->size, form & FORM_ALIGNED ? c->a : 0);
	const struct link_map *m;
	struct elf_object o;
	new_fn fn = NULL;

	if (p)
		return p;
	if (elf_next_function(elf_our_object(), "__cxa_throw", &m) &&
	    elf_object(&o, m->l_addr, m->l_ld))
		fn = (new_fn)elf_function(&o, heap_names[HEAP_FIRST_CXX + form]);
	return fn ? fn(c->size, c->a, c->b) : NULL;
}

static LONG_WAY void *long_new(void **slot, size_t size, uintptr_t a, uintptr_t b,
			       enum heap_call call)
{
	struct new_call c = {
		slot, (new_fn)find_real_operator(slot), size, a, b, HEAP_PASS, 0
	};
	void *p;

	if (!c.fn)
		return new_by_malloc(&c);
	c.changes = heap_changes();
	if (left_to_malloc(slot, size))
		return c.fn(size, a, b);
	c.part = enter_new(slot, HEAP_FRAME, size);
	if (c.part == HEAP_PASS)
		return c.fn(size, a, b);
	if (is_alone(slot))
		p = new_alone(&c, HEAP_FRAME);
	else
		p = new_through(&c);
	if (c.part == HEAP_WANTED)
		heap_made(call, p, size);
	heap_leave();
	return p;
}

#define NEW(name, params, a, b, call)                                              \
	void *HOOK_EXPORT(name) params                                             \
	{                                                                          \
		void **slot = (void **)&real.name, *fn = kept_real(slot);          \
                                                                                   \
		if (fn && left_to_malloc(slot, size))                              \
			return ((new_fn)fn)(size, (uintptr_t)(a), (uintptr_t)(b)); \
		return long_new(slot, size, (uintptr_t)(a), (uintptr_t)(b), call); \
	}

/* clang-format off */
NEW(_Znwm, (size_t size), 0, 0, HEAP_NEW)
NEW(_Znam, (size_t size), 0, 0, HEAP_NEW_ARRAY)
NEW(_ZnwmRKSt9nothrow_t, (size_t size, const void *nothrow), nothrow, 0, HEAP_NEW)
NEW(_ZnamRKSt9nothrow_t, (size_t size, const void *nothrow), nothrow, 0, HEAP_NEW_ARRAY)
NEW(_ZnwmSt11align_val_t, (size_t size, size_t align), align, 0, HEAP_NEW)
NEW(_ZnamSt11align_val_t, (size_t size, size_t align), align, 0, HEAP_NEW_ARRAY)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *nothrow),
    align, nothrow, HEAP_NEW)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *nothrow),
    align, nothrow, HEAP_NEW_ARRAY)
/* clang-format on */

/* ---- delete ---- */

/* True: what the hook of free does is enough. p may be NULL. */
static inline bool left_to_free(void *const *slot, const void *p)
{
	enum heap_mode mode = heap_mode();

	return mode == HEAP_IDLE || (mode == HEAP_COUNT && seen_way(slot) == THROUGH) ||
	       (mode == HEAP_SAMPLE && !heap_maybe_sampled(p));
}

static LONG_WAY void long_delete(void **slot, void *p, uintptr_t a, uintptr_t b)
{
	enum heap_mode mode;
	uint32_t changes;
	delete_fn fn;

	if (!p)
		return;
	fn = boot_owns(p) ? NULL : (delete_fn)find_real_operator(slot);
	if (!fn) {
		heap_any_free(p);
		return;
	}
	changes = heap_changes();
	mode = heap_mode();
	if (left_to_free(slot, p) || !heap_gone(HEAP_FRAME, HEAP_DELETE, p)) {
		fn(p, a, b);
		return;
	}
	fn(p, a, b);
	if (mode == HEAP_COUNT)
		learn_way(slot, guard_word & GUARD_NESTED, changes);
	heap_leave();
}

#define DELETE(name, params, a, b)                                            \
	void HOOK_EXPORT(name) params                                         \
	{                                                                     \
		void **slot = (void **)&real.name, *fn = kept_real(slot);     \
                                                                              \
		if (fn && !boot_owns(p) && left_to_free(slot, p))             \
			((delete_fn)fn)(p, (uintptr_t)(a), (uintptr_t)(b));   \
		else                                                          \
			long_delete(slot, p, (uintptr_t)(a), (uintptr_t)(b)); \
	}

/* clang-format off */
DELETE(_ZdlPv, (void *p), 0, 0)
DELETE(_ZdaPv, (void *p), 0, 0)
DELETE(_ZdlPvRKSt9nothrow_t, (void *p, const void *nothrow), nothrow, 0)
DELETE(_ZdaPvRKSt9nothrow_t, (void *p, const void *nothrow), nothrow, 0)
DELETE(_ZdlPvm, (void *p, size_t size), size, 0)
DELETE(_ZdaPvm, (void *p, size_t size), size, 0)
DELETE(_ZdlPvSt11align_val_t, (void *p, size_t align), align, 0)
DELETE(_ZdaPvSt11align_val_t, (void *p, size_t align), align, 0)
DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t size, size_t align), size, align)
DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t size, size_t align), size, align)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t,
       (void *p, size_t align, const void *nothrow), align, nothrow)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t,
       (void *p, size_t align, const void *nothrow), align, nothrow)
/* clang-format on */

#endif
