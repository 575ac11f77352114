/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python's call stacks as text. A program calls operators from few places, again and
 * again: the text of each frame is kept, and that of the stacks that were written last.
 */
#include "agent/core/stacks.h"
#include "agent/core/codes.h"
#include "base/hash.h"
#include "writer/pile.h"
#include "writer/python/lines.h"
#include "writer/python/python.h"
#include "writer/text.h"
#include "writer/trace.h"

#include <errno.h>

#define FRAMES      (1u << 16) /* slots of the frames' index; a power of two */
#define FRAMES_MOST (FRAMES / 4 * 3) /* frames that are kept ... */
#define TEXTS_MOST  (64u << 20) /* ... and bytes of their texts */
/* An escaped byte takes six at most. */
#define FRAME_TEXT (2 * 6 * CODES_TEXT + JSON_DIGITS + 8)
#define STACKS     1024
#define STACK_TEXT (8192 - 8)

struct frame_slot {
	uint64_t frame; /* stacks_pack; 0 = empty */
	uint32_t at, len; /* in the frames' texts */
};

struct stack_slot {
	uint32_t id, len; /* id 0 = empty */
	char text[STACK_TEXT]; /* the member with its comma */
};

struct python {
	const char *folders; /* "/a:/b": where Python finds its files; in the spool */
	size_t folders_len;
	struct pile texts; /* of frames, one behind the other, escaped */
	size_t frames; /* slots in use */
	struct frame_slot frame[FRAMES];
	char text[FRAME_TEXT]; /* of a frame that was not kept yet */
	struct stack_slot stack[STACKS];
};

/* ---- frames ---- */

/* The fact is a JSON string without escapes; any other value names no folder. */
static void find_folders(struct python *p, const struct spool_header *head)
{
	size_t len = 0;
	const char *value = facts_get(head, "python_path", &len);

	p->folders = "";
	if (!value || len < 2 || value[0] != '"' || value[len - 1] != '"')
		return;
	p->folders = value + 1;
	p->folders_len = len - 2;
}

/* How much of a file's name is the folder's that Python found it by. torch sorts the
 * folders in descending order and takes the first that begins the name: the longest one.
 */
static size_t folder_length(const struct python *p, const char *file, size_t len)
{
	const char *at = p->folders, *end = at + p->folders_len;
	size_t longest = 0;

	while (at < end) {
		const char *colon = memchr(at, ':', (size_t)(end - at));
		const char *stop = colon ? colon : end;
		size_t n = (size_t)(stop - at);

		if (n && n >= longest && n < len && file[n] == '/' &&
		    !memcmp(file, at, n))
			longest = n + 1;
		at = colon ? colon + 1 : end;
	}
	return longest;
}

/* Puts "file(line): function" into p->text. Returns the length. */
static size_t format_frame(struct python *p, const struct code *c, uint32_t offset)
{
	size_t len = c->file_len;
	size_t folder = folder_length(p, code_file(c), len);
	uint32_t line = lines_find(c, offset);
	char *to = json_put_escaped(p->text, code_file(c) + folder, len - folder);

	*to++ = '(';
	to = json_put_unsigned(to, line ? line : c->first_line);
	memcpy(to, "): ", 3);
	to = json_put_escaped(to + 3, code_name(c), c->name_len);
	return (size_t)(to - p->text);
}

/* The slot of a frame, or the empty one that it may have. */
static struct frame_slot *find_slot(struct python *p, uint64_t frame)
{
	size_t at = hash_place(frame, FRAMES);

	while (p->frame[at].frame && p->frame[at].frame != frame)
		at = (at + 1) & (FRAMES - 1);
	return &p->frame[at];
}

/* A program that makes code all the time calls old code no more: when the memory is used
 * up all is forgotten. */
static void keep_frame(struct python *p, uint64_t frame, size_t len)
{
	char *to;

	if (p->frames >= FRAMES_MOST || p->texts.n + len > TEXTS_MOST) {
		memset(p->frame, 0, sizeof(p->frame));
		p->frames = 0;
		p->texts.n = 0;
	}
	to = pile_extend(&p->texts, len, 1);
	if (!to)
		return;
	memcpy(to, p->text, len);
	*find_slot(p, frame) = (struct frame_slot){
		.frame = frame,
		.at = (uint32_t)(to - (char *)p->texts.mem),
		.len = (uint32_t)len,
	};
	p->frames++;
}

/* The text is good until the next frame's is asked for. */
static struct code_text frame_text(struct trace *t, struct stack_frame f)
{
	struct python *p = t->python;
	uint64_t frame = stacks_pack(f);
	const struct frame_slot *s = find_slot(p, frame);
	const struct code *c;
	size_t len;

	if (s->frame)
		return (struct code_text){ (char *)p->texts.mem + s->at, s->len };
	c = codes_get(t->view, f.module);
	if (!c)
		return (struct code_text){ "?", 1 };
	len = format_frame(p, c, (uint32_t)f.offset);
	keep_frame(p, frame, len);
	return (struct code_text){ p->text, len };
}

/* ---- stacks ---- */

/* Text goes into the file, and into the slot as far as it has room. */
static void put_text(struct json *j, struct text *kept, const char *text, size_t len)
{
	json_raw(j, text, len);
	text_put(kept, text, len);
}

/* Returns false, and leaves nothing in the slot, where there is no such stack. */
static bool write_stack(struct trace *t, uint32_t id, struct stack_slot *s)
{
	static const char key[] = "\"Call stack\":\"";
	struct text kept = { s->text, s->text + STACK_TEXT };
	struct stack_frame frame[STACKS_MOST];
	unsigned flags, n;

	s->id = 0;
	n = stacks_get(t->view, id, frame, t->config->stack_depth, &flags);
	if (!n)
		return false;
	put_text(&t->json, &kept, key, sizeof(key) - 1);
	for (unsigned i = 0; i < n; i++) {
		struct code_text text = frame_text(t, frame[i]);

		if (i)
			put_text(&t->json, &kept, ";", 1);
		put_text(&t->json, &kept, text.text, text.len);
	}
	put_text(&t->json, &kept, "\",", 2);
	if (kept.at == kept.end)
		return true;
	s->id = id;
	s->len = (uint32_t)(kept.at - s->text);
	return true;
}

void python_call_stack(struct trace *t, uint32_t stack, bool forward)
{
	struct stack_slot *s;

	if (!t->python || !stack)
		return;
	s = &t->python->stack[hash_place(stack, STACKS)];
	if (s->id == stack)
		json_raw(&t->json, s->text, s->len);
	else if (!write_stack(t, stack, s))
		return;
	if (forward)
		json_lit(&t->json, "\"Call stack of\":\"forward operator\",");
}

int python_start(struct trace *t)
{
	if (t->config->python_stack == PYTHON_OFF)
		return 0;
	t->python = pile_map(sizeof(*t->python));
	if (!t->python)
		return -ENOMEM;
	find_folders(t->python, t->view->head);
	return 0;
}

void python_free(struct trace *t)
{
	if (!t->python)
		return;
	pile_free(&t->python->texts);
	pile_unmap(t->python, sizeof(*t->python));
	t->python = NULL;
}
