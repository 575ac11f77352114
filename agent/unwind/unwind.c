/* SPDX-License-Identifier: Apache-2.0 */
/* From a walk to the id of a stack: callers that were on the last walk keep theirs. */
#include "agent/unwind/unwind.h"
#include "agent/core/thread.h"
#include "agent/unwind/rewalk.h"
#include "base/sys.h"

#include <string.h>

#define SLOT        THREAD_UNWIND
#define OWN_FRAMES  16 /* frames of ours, inside of a walk */
#define CALLEES     4096u /* a power of two, as the next */
#define CALLEES_NEW 256u /* a page of them: of threads that do little there are many */
#define PLAIN       15 /* walks after one that could not be kept: the next cannot either */
#define BATCH       64 /* stacks counted by a thread before it tells */
#define EPOCH_ROUND (1u << 17) /* the table of rules knows epochs modulo this */

/* What a thread counts for itself, and its last walk. */
struct walker {
	struct walker *next;
	struct thread *thread;
	uint32_t turn; /* walks since the last check */
	uint32_t trusted; /* checks that agreed, one after the other */
	uint32_t id; /* of the last walk's stack; 0 = walk */
	uint32_t plain; /* walks to come that do without the last one */
	uint64_t epochs; /* epochs_now() of all ids here */
	uint64_t turns; /* changes of epochs, above an address's bits: in callees' keys */
	unsigned flags;
	struct unwind_near near;
	struct stacks_room room;
	_Atomic uint32_t counts[HEAP_FOREIGN + 1]; /* so far; told: what infos have got */
	_Atomic uint32_t told[HEAP_FOREIGN + 1];
	/* All of a stack, however much of it is to be shown: so that it shares its
	 * callers with others. */
	uintptr_t pc[STACKS_MOST + OWN_FRAMES], again[STACKS_MOST];
	struct unwind_frame frame[STACKS_MOST + OWN_FRAMES];
	uintptr_t bp[STACKS_MOST + OWN_FRAMES];
	/* Frames known by heart: a program goes the same ways again, and this is nearer
	 * than the index of all. */
	unsigned callees, misses; /* rows in use of `callee`; misses since it has grown */
	struct callee {
		uintptr_t pc; /* with the turn in which it was learned */
		uint32_t caller, id;
	} callee[CALLEES];
};

static unsigned depth_shown = 64;
static _Atomic(struct walker *) walkers;

bool unwind_start(unsigned depth, bool often)
{
	if (!unwind_rules_start(often))
		return false;
	if (often)
		stacks_many();
	depth_shown = depth < 1 ? 1 : depth > STACKS_MOST ? STACKS_MOST : depth;
	unwind_bounds_start();
	unwind_find_start();
	unwind_walk_start();
	return true;
}

/* ---- counting ---- */

static struct walker *walker_mine(void)
{
	struct thread *t = thread_mine;
	struct walker *w = t ? t->slot[SLOT] : NULL;

	if (__builtin_expect(w || !t, 1))
		return w;
	w = sys_map(sizeof(*w)); /* most of it is never touched */
	if (!w)
		return NULL;
	w->near.room = STACKS_MOST + OWN_FRAMES;
	w->near.matter = depth_shown + OWN_FRAMES;
	w->near.frame = w->frame;
	w->near.bp = w->bp;
	w->callees = CALLEES_NEW;
	t->slot[SLOT] = w;
	w->thread = t;
	w->next = atomic_load(&walkers);
	while (!atomic_compare_exchange_weak(&walkers, &w->next, w))
		;
	return w;
}

/* Called by the walker's thread, or by another one while that goes on counting. */
static void tell_counts(struct walker *w, struct cycle_info *info)
{
	for (unsigned i = 0; i <= HEAP_FOREIGN; i++) {
		uint32_t now = atomic_load(&w->counts[i]);
		int32_t more = (int32_t)(now - atomic_exchange(&w->told[i], now));

		atomic_fetch_add(&info->heap[i], (uint64_t)(int64_t)more);
	}
}

/* The thread alone writes its counts: so load and store do, without a locked addition. */
static uint32_t bump_count(struct walker *w, enum heap_count what)
{
	uint32_t n = atomic_load_explicit(&w->counts[what], memory_order_relaxed);

	atomic_store_explicit(&w->counts[what], n + 1, memory_order_relaxed);
	return n + 1;
}

