/* SPDX-License-Identifier: Apache-2.0 */
/* From a walk to the id of a stack: what was walked lately is known by its addresses. */
#include "agent/hooks/unwind.h"
#include "agent/core/arena.h"
#include "agent/core/sys.h"
#include "agent/core/thread.h"
#include "agent/hooks/unwind_parts.h"

#include <string.h>

#define SLOT        1 /* of struct thread's, ours */
#define KNOWN_BYTES (4u << 20)
#define KNOWN_MOST  8192u /* stacks */
#define OWN_FRAMES  16 /* of ours, inside of a walk */
#define BATCH       64 /* stacks counted by a thread before it tells */
#define EPOCH_ROUND (1u << 17) /* the table of rules knows epochs modulo this */

/* A stack walked lately. seq is odd while it is written; whoever reads it compares all
 * of it and looks at seq again. */
struct known {
	_Atomic uint32_t seq;
	_Atomic uint32_t id;
	_Atomic uint64_t epochs; /* unwind_epoch, stacks_epoch */
	_Atomic uint64_t hash;
	_Atomic uint32_t depth, flags;
	_Atomic uintptr_t pc[];
};

/* What a thread counts for itself, and its last walk. */
struct walker {
	struct walker *next;
	uint32_t turn; /* since the last check */
	uint32_t id; /* of the last walk's stack; 0 = walk */
	uint64_t epochs; /* of that id */
	unsigned flags;
	struct unwind_near near;
	_Atomic uint32_t counts[HEAP_FOREIGN + 1];
};

static unsigned depth_most = 64;
static uint8_t *known; /* KNOWN_BYTES */
static size_t known_size, known_count; /* of one; a power of two of them */
static _Atomic(struct walker *) walkers;

void unwind_start(unsigned depth)
{
	depth_most = depth < 1 ? 1 : depth > STACKS_MOST ? STACKS_MOST : depth;
	unwind_bounds_start();
	unwind_find_start();
	unwind_walk_start();
	known_size = sizeof(struct known) + depth_most * sizeof(uintptr_t);
	known_size = (known_size + 63) & ~(size_t)63;
	for (known_count = KNOWN_MOST; known_count * known_size > KNOWN_BYTES;)
		known_count /= 2;
	if (!known)
		known = sys_map(KNOWN_BYTES);
}

__attribute__((noinline)) unsigned unwind_walk(uintptr_t *pc, unsigned most,
					       unsigned *flags)
{
	struct unwind_result u = unwind_frames(UNWIND_CALLER, pc, most, NULL);

	*flags = u.flags;
	return u.depth;
}

/* ---- counting ---- */

static struct walker *walker_mine(void)
{
	struct thread *t = thread_mine;
	struct walker *w = t ? t->slot[SLOT] : NULL;
	unsigned room = depth_most + OWN_FRAMES;

	if (__builtin_expect(w || !t, 1))
		return w;
	w = arena_alloc(sizeof(*w) + 2 * room * sizeof(struct unwind_frame));
	if (!w)
		return NULL;
	w->near.room = room;
	w->near.last = (struct unwind_frame *)(w + 1);
	w->near.next = w->near.last + room;
	t->slot[SLOT] = w;
	w->next = atomic_load(&walkers);
	while (!atomic_compare_exchange_weak(&walkers, &w->next, w))
		;
	return w;
}

static void tell(struct walker *w, struct cycle_info *info)
{
	for (unsigned i = 0; i <= HEAP_FOREIGN; i++)
		atomic_fetch_add(&info->heap[i], atomic_exchange(&w->counts[i], 0));
}

static void bump(struct walker *w, enum heap_count what)
{
	uint32_t n = atomic_load_explicit(&w->counts[what], memory_order_relaxed);

	atomic_store_explicit(&w->counts[what], n + 1, memory_order_relaxed);
}

static void count(struct walker *w, struct cycle_info *info, unsigned flags)
{
	static const unsigned flag[] = { STACK_CUT, STACK_ENDED, STACK_FOREIGN };
	struct walker once = { 0 };
	bool mine = w;

	w = mine ? w : &once;
	bump(w, HEAP_STACKS);
	for (unsigned i = 0; flags && i < 3; i++)
		if (flags & flag[i])
			bump(w, HEAP_CUT + i);
	if (atomic_load_explicit(&w->counts[HEAP_STACKS], memory_order_relaxed) >=
		    BATCH ||
	    !mine)
		tell(w, info);
}

void unwind_settle(struct cycle_info *info)
{
	for (struct walker *w = atomic_load(&walkers); w; w = w->next)
		tell(w, info);
}

/* ---- what was walked lately ---- */

static struct known *known_at(uint64_t hash)
{
	return (struct known *)(known + (hash >> 32 & (known_count - 1)) * known_size);
}

static uint64_t epochs_now(void)
{
	return (uint64_t)atomic_load_explicit(&unwind_epoch, memory_order_relaxed) << 32 |
	       atomic_load_explicit(&stacks_epoch, memory_order_relaxed);
}

