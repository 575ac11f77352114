/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames - the texts of Python's frames: "file(line): function", the file's name without
 * the folder that Python found it by.
 *
 * Threads  one at a time.
 * Memory   the texts that were asked for last, within a bound; frames_free.
 * Errors   a frame that is not in the spool reads "?".
 * Units    frames as in codes.h.
 */
#ifndef WRITER_PYTHON_FRAMES_H
#define WRITER_PYTHON_FRAMES_H

#include "agent/core/codes.h"
#include "agent/core/stacks.h"
#include "writer/json.h"
#include "writer/pile.h"

#define FRAMES_SLOTS (1u << 16) /* of the index; a power of two */
/* An escaped byte takes six at most. */
#define FRAMES_TEXT (2 * 6 * CODES_TEXT + JSON_DIGITS + 8)

struct frame_slot {
	uint64_t frame; /* stacks_pack; 0 = empty */
	uint32_t at, len; /* in the texts */
};

struct frames {
	const struct spool_view *view;
	const char *folders; /* "/a:/b": where Python finds its files; in the spool */
	size_t folders_len;
	struct pile texts; /* one behind the other, escaped */
	size_t n; /* slots in use */
	struct frame_slot slot[FRAMES_SLOTS];
	char text[FRAMES_TEXT]; /* of a frame that was not kept yet */
};

void frames_start(struct frames *f, const struct spool_view *v);
void frames_free(struct frames *f);
/* Escaped for JSON; good until the next frame's is asked for. */
struct code_text frames_escaped(struct frames *f, struct stack_frame frame);
/* As it is, with a NUL behind it, which the length does not count. */
size_t frames_plain(const struct frames *f, struct stack_frame frame,
		    char text[FRAMES_TEXT]);

#endif