static void count_stack(struct walker *w, struct cycle_info *info, unsigned flags)
{
	static const unsigned flag[] = { STACK_CUT, STACK_ENDED, STACK_FOREIGN };
	uint32_t stacks;

	if (!w) {
		atomic_fetch_add(&info->heap[HEAP_STACKS], 1);
		for (unsigned i = 0; i < 3; i++)
			if (flags & flag[i])
				atomic_fetch_add(&info->heap[HEAP_CUT + i], 1);
		return;
	}
	stacks = bump_count(w, HEAP_STACKS);
	for (unsigned i = 0; flags && i < 3; i++)
		if (flags & flag[i])
			bump_count(w, HEAP_CUT + i);
	if (!(stacks % BATCH))
		tell_counts(w, info);
}

void unwind_settle(struct cycle_info *info)
{
	for (struct walker *w = atomic_load(&walkers); w; w = w->next)
		tell_counts(w, info);
}

/* ---- a stack ---- */

static uint64_t epochs_now(void)
{
	return (uint64_t)atomic_load_explicit(&unwind_epoch, memory_order_relaxed) << 32 |
	       atomic_load_explicit(&stacks_epoch, memory_order_relaxed);
}

/* A frame lies at its call: what is at the return address may be the next function. */
static uint32_t add_frame(struct walker *w, uint32_t caller, uintptr_t pc, unsigned flags)
{
	uintptr_t at = pc - 1;
	struct unwind_module *m = unwind_find(at);
	struct stack_frame frame = { m ? unwind_module_id(m) : 0, at };

	if (frame.module)
		frame.offset = at - m->bias;
	return stacks_add(caller, frame, caller ? 0 : flags, w ? &w->room : NULL);
}

/* The id of a stack of which nothing is known. */
static uint32_t id_of(struct walker *w, const struct unwind_result *u,
		      const uintptr_t *pc)
{
	uint32_t id = 0;

	for (unsigned i = u->depth; i--;) {
		id = add_frame(w, id, pc[i], u->flags);
		if (!id)
			return 0;
	}
	return id;
}

/* As add_frame(), where there is a caller, so that flags do not matter. */
static inline uint32_t add_known_frame(struct walker *w, uint32_t caller, uintptr_t pc)
{
	uint64_t hash = (pc ^ (uint64_t)caller << 24) * 0x9e3779b97f4a7c15ull;
	struct callee *c = &w->callee[hash >> 40 & (w->callees - 1)];

	if (pc >> UNWIND_PC_BITS)
		return add_frame(w, caller, pc, 0);
	if (c->pc == (pc | w->turns) && c->caller == caller)
		return c->id;
	*c = (struct callee){ pc | w->turns, caller, add_frame(w, caller, pc, 0) };
	if (++w->misses > w->callees && w->callees < CALLEES) {
		w->callees *= 4;
		w->misses = 0;
	}
	return c->id;
}

/* The id of near's stack. Its `known` outer frames have theirs from the last walk; a
 * frame of the agent's has its caller's. */
static uint32_t id_near(struct walker *w, unsigned known)
{
	struct unwind_near *near = &w->near;
	struct unwind_frame *f = near->frame + known, *end = near->frame + near->count;
	uint32_t id = known ? f[-1].stack : 0;

	for (; f < end; f++) {
		if (!f->own) {
			id = id ? add_known_frame(w, id, f->pc)
				: add_frame(w, 0, f->pc, near->flags);
			if (!id) {
				near->count = 0;
				break;
			}
		}
		f->stack = id;
	}
	return id;
}

/* Walks until the next check: what was right a hundred times is checked less often. */
static inline uint32_t check_every(const struct walker *w)
{
	return w->trusted < UNWIND_TRUSTED ? UNWIND_CHECK : UNWIND_CHECK_TRUSTED;
}

/* The walk `u`, as far as it is to be shown, lies in w->pc. */
static __attribute__((noinline)) void compare_with_fresh(struct unwind_regs regs,
							 const struct unwind_result *u,
							 struct walker *w,
							 struct cycle_info *info)
{
	struct unwind_result v = unwind_frames_fresh(regs, w->again, depth_shown);
	bool cut = u->depth > depth_shown;

