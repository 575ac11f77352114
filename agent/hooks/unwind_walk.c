/* SPDX-License-Identifier: Apache-2.0 */
/* From frame to frame, by the rules of the code; the rules are kept by address. */
#include "agent/core/stacks.h"
#include "agent/hooks/unwind_parts.h"

#include <string.h>

#define RULES      16384u /* a power of two; 256 KiB */
#define RULES_BITS 14
#define PC_BITS    47
#define PAGE       4096ull
#define NOTHING    16u /* an end below which nothing lies */

/* One rule: two words that are stored one after the other. The first is the address and
 * the epoch, xor'ed with the rule: two halves that do not belong together are nobody's.
 */
static struct {
	_Atomic uint64_t key, rule;
} rules[RULES] __attribute__((aligned(64)));

static uintptr_t own_begin, own_size; /* the agent's code */

void unwind_walk_start(void)
{
#ifndef HOOK_NO_EXPORT /* in a unit test, the agent is a part of the program */
	extern const char __ehdr_start[] __attribute__((visibility("hidden")));
	extern const char etext[] __attribute__((visibility("hidden")));

	own_begin = (uintptr_t)__ehdr_start;
	own_size = (uintptr_t)etext - own_begin;
#endif
}

/* An epoch's number comes again. */
void unwind_rules_clear(void)
{
	for (size_t i = 0; i < RULES; i++) {
		atomic_store_explicit(&rules[i].key, 0, memory_order_relaxed);
		atomic_store_explicit(&rules[i].rule, 0, memory_order_relaxed);
	}
}

static inline size_t slot_of(uintptr_t at)
{
	return at * 0x9e3779b97f4a7c15ull >> (64 - RULES_BITS);
}

static uint64_t rule_fresh(uintptr_t at, struct unwind_fresh *known)
{
	struct unwind_module *m = unwind_find(at);
	struct unwind_fresh none = { 0, NULL, RULE_NONE }, *k;

	if (!m || !unwind_find_holds(m, at))
		return RULE_NONE;
	k = known ? &known[slot_of(at) % UNWIND_FRESH] : &none;
	if (k->at != at || k->module != m)
		*k = (struct unwind_fresh){ at, m, unwind_tables_rule(&m->tables, at) };
	return k->rule;
}

void unwind_rule_keep(uintptr_t at, uint64_t epoch, uint64_t rule)
{
	size_t slot = slot_of(at);

	atomic_store_explicit(&rules[slot].key, (at | epoch << PC_BITS) ^ rule,
			      memory_order_relaxed);
	atomic_store_explicit(&rules[slot].rule, rule, memory_order_relaxed);
}

/* Code that is no object's (made at run time) is not kept: an object may come there. */
static __attribute__((noinline)) uint64_t rule_learn(uintptr_t at, uint64_t epoch)
{
	struct unwind_module *m = at >> PC_BITS ? NULL : unwind_find(at);
	uint64_t rule = m ? unwind_tables_rule(&m->tables, at) : RULE_NONE;

	if (m)
		unwind_rule_keep(at, epoch, rule);
	return rule;
}

static inline uint64_t rule_at(uintptr_t at, uint64_t epoch)
{
	uint64_t key = at | epoch << PC_BITS, rule;
	size_t slot = slot_of(at);

	rule = atomic_load_explicit(&rules[slot].rule, memory_order_relaxed);
	if (__builtin_expect(
		    (atomic_load_explicit(&rules[slot].key, memory_order_relaxed) ^
		     rule) == key,
		    1))
		return rule;
	return rule_learn(at, epoch);
}

static inline bool may_load(uintptr_t at, uintptr_t sp, uintptr_t end)
{
	return at >= sp && at <= end - sizeof(uintptr_t);
}

/* Other functions' frames, which a sanitizer takes amiss. */
static inline __attribute__((no_sanitize("address", "thread"))) uintptr_t word(
	uintptr_t at)
{
	uintptr_t w;

	memcpy(&w, (const void *)at, sizeof(w));
	return w;
}

/* To the caller. false: something would have to be loaded that may not be. *bp_at: where
 * rbp was loaded from; 0: more was loaded than that and the return address. */
