/* SPDX-License-Identifier: Apache-2.0 */
/* An allocation and a call of CUDA come at any moment, also while the interpreter makes
 * frames and takes them down: it is asked for nothing here, and no stack is compared. */
#include "agent/python/pair.h"
#include "agent/core/self.h"
#include "agent/core/stack_pair.h"
#include "agent/python/last.h"

#include <pthread.h>

static uint32_t walk_unasked(struct last *s, const void *innermost)
{
	uint32_t id;

	walk_frames(&s->now, innermost);
	id = last_id(s);
	if (__builtin_expect(id && s->cut, 0))
		last_count(PYTHON_CUT);
	return id;
}

static uint32_t pair_of(struct last *s, uint32_t native, uint32_t python)
{
	struct stack_pair pair = { native, python };
	uint32_t id = python ? stack_pair_add(pair, &s->room) : 0;

	if (python && !id)
		last_count(PYTHON_UNKNOWN);
	return id ? id : native;
}

/* Does this thread run the state? To 3.11 the lock's holder is the whole process's, and a
 * state that was made for another thread passes for the maker's. In 3.11 what runs it
 * lies on its thread's stack: up to the pthread, or to where the program began. */
static bool runs_here(const struct thread *t, const void *state)
{
	extern void *__libc_stack_end;
	uintptr_t here, end;

	if (interpreter.holder() != state)
		return false;
	if (interpreter.layout->minor != 11)
		return true;
	end = t->tid == self.pid ? (uintptr_t)__libc_stack_end
				 : (uintptr_t)pthread_self();
	here = (uintptr_t)layout_at(state, interpreter.layout->state_frame);
	return here > (uintptr_t)__builtin_frame_address(0) && here < end;
}

/* What Python's stack is taken from; NULL: none can be had. Without the lock a state may
 * be another thread's by now, or gone, where programs make states of their own. */
static struct last *held_snap(struct thread *t, const void **innermost)
{
	const void *state = interpreter.thread_state();
	bool here = state && runs_here(t, state);

	*innermost = here ? walk_innermost(interpreter.layout) : NULL;
	return *innermost ? last_of(t) : NULL;
}

static inline bool is_inside_op(const struct last *s, const void *innermost)
{
	return last_is_inside(s, innermost,
			      (uintptr_t)layout_at(innermost, interpreter.layout->where));
}

/* torch lets the lock go in operators. Where none is open an allocation has no line. */
static uint32_t pair_without_lock(struct thread *t, uint32_t native, bool alloc)
{
	const void *state = interpreter.thread_state();
	struct last *s = t->slot[THREAD_PYTHON];
	uint32_t open = 0;

	if (!state || interpreter.finalizing())
		return native;
	if (s && last_is_current(s, t) && s->around && !s->around->end)
		open = s->around_id;
	else if (alloc && interpreter.holder() != state)
		last_count(PYTHON_LINELESS);
	return pair_of(s, native, open);
}

uint32_t pair_alloc(struct thread *t, uint32_t native)
{
	const void *innermost;
	struct last *s = held_snap(t, &innermost);

	if (!s)
		return pair_without_lock(t, native, true);
	return pair_of(s, native,
		       is_inside_op(s, innermost) ? s->around_id
						  : walk_unasked(s, innermost));
}

uint32_t pair_call(struct thread *t, uint32_t native)
{
	const void *innermost;
	struct last *s = held_snap(t, &innermost);
	bool inside = s && is_inside_op(s, innermost);

	if (!native && (!s || inside))
		return 0;
	if (!s)
		return pair_without_lock(t, native, false);
	return pair_of(s, native, inside ? s->around_id : walk_unasked(s, innermost));
}
