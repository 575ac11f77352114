/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk - the calling thread's Python frames, read from memory.
 *
 * A thread's frames are changed by that thread alone, so while it is in C, with or
 * without the interpreter's lock, they can be read; and what they execute cannot go away
 * meanwhile, for they own it.
 *
 * Threads  each for itself.  Hot path.
 * Memory   the caller's.
 * Errors   0 frames: no Python here.
 * Units    none.
 */
#ifndef PYTHON_WALK_H
#define PYTHON_WALK_H

#include "agent/core/stacks.h"
#include "agent/python/interpreter.h"

#define WALK_ENTRY     1 /* a bit of `where`, as instructions and code are even */
#define WALK_GENERATOR 1 /* the owner of a frame: FRAME_OWNED_BY_GENERATOR */
#define WALK_STEPS     (4 * STACKS_MOST) /* frames looked at, C's among them */

/* Frames, innermost first. Two frames with the same `where` and `index` are at the same
 * place of the same code, unless code objects have been freed in between (freed.h). */
struct walk {
	const void *frame[STACKS_MOST];
	uint64_t where[STACKS_MOST]; /* an instruction's address; to 3.10 the code
					object's. With WALK_ENTRY: C called it */
	uint32_t index[STACKS_MOST]; /* to 3.10 the instruction, else 0 */
	unsigned n;
	bool cut; /* there are outer frames that are not here */
	bool has_id; /* the stack has been given an id since: set by who gave it */
	unsigned moved; /* inner frames; the others are those of the stack before, with
			   its id, at the same places. STACKS_MOST: nobody knows */
};

/* May the thread with this state read its frames? */
static inline bool walk_may_read(const void *state)
{
	return state && !interpreter.finalizing() &&
	       (atomic_load_explicit(&interpreter_tells_end, memory_order_relaxed) ||
		interpreter.holder() == state);
}

static inline const void *walk_frame_of(const struct python_layout *l, const void *state)
{
	const void *at = layout_at(state, l->state_frame);

	return l->through && at ? layout_at(at, l->cframe_frame) : at;
}

/* NULL: the thread has no Python frame. */
static inline const void *walk_innermost(const struct python_layout *l)
{
	const void *state = interpreter.thread_state();

	return __builtin_expect(walk_may_read(state), 1) ? walk_frame_of(l, state) : NULL;
}

/* The same in a thread that holds the interpreter's lock, and is in one of its frames. */
static inline const void *walk_held(const struct python_layout *l)
{
	const void *state = interpreter.thread_state();

	return state ? walk_frame_of(l, state) : NULL;
}

static inline const void *walk_code(const struct python_layout *l, const void *frame)
{
	/* Since 3.14 the low bits are a tag. */
	return (const void *)((uintptr_t)layout_at(frame, l->code) & ~(uintptr_t)7);
}

static inline unsigned walk_owner(const struct python_layout *l, const void *frame)
{
	return ((const uint8_t *)frame)[l->owner];
}

/* A frame that stands where C called Python: it has no code of Python's. */
static inline bool walk_is_helper(const struct python_layout *l, const void *frame)
{
	return l->helper && walk_owner(l, frame) >= l->helper;
}

/* Bytes from the first instruction; below 0: none has begun yet. */
static inline int64_t walk_offset(const struct python_layout *l, const void *frame,
				  const void *code)
{
	if (l->kind == PYTHON_INDEX)
		return (int64_t)(int32_t)layout_word(frame, l->where) * l->unit;
	return (const char *)layout_at(frame, l->where) -
	       ((const char *)code + l->code_start);
}

/* A frame before its first instruction of the source is not complete yet, or is a helper
 * that the interpreter has put around __init__. A generator's is complete from its
 * making; and to 3.10 all are. As _PyFrame_IsIncomplete
 * (Include/internal/pycore_frame.h). */
static inline bool walk_is_early(const struct python_layout *l, const void *frame,
				 const void *code, int64_t offset)
{
	return l->kind != PYTHON_INDEX && walk_owner(l, frame) != WALK_GENERATOR &&
	       offset < 2 * (int64_t)layout_word(code, l->code_first);
}

/* Of a new walk `has_id` is false, or all of it zero. */
void walk_frames(struct walk *w, const void *innermost);

#endif