static inline bool step(struct unwind_regs *r, uint64_t rule, uintptr_t end,
			uintptr_t *bp_at)
{
	enum rule_kind kind = rule_kind(rule);
	bool loads = rule_bp(rule) == BP_AT_CFA || rule_bp(rule) == BP_AT_BP;
	uintptr_t base = kind == RULE_SP || kind == RULE_LOAD_SP ? r->sp : r->bp;
	uintptr_t cfa = base + (uintptr_t)rule_offset(rule), at = 0;

	if (kind == RULE_LOAD_SP || kind == RULE_LOAD_BP) {
		if (!may_load(cfa, r->sp, end))
			return false;
		cfa = word(cfa) + (uintptr_t)rule_add(rule);
	}
	/* Up, always: so it ends. */
	if (cfa <= r->sp || cfa > end || cfa - r->sp < 8)
		return false;
	if (loads) {
		at = (rule_bp(rule) == BP_AT_CFA ? cfa : r->bp) +
		     (uintptr_t)rule_bp_offset(rule);
		if (!may_load(at, r->sp, end))
			return false;
		r->bp = word(at);
	} else if (rule_bp(rule) == BP_LOST) {
		r->bp = 0; /* whatever needs it cannot be in [sp, end) */
	}
	r->pc = word(cfa - 8);
	r->sp = cfa;
	*bp_at = kind != RULE_SP && kind != RULE_BP ? 0 : loads ? at : cfa - 8;
	return true;
}

/* Out of a signal's handler. Where the signal came is no return address: one past it
 * stands for it, as if it were one. */
static bool step_signal(struct unwind_regs *r, struct unwind_bounds *b)
{
	uintptr_t sp;

	if (!may_load(r->sp + SIGNAL_PC, r->sp, b->end))
		return false;
	sp = word(r->sp + SIGNAL_SP);
	r->bp = word(r->sp + SIGNAL_BP);
	r->pc = word(r->sp + SIGNAL_PC) + 1;
	if (sp - unwind_own.lo < unwind_own.end - unwind_own.lo) {
		if (r->sp - unwind_own.lo < unwind_own.end - unwind_own.lo && sp <= r->sp)
			return false;
		*b = unwind_own;
	} else if (sp <= r->sp || sp >= b->end) {
		b->end = NOTHING; /* but where it was is known */
	}
	r->sp = sp;
	return true;
}

struct walk {
	struct unwind_regs r;
	struct unwind_bounds b;
	bool foreign;
	uintptr_t bp_at; /* of the last step */
	struct unwind_result u;
	uintptr_t *pc;
	unsigned most;
};

/* On a stack whose end is not known: our own frames are certain to be there, and so is
 * the page that each of them ends in. */
static bool step_own(struct walk *w, uint64_t rule)
{
	uintptr_t end;

	if (!step(&w->r, rule, UINTPTR_MAX, &w->bp_at))
		return false;
	end = ((w->r.sp - 1) | (PAGE - 1)) + 1;
	if (end > w->b.end)
		w->b.end = end;
	return true;
}

/* What is neither a plain frame pointer nor plainly wrong; false when it ends here. */
static bool step_any(struct walk *w, uint64_t rule, bool own)
{
	bool fine;

	w->bp_at = 0;
	switch (rule_kind(rule)) {
	case RULE_NONE:
		w->u.flags |= STACK_ENDED;
		return false;
	case RULE_OUTERMOST:
		w->u.whole = true;
		return false;
	case RULE_SIGNAL:
		fine = step_signal(&w->r, &w->b);
		w->foreign = w->b.end != unwind_own.end;
		break;
	default:
		fine = w->foreign && own ? step_own(w, rule)
					 : step(&w->r, rule, w->b.end, &w->bp_at);
	}
	if (!fine)
		w->u.flags |= w->foreign ? STACK_FOREIGN : STACK_ENDED;
	return fine;
}

static inline bool to_caller(struct walk *w, uint64_t rule, bool own)
{
	if (__builtin_expect(rule != RULE_FRAME_POINTER || w->r.bp < w->r.sp ||
				     w->r.bp > w->b.end - 16,
			     0))
		return step_any(w, rule, own);
	w->bp_at = w->r.bp;
	w->r.sp = w->r.bp + 16;
	w->r.pc = word(w->r.bp + 8);
	w->r.bp = word(w->r.bp);
	return true;
}

static inline bool is_own(uintptr_t pc)
{
	return pc - own_begin < own_size;
}

bool unwind_is_own(uintptr_t pc)
{
	return is_own(pc);
}

/* false: there is one more than is asked for. Our own are not counted. */
static inline bool take(struct walk *w, uintptr_t pc, bool own)
{
	if (own)
		return true;
	if (__builtin_expect(w->u.depth == w->most, 0)) {
		w->u.flags |= STACK_CUT;
		w->u.whole = true;
		return false;
	}
	w->pc[w->u.depth++] = pc;
	return true;
}

/* ---- the last walk ---- */

static inline bool same_regs(const struct unwind_regs *a, const struct unwind_regs *b)
{
	return !((a->sp ^ b->sp) | (a->pc ^ b->pc) | (a->bp ^ b->bp));
}

/* How many of the frames from number `at` outwards are what they were, given that the
 * first of them is; so far out that it does not matter, they are. */
static inline unsigned still_there(const struct unwind_near *near, unsigned at)
{
	const struct unwind_frame *first = near->frame + at, *f = first;
	const struct unwind_frame *last =
		at > near->matter ? first - near->matter : near->frame;

	while (f > last && f[-1].bp_at && word(f[-1].r.sp - 8) == f[-1].r.pc &&
	       word(f[-1].bp_at) == f[-1].bp_word)
		f--;
	return f == last ? at + 1 : (unsigned)(first - f) + 1;
}

