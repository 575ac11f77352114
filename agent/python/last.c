/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack is read anew each time, and compared with the thread's last one from the
 * outermost frame on. To stop at a frame that was there before would be wrong: frames lie
 * at the same addresses again when another caller calls the same function.
 */
#include "agent/python/last.h"
#include "agent/core/codes.h"
#include "agent/python/text.h"
#include "base/arena.h"

void last_count(enum python_count what)
{
	struct cycle_info *info = emit_info();

	if (info)
		atomic_fetch_add(&info->python[what], 1);
}

/* ---- code ---- */

static uint32_t store_code(struct last *s, const struct python_layout *l,
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

uint32_t last_code(struct last *s, const void *code)
{
	struct known_code *k = known_place(&s->known, code);

	if (!known_is(&s->known, k, code))
		*k = (struct known_code){ code, store_code(s, interpreter.layout, code),
					  s->known.turn };
	return k->id;
}

/* ---- stacks ---- */

/* Frame i of the walk, an early one, is no part of the stack. If C called it, what C
 * calls next within must not pass for it: that mark goes as well, so that one is missing,
 * and this frame is never one of those that have not moved. */
static void leave_out(struct walk *w, unsigned i)
{
	bool entry = w->where[i] & WALK_ENTRY;

	if (entry)
		w->where[i] = 0;
	while (entry && i--) {
		entry = !(w->where[i] & WALK_ENTRY);
		w->where[i] &= ~(uint64_t)WALK_ENTRY;
	}
}

/* Puts frame i of the walk on top of the stack *id. An early frame is left out. False: no
 * stack can be had, and why is counted. */
static bool add_frame(struct last *s, unsigned i, uint32_t *id)
{
	const struct python_layout *l = interpreter.layout;
	const void *code = walk_code(l, s->now.frame[i]);
	unsigned flags = !*id && s->now.cut ? STACK_CUT : 0;
	struct stack_frame frame;
	int64_t offset;

	if (layout_at(code, LAYOUT_TYPE) != interpreter.code) {
		last_count(PYTHON_UNPROVEN);
		return false;
	}
	offset = walk_offset(l, s->now.frame[i], code);
	if (walk_is_early(l, s->now.frame[i], code, offset)) {
		leave_out(&s->now, i);
		return true;
	}
	frame = (struct stack_frame){ last_code(s, code),
				      offset < 0 ? CODES_BEGIN : (uint64_t)offset };
	if (s->now.where[i] & WALK_ENTRY)
		flags |= STACK_ENTRY;
	if (frame.module)
		*id = stacks_add(*id, frame, flags, &s->room);
	if (frame.module && *id)
		return true;
	last_count(PYTHON_UNKNOWN);
	return false;
}

uint32_t last_add(struct last *s, unsigned i)
{
	const struct walk *w = &s->now;
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

struct last *last_anew(struct thread *t)
{
	struct last *s = t->slot[THREAD_PYTHON];

	if (!s) {
		s = t->slot[THREAD_PYTHON] = arena_alloc(sizeof(*s));
		if (!s) {
			last_count(PYTHON_UNKNOWN);
			return NULL;
		}
		s->checks = LAST_CHECK;
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
	s->known.turn++;
	s->n = 0;
	return s;
}

/* What was kept of code that is gone is forgotten: other code may lie there now. */
static void forget_code(struct last *s, const void *code)
{
	struct known_code *k = known_place(&s->known, code);

	if (k->code == code)
		k->code = NULL;
	for (unsigned i = 0; i < s->n; i++)
		if (s->code_of[i] == code)
			s->n = i;
}

void last_forget(struct last *s)
{
	const void *gone[FREED_KEPT];
	int n = freed_since(&s->freed, gone);

	for (int i = 0; i < n; i++)
		forget_code(s, gone[i]);
	if (n >= 0)
		return;
	s->n = 0;
	s->known.turn++;
}