static uint32_t known_id(struct known *k, const struct unwind_result *u,
			 const uintptr_t *pc, uint64_t epochs)
{
	uint32_t seq = atomic_load_explicit(&k->seq, memory_order_acquire), id;
	uintptr_t differs = 0;

	if (seq & 1 || atomic_load_explicit(&k->hash, memory_order_relaxed) != u->hash ||
	    atomic_load_explicit(&k->epochs, memory_order_relaxed) != epochs ||
	    atomic_load_explicit(&k->depth, memory_order_relaxed) != u->depth ||
	    atomic_load_explicit(&k->flags, memory_order_relaxed) != u->flags)
		return 0;
	id = atomic_load_explicit(&k->id, memory_order_relaxed);
	for (unsigned i = 0; i < u->depth; i++)
		differs |= atomic_load_explicit(&k->pc[i], memory_order_relaxed) ^ pc[i];
	atomic_thread_fence(memory_order_acquire);
	return differs || atomic_load_explicit(&k->seq, memory_order_relaxed) != seq ? 0
										     : id;
}

static void known_store(struct known *k, const struct unwind_result *u,
			const uintptr_t *pc, uint64_t epochs, uint32_t id)
{
	uint32_t seq = atomic_load_explicit(&k->seq, memory_order_relaxed);

	if (seq & 1 || !atomic_compare_exchange_strong(&k->seq, &seq, seq + 1))
		return; /* another thread is at it, or we are in a handler within
			   ourselves */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&k->hash, u->hash, memory_order_relaxed);
	atomic_store_explicit(&k->epochs, epochs, memory_order_relaxed);
	atomic_store_explicit(&k->depth, u->depth, memory_order_relaxed);
	atomic_store_explicit(&k->flags, u->flags, memory_order_relaxed);
	atomic_store_explicit(&k->id, id, memory_order_relaxed);
	for (unsigned i = 0; i < u->depth; i++)
		atomic_store_explicit(&k->pc[i], pc[i], memory_order_relaxed);
	atomic_store_explicit(&k->seq, seq + 2, memory_order_release);
}

/* ---- a stack ---- */

static __attribute__((noinline)) uint32_t intern(const struct unwind_result *u,
						 const uintptr_t *pc)
{
	struct stack_frame *frame = __builtin_alloca(u->depth * sizeof(*frame));

	for (unsigned i = 0; i < u->depth; i++) {
		uintptr_t at = pc[i] - 1;
		struct unwind_module *m = unwind_find(at);

		frame[i].module = m ? unwind_module_id(m) : 0;
		frame[i].offset = frame[i].module ? at - m->bias : at;
	}
	return stacks_add(frame, u->depth, u->flags);
}

static __attribute__((noinline)) void check(struct unwind_regs regs,
					    const struct unwind_result *u,
					    const uintptr_t *pc, struct cycle_info *info)
{
	uintptr_t *again = __builtin_alloca(depth_most * sizeof(*again));
	struct unwind_result v = unwind_frames_fresh(regs, again, depth_most);

	atomic_fetch_add(&info->heap[HEAP_CHECKED], 1);
	if (v.hash == u->hash && v.depth == u->depth && v.flags == u->flags &&
	    !memcmp(again, pc, v.depth * sizeof(*pc)))
		return;
	atomic_fetch_add(&info->heap[HEAP_DISAGREED], 1);
	unwind_unmapped(); /* what we know is not what is there */
}

static uint32_t id_of(const struct unwind_result *u, const uintptr_t *pc, uint64_t epochs,
		      struct cycle_info *info)
{
	struct known *k;
	uint32_t id;

	if (!u->depth || !known)
		return 0;
	k = known_at(u->hash);
	id = known_id(k, u, pc, epochs);
	if (__builtin_expect(id != 0, 1))
		return id;
	id = intern(u, pc);
	if (id)
		known_store(k, u, pc, epochs, id);
	else if (info)
		atomic_fetch_add(&info->heap[HEAP_UNKNOWN_STACK], 1);
	return id;
}

static uint32_t walk(struct unwind_regs regs, struct walker *w, struct cycle_info *info)
{
	uintptr_t *pc = __builtin_alloca(depth_most * sizeof(*pc));
	struct unwind_result u;
	uint64_t epochs = epochs_now();
	uint32_t id;

	u = unwind_frames(regs, pc, depth_most, w ? &w->near : NULL);
	if (info)
		count(w, info, u.flags);
	if (w && __builtin_expect(w->turn >= UNWIND_CHECK, 0)) {
		w->turn = 0;
		check(regs, &u, pc, info);
	}
	id = id_of(&u, pc, epochs, info);
	if (w) {
		w->id = u.whole ? id : 0;
		w->epochs = epochs;
		w->flags = u.flags;
	}
	return id;
}

__attribute__((noinline)) uint32_t unwind_stack(struct cycle_info *info)
{
	struct unwind_regs regs = UNWIND_CALLER;
	struct walker *w = info ? walker_mine() : NULL;

	if (!w || ++w->turn >= UNWIND_CHECK || !w->id || w->epochs != epochs_now() ||
	    !unwind_near_same(&w->near, regs))
		return walk(regs, w, info);
	count(w, info, w->flags);
	return w->id;
}

/* ---- what changes under us ---- */

void unwind_unmapped(void)
{
	uint32_t epoch = atomic_fetch_add(&unwind_epoch, 1) + 1;

	if (!(epoch % EPOCH_ROUND))
		unwind_rules_clear();
}

void unwind_fork_child(void)
{
	atomic_store(&walkers, NULL);
	for (size_t i = 0; known && i < known_count; i++) {
		struct known *k = (struct known *)(known + i * known_size);

		/* Whoever was writing it is not with us. */
		if (atomic_load(&k->seq) & 1)
			atomic_store(&k->seq, 0);
	}
}
