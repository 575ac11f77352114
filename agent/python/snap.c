/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack is read anew each time, and compared with the thread's last one from the
 * outermost frame on. To stop at a frame that was there before would be wrong: frames lie
 * at the same addresses again when another caller calls the same function.
 */
#include "agent/python/snap.h"
#include "agent/core/codes.h"
#include "agent/core/emit.h"
#include "agent/core/self.h"
#include "agent/core/stack_pair.h"
#include "agent/python/check.h"
#include "agent/python/freed.h"
#include "agent/python/text.h"
#include "base/arena.h"

#include <errno.h>
#include <pthread.h>

#define SLOT  THREAD_PYTHON
#define KNOWN 256 /* code objects whose ids a thread remembers; a power of two */

struct known_code { /* of an older turn: nothing is known */
	const void *code;
	uint32_t id, turn;
};

struct snap { /* of a thread */
	/* With another one of these all that is kept by an address is void. */
	uint32_t epoch; /* stacks_epoch */
	uint32_t tid; /* whose it is: a state is used again */
	uint64_t cycle;
	uint32_t freed; /* code objects that were gone, and are forgotten here */
	uint32_t turn; /* how often that was so */
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
	struct known_code code[KNOWN];
	struct walk now;
	char file[CODES_TEXT], name[CODES_TEXT];
};

static void count_stack(enum python_count what)
{
	struct cycle_info *info = emit_info();

	if (info)
		atomic_fetch_add(&info->python[what], 1);
}

/* ---- code ---- */

static uint32_t store_code(struct snap *s, const struct python_layout *l,
			   const void *code)
{
	struct code_text file = { s->file, python_text(l, layout_at(code, l->code_file),
						       s->file, sizeof(s->file)) };
	struct code_text name = { s->name, python_text(l, layout_at(code, l->code_name),
						       s->name, sizeof(s->name)) };

	return codes_add(file, name, layout_word(code, l->code_line),
			 (enum code_lines)l->lines,
			 python_bytes(layout_at(code, l->code_table)));
}

static struct known_code *place_of_code(struct snap *s, const void *code)
{
	return &s->code[((uintptr_t)code >> 4 ^ (uintptr_t)code >> 12) % KNOWN];
}

static uint32_t id_of_code(struct snap *s, const struct python_layout *l,
			   const void *code)
{
	struct known_code *k = place_of_code(s, code);

	if (k->code == code && k->turn == s->turn)
		return k->id;
	*k = (struct known_code){ code, store_code(s, l, code), s->turn };
	return k->id;
}

/* ---- stacks ---- */

/* Puts frame i of the walk on top of the stack *id. An early frame is left out. False: no
 * stack can be had, and why is counted. */
static bool add_frame(struct snap *s, unsigned i, uint32_t *id)
{
	const struct python_layout *l = interpreter.layout;
	const void *code = walk_code(l, s->now.frame[i]);
	struct stack_frame frame;
	int64_t offset;

	if (layout_at(code, LAYOUT_TYPE) != interpreter.code) {
		count_stack(PYTHON_UNPROVEN);
		return false;
	}
	offset = walk_offset(l, s->now.frame[i], code);
	if (walk_is_early(l, s->now.frame[i], code, offset))
		return true;
	frame = (struct stack_frame){ id_of_code(s, l, code),
				      offset < 0 ? CODES_BEGIN : (uint64_t)offset };
	if (frame.module)
		*id = stacks_add(*id, frame, !*id && s->now.cut ? STACK_CUT : 0,
				 &s->room);
	if (frame.module && *id)
		return true;
	count_stack(PYTHON_UNKNOWN);
	return false;
}

/* How many of the outermost frames are those of the last stack. */
static inline unsigned frames_kept(const struct snap *s, const struct walk *w)
{
	unsigned i = 0, n = w->n < s->n ? w->n : s->n;

	if (w->cut != s->cut)
		return 0;
	while (i < n && s->where[i] == w->where[w->n - 1 - i] &&
	       s->index[i] == w->index[w->n - 1 - i])
		i++;
	return i;
}

