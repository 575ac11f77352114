/* SPDX-License-Identifier: Apache-2.0 */
/* The walk that begins with what is known of the last one. */
#include "agent/unwind/rewalk.h"

/* Half a cache line each: all of them are looked at each time. */
_Static_assert(sizeof(struct unwind_frame) == 32, "frame");

static inline int32_t from_end(const struct unwind_near *near, uintptr_t at)
{
	return (int32_t)(at - near->end);
}

static inline bool is_at(const struct unwind_near *near, unsigned i,
			 const struct unwind_regs *r)
{
	const struct unwind_frame *f = &near->frame[i];

	return !((f->pc ^ r->pc) | (near->bp[i] ^ r->bp) |
		 (uint32_t)(f->sp ^ from_end(near, r->sp)));
}

/* Not 0: the frame is another one than last time. Its return address lies just below the
 * caller's frame. Both words are compared without a branch between them: most frames are
 * what they were. */
static inline uintptr_t frame_changed(const struct unwind_frame *f, uintptr_t end)
{
	return (unwind_word(end + (uintptr_t)f->sp - 8) ^ f->pc) |
	       (unwind_word(end + (uintptr_t)f->at) ^ f->word);
}

/* How many frames from number `at` outwards are what they were, given that the first of
 * them is. Frames too far out to be shown count as what they were, unseen. */
static inline unsigned still_there(const struct unwind_near *near, unsigned at)
{
	const struct unwind_frame *first = near->frame + at, *f = first;
	const struct unwind_frame *last =
		at > near->matter ? first - near->matter : near->frame;
	uintptr_t end = near->end;

	while (f - last >= 2 && !(frame_changed(f - 1, end) | frame_changed(f - 2, end)))
		f -= 2;
	while (f > last && !frame_changed(f - 1, end))
		f--;
	return f == last ? at + 1 : (unsigned)(first - f) + 1;
}

static bool still_holds(const struct unwind_near *near)
{
	return near->count && near->end == unwind_own.end &&
	       near->epoch == atomic_load_explicit(&unwind_epoch, memory_order_acquire);
}

bool unwind_near_same(const struct unwind_near *near, struct unwind_regs regs)
{
	return still_holds(near) && is_at(near, near->count - 1, &regs) &&
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

/* Field by field: a structure that is built elsewhere and then copied would be loaded by
 * wider loads than its stores were, which wait for those to reach the cache. */
static inline void put_frame(struct unwind_near *near, unsigned i,
			     const struct unwind_walk *w)
{
	struct unwind_frame *f = &near->frame[i];
	int32_t sp = from_end(near, w->r.sp),
		at = w->bp_at ? from_end(near, w->bp_at) : 0;

	f->pc = w->r.pc;
	f->word = at == sp - 8 ? w->r.pc : w->r.bp;
	f->sp = sp;
	f->at = at;
	if (__builtin_expect(!at, 0)) { /* no plain rule led here: never what it was */
		f->word = ~w->r.pc;
		f->at = sp - 8;
	}
	f->stack = 0;
	f->depth = 0;
	f->own = unwind_is_own(w->r.pc);
	near->bp[i] = w->r.bp;
}

static inline struct unwind_regs regs_of(const struct unwind_near *near, unsigned i)
{
	const struct unwind_frame *f = &near->frame[i];

	return (struct unwind_regs){ f->pc, near->end + (uintptr_t)f->sp, near->bp[i] };
}

static inline void move_frames(struct unwind_near *near, unsigned to, unsigned from,
			       unsigned n)
{
	memmove(near->frame + to, near->frame + from, n * sizeof(*near->frame));
	memmove(near->bp + to, near->bp + from, n * sizeof(*near->bp));
}

/* New frames are put down from the array's end backwards; at its beginning lie the last
 * walk's. Returns how many of those are still there, *n is where the new ones begin; -1:
 * this stack is not one to be kept. */
static int meet_last_walk(struct unwind_walk *w, struct unwind_near *near, unsigned at,
			  uint64_t epoch, unsigned *n)
{
	struct unwind_frame *frame = near->frame;

	for (*n = near->room; !w->foreign;) {
		while (at && frame[at - 1].sp < from_end(near, w->r.sp))
			at--;
		if (at && is_at(near, at - 1, &w->r)) {
			unsigned more = still_there(near, at - 1);

			w->r = regs_of(near, at - more);
			if (more == at)
				return unwind_goes_on(w, epoch, frame[0].own) ? -1
									      : (int)at;
			at -= more;
			*n -= more;
			move_frames(near, *n, at, more);
		} else if (*n > at) {
			put_frame(near, --*n, w);
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
	if (w.foreign || w.b.end - regs.sp > INT32_MAX)
		return false;
	at = still_holds(near) ? (int)near->count : 0;
	near->end = unwind_own.end;
	at = meet_last_walk(&w, near, (unsigned)at, epoch, &n);
	near->count = 0;
	if (at < 0)
		return false;
	*u = w.u;
	u->known = near->flags == w.u.flags ? (unsigned)at : 0;
	move_frames(near, (unsigned)at, n, near->room - n);
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
