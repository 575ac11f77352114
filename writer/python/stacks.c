/* SPDX-License-Identifier: Apache-2.0 */
/* Call stacks as members of events. A program calls operators from few places, again and
 * again: the texts of the stacks that were written last are kept. */
#include "base/hash.h"
#include "writer/pile.h"
#include "writer/python/frames.h"
#include "writer/python/merge.h"
#include "writer/python/python.h"
#include "writer/trace.h"

#include <errno.h>

#define STACKS     4096
#define TEXTS_MOST (16u << 20) /* bytes of their texts, until all are forgotten */

struct stack_slot {
	struct stack_pair pair; /* both 0 = empty */
	uint32_t at, len; /* in the texts: members with their commas; len 0 = not there */
	bool forward;
	uint8_t how; /* enum merge_how */
};

struct python {
	struct frames frames;
	struct merge merge; /* the stacks that were looked at last */
	struct pile texts;
	struct stack_slot slot[STACKS];
};
_Static_assert(FRAMES_TEXT < PYTHON_TEXT, "python_frame's");

size_t python_frame(const struct trace *t, struct stack_frame frame, char *text)
{
	return frames_plain(&t->python->frames, frame, text);
}

void python_name(struct trace *t, struct stack_frame frame)
{
	struct code_text text = frames_escaped(&t->python->frames, frame);

	json_raw(&t->json, text.text, text.len);
}

/* ---- two stacks ---- */

/* Nobody may have asked for Python's, though the spool has them. */
static struct stack_pair asked_pair(const struct trace *t, struct stack_pair pair)
{
	if (t->config->python_stack == PYTHON_OFF)
		pair.python = 0;
	return pair;
}

const struct merge *python_merge(struct trace *t, struct stack_pair pair)
{
	struct merge *m = &t->python->merge;

	merge_stacks(m, t->view, t->symbols, asked_pair(t, pair), t->config->stack_depth);
	return m;
}

/* The slot of the pair; else *s is emptied, and gets its key. */
static struct stack_slot *find_slot(struct trace *t, struct stack_pair pair, bool forward)
{
	uint64_t key = (uint64_t)pair.native << 32 | pair.python;
	struct stack_slot *s = &t->python->slot[hash_place(key, STACKS)];

	if (s->pair.native != pair.native || s->pair.python != pair.python ||
	    s->forward != forward)
		*s = (struct stack_slot){ .pair = pair,
					  .forward = forward,
					  .how = MERGE_HOWS };
	return s;
}

void python_count(struct trace *t, struct stack_pair pair)
{
	struct writer_merges *to = &t->result->merges;
	struct stack_slot *s;

	pair = asked_pair(t, pair);
	if (!pair.native || !pair.python)
		return;
	s = find_slot(t, pair, false);
	if (s->how == MERGE_HOWS)
		s->how = (uint8_t)python_merge(t, pair)->how;
	to->done += s->how == MERGE_DONE;
	to->unfit += s->how == MERGE_UNFIT;
	if (s->how != MERGE_CUT)
		return;
	to->cut++;
	python_depth(t, pair);
}

/* The agent may have cut those that are as deep as can be: no option would merge them. */
void python_depth(struct trace *t, struct stack_pair pair)
{
	unsigned *deepest = &t->result->merges.deepest;

	pair = asked_pair(t, pair);
	for (unsigned i = 0; pair.native && pair.python && i < 2; i++) {
		unsigned depth = stacks_depth(t->view, i ? pair.python : pair.native);

		if (depth > *deepest && depth < STACKS_MOST)
			*deepest = depth;
	}
}

/* ---- texts ---- */

static void put_text(struct trace *t, const char *text, size_t len)
{
	char *to = pile_extend(&t->python->texts, len, 1);

	if (to)
		memcpy(to, text, len);
	else
		t->json.err = -ENOMEM;
}

/* Puts the names of a native frame; an inlined call has a name of its own. */
static void put_native(struct trace *t, struct stack_frame frame)
{
	struct pile *p = &t->python->texts;
	unsigned n;
	const char *text = symbols_text(t->symbols, frame, &n);

	for (; n--; text += strlen(text) + 1) {
		size_t len = strlen(text), before = p->n;
		char *to = pile_extend(p, 6 * len, 1); /* a byte takes six at most */

		if (!to) {
			t->json.err = -ENOMEM;
			return;
		}
		p->n = before + (size_t)(json_put_escaped(to, text, len) - to);
		if (n)
			put_text(t, ";", 1);
	}
}

static void put_frame(struct trace *t, struct stack_frame frame, bool python)
{
	struct code_text text;

	if (!python) {
		put_native(t, frame);
		return;
	}
	text = frames_escaped(&t->python->frames, frame);
	put_text(t, text.text, text.len);
}

static void put_list(struct trace *t, const char *key, const struct stack_frame *frame,
		     unsigned n, bool python)
{
	for (unsigned i = 0; i < n; i++) {
		put_text(t, i ? ";" : key, i ? 1 : strlen(key));
		put_frame(t, frame[i], python);
	}
	if (n)
		put_text(t, "\",", 2);
}

static void put_merged(struct trace *t, const struct merge *m, const char *key)
{
	for (unsigned i = 0; i < m->n; i++) {
		put_text(t, i ? ";" : key, i ? 1 : strlen(key));
		put_frame(t, m->frame[i].frame, m->frame[i].python);
	}
	put_text(t, "\",", 2);
}

/* Puts all members of a moment's stacks into the texts. */
static void put_stacks(struct trace *t, struct stack_pair pair, bool forward)
{
	static const char key[] = "\"Call stack\":\"",
			  beside[] = "\"Native call stack\":\"",
			  of[] = "\"Call stack of\":\"forward operator\",";
	const struct merge *m = python_merge(t, pair);

	if (m->how == MERGE_DONE && !forward) {
		put_merged(t, m, key);
		return;
	}
	put_list(t, key, m->python, m->pythons, true);
	if (forward && m->pythons)
		put_text(t, of, sizeof(of) - 1);
	put_list(t, m->pythons ? beside : key, m->native, m->natives, false);
}

void python_stacks(struct trace *t, struct stack_pair pair, bool forward)
{
	struct python *p = t->python;
	struct stack_slot *s;

	pair = asked_pair(t, pair);
	if (!pair.native && !pair.python)
		return;
	s = find_slot(t, pair, forward);
	if (!s->len) {
		if (p->texts.n > TEXTS_MOST) {
			for (unsigned i = 0; i < STACKS; i++)
				p->slot[i].len = 0;
			p->texts.n = 0;
		}
		s->at = (uint32_t)p->texts.n;
		put_stacks(t, pair, forward);
		s->len = (uint32_t)(p->texts.n - s->at);
	}
	if (s->len)
		json_raw(&t->json, (char *)p->texts.mem + s->at, s->len);
}

/* ---- the whole ---- */

int python_start(struct trace *t)
{
	t->python = pile_map(sizeof(*t->python));
	if (!t->python)
		return -ENOMEM;
	frames_start(&t->python->frames, t->view);
	return 0;
}

void python_free(struct trace *t)
{
	if (!t->python)
		return;
	frames_free(&t->python->frames);
	pile_free(&t->python->texts);
	pile_unmap(t->python, sizeof(*t->python));
	t->python = NULL;
}