static bool usable(const struct unwind_near *near)
{
	return near->count && near->end == unwind_own.end &&
	       near->epoch == atomic_load_explicit(&unwind_epoch, memory_order_acquire);
}

bool unwind_near_same(const struct unwind_near *near, struct unwind_regs regs)
{
	return usable(near) && same_regs(&near->frame[near->count - 1].r, &regs) &&
	       still_there(near, near->count - 1) == near->count;
}

unsigned unwind_near_pcs(const struct unwind_near *near, uintptr_t *pc)
{
	unsigned n = 0;

	for (unsigned i = near->count; i--;)
		if (!near->frame[i].own)
			pc[n++] = near->frame[i].r.pc;
	return n;
}

/* To the caller, if that is somebody; 0: how threads begin that are nobody's. */
static inline bool goes_on(struct walk *w, uint64_t epoch, bool own)
{
	return to_caller(w, rule_at(w->r.pc - 1, epoch), own) && w->r.pc;
}

/* New frames are put down from the array's end backwards; at its beginning lie the last
 * walk's. Returns how many of those are still there, *n is where the new ones begin; -1:
 * this stack is not one to be kept. */
static int meet(struct walk *w, struct unwind_near *near, uint64_t epoch, unsigned *n)
{
	struct unwind_frame *frame = near->frame;
	unsigned at = usable(near) ? near->count : 0, more;

	for (*n = near->room; !w->foreign;) {
		while (at && frame[at - 1].r.sp < w->r.sp)
			at--;
		if (at && same_regs(&frame[at - 1].r, &w->r)) {
			stacks_expect(frame[at - 1].stack);
			more = still_there(near, at - 1);
			*w = (struct walk){ .r = frame[at - more].r, .b = w->b };
			if (more == at)
				return goes_on(w, epoch, frame[0].own) ? -1 : (int)at;
			at -= more;
			*n -= more;
			memmove(frame + *n, frame + at, more * sizeof(*frame));
		} else if (*n > at) {
			frame[--*n] = (struct unwind_frame){
				.r = w->r,
				.bp_at = w->bp_at,
				.bp_word = w->bp_at == w->r.sp - 8 ? w->r.pc : w->r.bp,
				.own = is_own(w->r.pc),
			};
		} else {
			break;
		}
		if (!goes_on(w, epoch, frame[*n].own))
			return w->foreign ? -1 : 0;
	}
	return -1;
}

/* ---- all of it ---- */

bool unwind_near(struct unwind_regs regs, struct unwind_near *near,
		 struct unwind_result *u)
{
	uint64_t epoch = atomic_load_explicit(&unwind_epoch, memory_order_acquire);
	struct unwind_frame *frame = near->frame;
	struct walk w = { .r = regs };
	unsigned n, depth = 0;
	int at;

	w.b = unwind_bounds(regs.sp, &w.foreign);
	if (w.foreign)
		return false;
	at = meet(&w, near, epoch, &n);
	near->count = 0;
	if (at < 0)
		return false;
	*u = w.u;
	u->known = near->flags == w.u.flags ? (unsigned)at : 0;
	memmove(frame + at, frame + n, (near->room - n) * sizeof(*frame));
	n = (unsigned)at + near->room - n;
	if (at)
		depth = frame[at - 1].depth;
	for (; (unsigned)at < n; at++)
		frame[at].depth = depth += !frame[at].own;
	if (depth > STACKS_MOST)
		return false;
	u->depth = depth;
	near->count = n;
	near->flags = w.u.flags;
	near->epoch = epoch;
	near->end = unwind_own.end;
	return true;
}

struct unwind_result unwind_frames(struct unwind_regs regs, uintptr_t *pc, unsigned most)
{
	uint64_t epoch = atomic_load_explicit(&unwind_epoch, memory_order_acquire);
	struct walk w = { .r = regs, .pc = pc, .most = most };
	bool own;

	w.b = unwind_bounds(regs.sp, &w.foreign);
	do
		own = is_own(w.r.pc);
	while (w.r.pc && take(&w, w.r.pc, own) && goes_on(&w, epoch, own));
	return w.u;
}

struct unwind_result unwind_frames_fresh(struct unwind_regs regs, uintptr_t *pc,
					 unsigned most,
					 struct unwind_fresh known[UNWIND_FRESH])
{
	struct walk w = { .r = regs, .pc = pc, .most = most };
	bool own;

	w.b = unwind_bounds(regs.sp, &w.foreign);
	do
		own = is_own(w.r.pc);
	while (w.r.pc && take(&w, w.r.pc, own) &&
	       to_caller(&w, rule_fresh(w.r.pc - 1, known), own));
	return w.u;
}