/* The id of the stack that was walked last; 0: none can be had. */
static uint32_t id_of_walk(struct snap *s)
{
	const struct walk *w = &s->now;
	unsigned i = frames_kept(s, w);
	uint32_t id = i ? s->id[i - 1] : 0;

	s->cut = w->cut;
	for (s->n = i; i < w->n; s->n = ++i) {
		if (!add_frame(s, w->n - 1 - i, &id))
			return 0;
		s->where[i] = w->where[w->n - 1 - i];
		s->index[i] = w->index[w->n - 1 - i];
		s->code_of[i] = walk_code(interpreter.layout, w->frame[w->n - 1 - i]);
		s->id[i] = id;
	}
	return id;
}

/* False: the interpreter says another one. torch lets the interpreter's lock go before
 * most operators: then one soon after this is compared. */
static __attribute__((noinline)) bool check_stack(struct snap *s)
{
	int saved = errno;
	bool same = true;

	/* Not always the same of a loop's operators. */
	s->checks = 4 + s->tries++ * 3 % 7;
	if (check_holds_lock()) {
		s->checks = SNAP_CHECK;
		count_stack(PYTHON_CHECKED);
		same = check_frames(&s->now);
		if (!same) {
			count_stack(PYTHON_DISAGREED);
			interpreter_off("what was read is not what the interpreter says");
		}
	}
	errno = saved;
	return same;
}

/* Nothing of what was kept counts any more. From a thread's first stack in a window on it
 * is noted when code goes. */
static __attribute__((noinline)) struct snap *snap_anew(struct thread *t)
{
	struct snap *s = t->slot[SLOT];

	if (!s) {
		s = t->slot[SLOT] = arena_alloc(sizeof(*s));
		if (!s) {
			count_stack(PYTHON_UNKNOWN);
			return NULL;
		}
		s->checks = SNAP_CHECK;
	}
	freed_watch();
	if (s->epoch != atomic_load(&stacks_epoch) || s->tid != t->tid)
		s->room = (struct stacks_room){ 0 };
	if (s->cycle != t->cycle || s->tid != t->tid)
		s->around = NULL;
	s->epoch = atomic_load(&stacks_epoch);
	s->tid = t->tid;
	s->freed = freed_now();
	s->cycle = t->cycle;
	s->turn++;
	s->n = 0;
	return s;
}

static inline bool is_current(const struct snap *s, const struct thread *t)
{
	return s && s->cycle == t->cycle && s->tid == t->tid &&
	       s->epoch == atomic_load_explicit(&stacks_epoch, memory_order_relaxed);
}

/* What was kept of code that is gone is forgotten: other code may lie there now. */
static void forget_code(struct snap *s, const void *code)
{
	struct known_code *k = place_of_code(s, code);

	if (k->code == code)
		k->code = NULL;
	for (unsigned i = 0; i < s->n; i++)
		if (s->code_of[i] == code)
			s->n = i;
}

static __attribute__((noinline)) void forget_freed(struct snap *s)
{
	const void *gone[FREED_KEPT];
	int n = freed_since(&s->freed, gone);

	for (int i = 0; i < n; i++)
		forget_code(s, gone[i]);
	if (n >= 0)
		return;
	s->n = 0;
	s->turn++;
}

/* No Python code can have run since `around` began if the same frame is innermost, and is
 * at the same instruction. */
static inline bool is_inside(const struct snap *s, const void *frame, uint64_t at)
{
	return s->around && s->frame == frame && s->at == at && !s->around->end;
}

/* What the thread knows, as of now; NULL: no memory. */
static inline struct snap *snap_of(struct thread *t)
{
	struct snap *s = t->slot[SLOT];

	if (__builtin_expect(!is_current(s, t), 0) && !(s = snap_anew(t)))
		return NULL;
	if (__builtin_expect(s->freed != freed_now(), 0))
		forget_freed(s);
	return s;
}

