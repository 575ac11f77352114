/* SPDX-License-Identifier: Apache-2.0 */
/* Python's frames as text. A program calls operators from few places, again and again:
 * the text of each frame is kept. */
#include "writer/python/frames.h"
#include "base/hash.h"
#include "writer/python/lines.h"
#include "writer/trace.h"

#define FRAMES_MOST (FRAMES_SLOTS / 4 * 3) /* frames that are kept ... */
#define TEXTS_MOST  (32u << 20) /* ... and bytes of their texts */

/* The fact is a JSON string without escapes; any other value names no folder. */
void frames_start(struct frames *f, const struct spool_view *v)
{
	size_t len = 0;
	const char *value = facts_get(v->head, "python_path", &len);

	f->view = v;
	f->folders = "";
	if (!value || len < 2 || value[0] != '"' || value[len - 1] != '"')
		return;
	f->folders = value + 1;
	f->folders_len = len - 2;
}

void frames_free(struct frames *f)
{
	pile_free(&f->texts);
}

/* How much of a file's name is the folder's that Python found it by. torch sorts the
 * folders in descending order and takes the first that begins the name: the longest one.
 */
static size_t folder_length(const struct frames *f, const char *file, size_t len)
{
	const char *at = f->folders, *end = at + f->folders_len;
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

/* Returns the place behind what it puts at `to`. */
typedef char *put_text(char *to, const char *text, size_t len);

static char *put_plain(char *to, const char *text, size_t len)
{
	memcpy(to, text, len);
	return to + len;
}

/* Puts "file(line): function" there. Returns the length. */
static size_t format_frame(const struct frames *f, const struct code *c, uint32_t offset,
			   put_text *put, char text[FRAMES_TEXT])
{
	size_t len = c->file_len;
	size_t folder = folder_length(f, code_file(c), len);
	uint32_t line = lines_find(c, offset);
	char *to = put(text, code_file(c) + folder, len - folder);

	*to++ = '(';
	to = json_put_unsigned(to, line ? line : c->first_line);
	memcpy(to, "): ", 3);
	to = put(to + 3, code_name(c), c->name_len);
	return (size_t)(to - text);
}

size_t frames_plain(const struct frames *f, struct stack_frame frame,
		    char text[FRAMES_TEXT])
{
	const struct code *c = codes_get(f->view, frame.module);
	size_t len = 1;

	*text = '?';
	if (c)
		len = format_frame(f, c, (uint32_t)frame.offset, put_plain, text);
	text[len] = '\0';
	return len;
}

/* ---- what is kept ---- */

/* The slot of a frame, or the empty one that it may have. */
static struct frame_slot *find_slot(struct frames *f, uint64_t frame)
{
	size_t at = hash_place(frame, FRAMES_SLOTS);

	while (f->slot[at].frame && f->slot[at].frame != frame)
		at = (at + 1) & (FRAMES_SLOTS - 1);
	return &f->slot[at];
}

/* A program that makes code all the time calls old code no more: when the memory is used
 * up all is forgotten. */
static void keep_frame(struct frames *f, uint64_t frame, size_t len)
{
	char *to;

	if (f->n >= FRAMES_MOST || f->texts.n + len > TEXTS_MOST) {
		memset(f->slot, 0, sizeof(f->slot));
		f->n = 0;
		f->texts.n = 0;
	}
	to = pile_extend(&f->texts, len, 1);
	if (!to)
		return;
	memcpy(to, f->text, len);
	*find_slot(f, frame) = (struct frame_slot){
		.frame = frame,
		.at = (uint32_t)(to - (char *)f->texts.mem),
		.len = (uint32_t)len,
	};
	f->n++;
}

struct code_text frames_escaped(struct frames *f, struct stack_frame frame)
{
	uint64_t packed = stacks_pack(frame);
	const struct frame_slot *s = find_slot(f, packed);
	const struct code *c;
	size_t len;

	if (s->frame)
		return (struct code_text){ (char *)f->texts.mem + s->at, s->len };
	c = codes_get(f->view, frame.module);
	if (!c)
		return (struct code_text){ "?", 1 };
	len = format_frame(f, c, (uint32_t)frame.offset, json_put_escaped, f->text);
	keep_frame(f, packed, len);
	return (struct code_text){ f->text, len };
}
