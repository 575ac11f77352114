/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native frames of the interpreter's loop are replaced by what they execute. They are
 * paired from the outermost on: at the inner end the loop may have begun a frame that
 * Python does not count yet.
 */
#include "writer/python/merge.h"
#include "base/frame_text.h"

/* Is a frame of Python's the first that its loop executes? */
static void read_marks(const struct spool_view *v, uint32_t id, unsigned n, bool *marked)
{
	for (unsigned i = 0; i < n; i++) {
		const volatile struct stack *s = stacks_at(v, id); /* may change */

		marked[i] = s && s->flags & STACK_ENTRY;
		id = s ? s->caller : 0;
	}
}

/* Whether a native frame is the loop: what is inlined in a function is named before it.
 */
static enum frame_loop loop_of(const struct symbols *s, struct stack_frame frame)
{
	unsigned n;
	const char *text = symbols_text(s, frame, &n);

	while (--n)
		text += strlen(text) + 1;
	return frame_loop(text);
}

/* Which native frames are the interpreter's loop; how many. A function for an instruction
 * belongs to the loop that called it, if that has a frame. */
static unsigned find_loops(const struct merge *m, const struct symbols *s,
			   enum frame_loop *loop)
{
	unsigned loops = 0;

	for (unsigned i = m->natives; i--;) {
		loop[i] = loop_of(s, m->native[i]);
		if (loop[i] == FRAME_LOOP_TAIL &&
		    (i + 1 == m->natives || loop[i + 1] != FRAME_LOOP))
			loop[i] = FRAME_LOOP;
		loops += loop[i] == FRAME_LOOP;
	}
	return loops;
}

static void put_frame(struct merge *m, struct stack_frame frame, bool python)
{
	m->frame[m->n++] = (struct merge_frame){ frame, python };
}

/* `spare`: loops at the inner end that execute nothing. */
static void put_frames(struct merge *m, const enum frame_loop *loop, const bool *marked,
		       unsigned spare)
{
	unsigned next = 0; /* of Python's frames */

	for (unsigned i = 0; i < m->natives; i++) {
		if (loop[i] == FRAME_NO_LOOP || spare) {
			put_frame(m, m->native[i], false);
			spare -= loop[i] == FRAME_LOOP;
		} else if (loop[i] == FRAME_LOOP) {
			do
				put_frame(m, m->python[next], true);
			while (!marked[next++]);
		}
	}
}

/* At most one loop has no frame of Python's; a stack that ended early lacks outer ones.
 */
static enum merge_how merge_frames(struct merge *m, const struct symbols *s,
				   const bool *marked)
{
	enum frame_loop loop[STACKS_MOST];
	unsigned loops = find_loops(m, s, loop), firsts = 0;

	for (unsigned i = 0; i < m->pythons; i++)
		firsts += marked[i];
	if (!marked[m->pythons - 1] || loops < firsts || loops > firsts + 1)
		return MERGE_UNFIT;
	put_frames(m, loop, marked, loops - firsts);
	return MERGE_DONE;
}

void merge_stacks(struct merge *m, const struct spool_view *v, const struct symbols *s,
		  struct stack_pair pair, unsigned most)
{
	unsigned flags[2] = { 0, 0 };
	bool marked[STACKS_MOST];

	most = most ? most : STACKS_MOST;
	m->n = m->natives = m->pythons = 0;
	m->how = MERGE_NOT;
	if (pair.native)
		m->natives = stacks_get(v, pair.native, m->native, most, &flags[0]);
	if (pair.python)
		m->pythons = stacks_get(v, pair.python, m->python, most, &flags[1]);
	if (!m->natives || !m->pythons)
		return;
	if ((flags[0] | flags[1]) & STACK_CUT) {
		m->how = MERGE_CUT;
		return;
	}
	read_marks(v, pair.python, m->pythons, marked);
	m->how = flags[0] & STACK_ENDED ? MERGE_UNFIT : merge_frames(m, s, marked);
}