uint32_t snap_stack(struct thread *t, const struct record *op, enum record_kind kind,
		    uint8_t *flags)
{
	const struct python_layout *l = interpreter.layout;
	const void *innermost = walk_innermost(l);
	struct snap *s;
	uint64_t at;
	uint32_t id;

	if (!innermost || !(s = snap_of(t)))
		return 0;
	at = (uintptr_t)layout_at(innermost, l->where);
	if (is_inside(s, innermost, at)) {
		*flags |= s->around_id ? OP_STACK | OP_SHARES : 0;
		return s->around_id;
	}
	walk_frames(&s->now, innermost);
	if (__builtin_expect(!--s->checks, 0) && !check_stack(s))
		return 0;
	id = id_of_walk(s);
	if (kind == REC_OP) {
		s->around = op;
		s->frame = innermost;
		s->at = at;
		s->around_id = id;
	}
	if (!id)
		return 0;
	if (__builtin_expect(s->cut, 0))
		count_stack(PYTHON_CUT);
	*flags |= OP_STACK;
	return id;
}

uint8_t snap_put(struct thread *t, struct rec_op *op, enum record_kind kind)
{
	uint8_t flags = 0;
	uint32_t id = snap_stack(t, &op->r, kind, &flags);

	if (id)
		*(struct op_stack *)(op + 1) = (struct op_stack){ .python = id };
	return flags;
}

/* The interpreter allocates while it makes frames and takes them down: nothing is asked
 * of it here, and a stack is not compared. */
static uint32_t walk_unasked(struct snap *s, const void *innermost)
{
	uint32_t id;

	walk_frames(&s->now, innermost);
	id = id_of_walk(s);
	if (__builtin_expect(id && s->cut, 0))
		count_stack(PYTHON_CUT);
	return id;
}

static uint32_t pair_of(struct snap *s, uint32_t native, uint32_t python)
{
	struct stack_pair pair = { native, python };
	uint32_t id = python ? stack_pair_add(pair, &s->room) : 0;

	if (python && !id)
		count_stack(PYTHON_UNKNOWN);
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
static struct snap *held_snap(struct thread *t, const void **innermost)
{
	const void *state = interpreter.thread_state();
	bool here = state && runs_here(t, state);

	*innermost = here ? walk_innermost(interpreter.layout) : NULL;
	return *innermost ? snap_of(t) : NULL;
}

static inline bool is_inside_op(const struct snap *s, const void *innermost)
{
	return is_inside(s, innermost,
			 (uintptr_t)layout_at(innermost, interpreter.layout->where));
}

/* torch lets the lock go in operators. */
static uint32_t pair_without_lock(struct thread *t, uint32_t native)
{
	const void *state = interpreter.thread_state();
	struct snap *s = t->slot[SLOT];
	uint32_t open = 0;

	if (!state || interpreter.finalizing())
		return native;
	if (s && is_current(s, t) && s->around && !s->around->end)
		open = s->around_id;
	else if (interpreter.holder() != state)
		count_stack(PYTHON_LINELESS);
	return pair_of(s, native, open);
}

uint32_t snap_pair(struct thread *t, uint32_t native)
{
	const void *innermost;
	struct snap *s = held_snap(t, &innermost);

	if (!s)
		return pair_without_lock(t, native);
	return pair_of(s, native,
		       is_inside_op(s, innermost) ? s->around_id
						  : walk_unasked(s, innermost));
}

uint32_t snap_call(struct thread *t, uint32_t native)
{
	const void *innermost;
	struct snap *s = held_snap(t, &innermost);

	if (!s || is_inside_op(s, innermost))
		return native;
	return pair_of(s, native, walk_unasked(s, innermost));
}

void snap_undo(struct thread *t)
{
	struct snap *s = t->slot[SLOT];

	if (s)
		s->around = NULL;
}
