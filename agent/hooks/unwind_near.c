/* SPDX-License-Identifier: Apache-2.0 */
/* The walk that begins with what is known of the last one. */
#include "agent/hooks/unwind_walk.h"

/* Half a cache line each: all of them are looked at each time. */
_Static_assert(sizeof(struct unwind_frame) == 32, "frame");

static inline uint32_t below(const struct unwind_near *near, uintptr_t at)
{
	return (uint32_t)(near->end - at);
}

static inline bool is_at(const struct unwind_frame *f, const struct unwind_near *near,
			 const struct unwind_regs *r)
{
	return !((f->pc ^ r->pc) | (f->bp ^ r->bp) | (f->sp ^ below(near, r->sp)));
}

/* The return address lies below the caller's frame. Of what is compared nothing decides
 * where to go on but all of it together: most frames are what they were. */
static inline bool still_is(const struct unwind_frame *f, uintptr_t end)
{
	uintptr_t pc = f->pc, bp = f->bp_at == f->sp + 8 ? pc : f->bp;

	return f->bp_at && !((unwind_word(end - 8 - f->sp) ^ pc) |
			     (unwind_word(end - f->bp_at) ^ bp));
}

/* How many of the frames from number `at` outwards are what they were, given that the
 * first of them is; so far out that it does not matter, they are. */
static inline unsigned still_there(const struct unwind_near *near, unsigned at)
{
	const struct unwind_frame *first = near->frame + at, *f = first;
	const struct unwind_frame *last =
		at > near->matter ? first - near->matter : near->frame;

	while (f > last && still_is(f - 1, near->end))
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
	return usable(near) && is_at(&near->frame[near->count - 1], near, &regs) &&
	       still_there(near, near->count - 1) == near->count;
}

unsigned unwind_near_pcs(const struct unwind_near *near, uintptr_t *pc)
{
	unsigned n = 0;

	for (unsigned i = near->count; i--;)
		if (!near->frame[i].own)
			pc[n++] = near->frame[i].pc;
	return n;
}

/* Field by field: a structure that is made elsewhere is copied before it has arrived. */
static inline void put(struct unwind_frame *f, const struct unwind_walk *w,
		       const struct unwind_near *near)
{
	f->pc = w->r.pc;
	f->bp = w->r.bp;
	f->sp = below(near, w->r.sp);
	f->bp_at = w->bp_at ? below(near, w->bp_at) : 0;
	f->stack = 0;
	f->depth = 0;
	f->own = unwind_is_own(w->r.pc);
}

static inline struct unwind_regs regs_of(const struct unwind_frame *f,
					 const struct unwind_near *near)
{
	return (struct unwind_regs){ f->pc, near->end - f->sp, f->bp };
}

/* New frames are put down from the array's end backwards; at its beginning lie the last
 * walk's. Returns how many of those are still there, *n is where the new ones begin; -1:
 * this stack is not one to be kept. */
static int meet(struct unwind_walk *w, struct unwind_near *near, unsigned at,
		uint64_t epoch, unsigned *n)
{
	struct unwind_frame *frame = near->frame;

	for (*n = near->room; !w->foreign;) {
		while (at && frame[at - 1].sp > below(near, w->r.sp))
			at--;
		if (at && is_at(&frame[at - 1], near, &w->r)) {
			unsigned more = still_there(near, at - 1);

			w->r = regs_of(&frame[at - more], near);
			if (more == at)
				return unwind_goes_on(w, epoch, frame[0].own) ? -1
									      : (int)at;
			at -= more;
			*n -= more;
			memmove(frame + *n, frame + at, more * sizeof(*frame));
		} else if (*n > at) {
			put(&frame[--*n], w, near);
		} else {
			break;
		}
		if (!unwind_goes_on(w, epoch, frame[*n].own))
			return w->foreign ? -1 : 0;
	}
	return -1;
}

bool unwind_near(struct unwind_regs regs, struct unwind_near *near,
		 struct unwind_result *u)
{
	uint64_t epoch = atomic_load_explicit(&unwind_epoch, memory_order_acquire);
	struct unwind_frame *frame = near->frame;
	struct unwind_walk w = { .r = regs };
	unsigned n, depth = 0;
	int at;

	w.b = unwind_bounds(regs.sp, &w.foreign);
	if (w.foreign || w.b.end - regs.sp > UINT32_MAX)
		return false;
	at = usable(near) ? (int)near->count : 0;
	near->end = unwind_own.end;
	at = meet(&w, near, (unsigned)at, epoch, &n);
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
	return true;
}
