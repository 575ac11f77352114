/* SPDX-License-Identifier: Apache-2.0 */
/*
 * last - the calling thread's last Python stack, and what it knows of code objects.
 *
 * Frames that have not moved since keep their ids, so that only the inner ones that are
 * new are stored (stacks.h, codes.h).
 *
 * Threads  each for itself, between emit_enter and emit_leave.  Hot path.
 * Memory   about 53 KB for each thread, from the arena, at its first stack.
 * Errors   NULL or id 0: no room, counted in the window.
 * Units    an id as stacks.h has them.
 */
#ifndef PYTHON_LAST_H
#define PYTHON_LAST_H

#include "agent/core/emit.h"
#include "agent/python/freed.h"
#include "agent/python/known.h"
#include "agent/python/walk.h"

#define LAST_CHECK 97 /* one stack in so many is compared with the interpreter's own */

struct last { /* of a thread */
	/* With another one of these all that is kept by an address is void. */
	uint32_t epoch; /* stacks_epoch */
	uint32_t tid; /* whose it is: a state is used again */
	uint64_t cycle;
	uint32_t freed; /* code objects that were gone, and are forgotten here */
	unsigned n; /* frames of the last stack, outermost first */
	bool cut; /* of the last stack */
	uint32_t checks; /* stacks until one is compared */
	uint32_t tries; /* to compare one */
	struct stacks_room room;
	/* the operator around what comes */
	const struct record *around;
	const void *frame; /* the innermost when it began ... */
	uint64_t at; /* ... and where that was */
	uint32_t around_id;
	uint64_t where[STACKS_MOST];
	uint32_t index[STACKS_MOST];
	uint32_t id[STACKS_MOST];
	const void *code_of[STACKS_MOST];
	struct known known;
	struct walk now;
	char file[CODES_TEXT], name[CODES_TEXT];
};

void last_count(enum python_count what);
uint32_t last_code(struct last *s, const void *code); /* its id; 0: no room */
/* The id of s->now, whose `kept` outermost frames are those of the last stack; 0: none
 * can be had. */
uint32_t last_add(struct last *s, unsigned kept);
/* Nothing of what was kept counts any more. From a thread's first stack in a window on it
 * is noted when code goes. */
struct last *last_anew(struct thread *t);
/* Code objects that have gone are forgotten. */
void last_forget(struct last *s);

static inline bool last_is_current(const struct last *s, const struct thread *t)
{
	return s && s->cycle == t->cycle && s->tid == t->tid &&
	       s->epoch == atomic_load_explicit(&stacks_epoch, memory_order_relaxed);
}

/* What the thread knows, as of now. */
static inline struct last *last_of(struct thread *t)
{
	struct last *s = t->slot[THREAD_PYTHON];

	if (__builtin_expect(!last_is_current(s, t), 0) && !(s = last_anew(t)))
		return NULL;
	if (__builtin_expect(s->freed != freed_now(), 0))
		last_forget(s);
	return s;
}

/* How many of the outermost frames are those of the last stack. */
static inline unsigned last_kept(const struct last *s, const struct walk *w)
{
	unsigned i = 0, n = w->n < s->n ? w->n : s->n;

	if (w->cut != s->cut)
		return 0;
	if (w->moved < STACKS_MOST && s->n == w->n)
		return w->n - w->moved;
	while (i < n && s->where[i] == w->where[w->n - 1 - i] &&
	       s->index[i] == w->index[w->n - 1 - i])
		i++;
	return i;
}

/* The id of the stack that was walked last; 0: none can be had. */
static inline uint32_t last_id(struct last *s)
{
	unsigned kept = last_kept(s, &s->now);
	uint32_t id;

	if (!kept || kept != s->now.n) {
		id = last_add(s, kept);
		s->now.has_id = id;
		return id;
	}
	s->n = kept;
	s->now.has_id = true;
	return s->id[kept - 1];
}

/* No Python code can have run since `around` began if the same frame is innermost, and is
 * at the same instruction. */
static inline bool last_is_inside(const struct last *s, const void *frame, uint64_t at)
{
	return s->around && s->frame == frame && s->at == at && !s->around->end;
}

#endif