	atomic_fetch_add(&info->heap[HEAP_CHECKED], 1);
	if (v.depth == (cut ? depth_shown : u->depth) &&
	    v.flags == (cut ? STACK_CUT : u->flags) &&
	    !memcmp(w->again, w->pc, v.depth * sizeof(w->pc[0]))) {
		w->trusted++;
		return;
	}
	w->trusted = 0;
	atomic_fetch_add(&info->heap[HEAP_DISAGREED], 1);
	unwind_unmapped(); /* what we know is not what is there */
}

/* For a thread that has no state any more: nothing can be kept from walk to walk. */
static __attribute__((noinline)) uint32_t walk_once(struct unwind_regs regs,
						    struct cycle_info *info)
{
	uintptr_t *pc = __builtin_alloca(depth_shown * sizeof(*pc));
	struct unwind_result u = unwind_frames(regs, pc, depth_shown);

	if (info)
		count_stack(NULL, info, u.flags);
	return id_of(NULL, &u, pc);
}

/* A callee's key has the turn in it: so nothing has to be cleared, and no page of callees
 * copied for a fork's child, until the numbers of turns are used up. */
static void forget_walk(struct walker *w, uint64_t epochs)
{
	w->near.count = 0;
	w->turns += 1ull << UNWIND_PC_BITS;
	if (!w->turns)
		memset(w->callee, 0, sizeof(w->callee));
	w->room = (struct stacks_room){ 0 };
	w->epochs = epochs;
}

/* A stack that the next walk cannot begin with (a signal's, a very deep one) is walked
 * plainly, and so are the next PLAIN: each attempt to keep one costs a walk. */
static uint32_t walk_stack(struct unwind_regs regs, struct walker *w,
			   struct cycle_info *info)
{
	uint64_t epochs = epochs_now();
	bool checked = w->turn >= check_every(w), near;
	struct unwind_result u;
	uint32_t id;

	if (w->epochs != epochs)
		forget_walk(w, epochs);
	near = !w->plain && unwind_near(regs, &w->near, &u);
	if (!near) {
		w->plain = w->plain ? w->plain - 1 : PLAIN;
		u = unwind_frames(regs, w->pc, STACKS_MOST);
	}
	if (checked) {
		w->turn = 0;
		if (near)
			unwind_near_pcs(&w->near, w->pc);
		compare_with_fresh(regs, &u, w, info);
	}
	id = near ? id_near(w, u.known) : id_of(w, &u, w->pc);
	w->id = near && u.whole ? id : 0;
	w->flags = u.flags | (u.depth > depth_shown ? STACK_CUT : 0);
	count_stack(w, info, w->flags);
	if (!id && u.depth)
		atomic_fetch_add(&info->heap[HEAP_UNKNOWN_STACK], 1);
	return id;
}

__attribute__((noinline)) uint32_t unwind_stack(struct cycle_info *info, uintptr_t frame)
{
	struct unwind_regs regs = frame ? UNWIND_CALLER_OF(frame) : UNWIND_CALLER;
	struct walker *w = info ? walker_mine() : NULL;

	if (unwind_is_own(regs.pc))
		regs = UNWIND_CALLER;
	if (__builtin_expect(!w, 0))
		return walk_once(regs, info);
	if (++w->turn >= check_every(w) || !w->id || w->epochs != epochs_now() ||
	    !unwind_near_same(&w->near, regs))
		return walk_stack(regs, w, info);
	count_stack(w, info, w->flags);
	return w->id;
}

/* ---- what changes under us ---- */

void unwind_unmapped(void)
{
	uint32_t epoch = atomic_fetch_add(&unwind_epoch, 1) + 1;

	if (!(epoch % EPOCH_ROUND))
		unwind_rules_clear();
}

/* Of the parent's threads only this one goes on. The others' states will be those of new
 * threads, which get walkers of their own: nobody tells the counts of a walker that is
 * not in the list. */
void unwind_fork_child(void)
{
	struct walker *w = thread_mine ? thread_mine->slot[SLOT] : NULL;

	for (struct walker *other = atomic_load(&walkers); other; other = other->next)
		if (other != w)
			other->thread->slot[SLOT] = NULL;
	atomic_store(&walkers, w);
	if (!w)
		return;
	w->next = NULL;
	w->turn = 0;
	w->callees = CALLEES_NEW; /* each page of them would have to be copied */
	w->misses = 0;
	for (unsigned i = 0; i <= HEAP_FOREIGN; i++)
		atomic_store(&w->told[i], atomic_load(&w->counts[i]));
}
