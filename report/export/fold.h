/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold - stacks as a tree: equal ones are one node, whose weight is their sum.
 *
 * A frame goes below the frame that called it; node FOLD_ROOT has no frame. What lies
 * deeper than FOLD_DEPTH_MOST is counted at that depth: a hostile file then makes no
 * lines without end.
 *
 * Threads  one at a time.
 * Memory   24 bytes a distinct stack, each frame once; fold_free.
 * Errors   `full`, from then on for ever: not enough memory; nodes are FOLD_ROOT then.
 * Units    the caller's.
 */
#ifndef REPORT_EXPORT_FOLD_H
#define REPORT_EXPORT_FOLD_H

#include "report/texts.h"

#define FOLD_ROOT       0u
#define FOLD_DEPTH_MOST 1024u
#define FOLD_FRAME_MOST 8192u /* bytes of a frame; what is longer is cut */

struct fold_node {
	int64_t weight;
	uint32_t parent, frame, depth;
};

struct fold {
	const char *replaced; /* characters of a frame that become '_' */
	struct texts frames;
	struct fold_node *nodes;
	size_t n, room;
	uint32_t *slots;
	size_t slots_n;
	bool full;
	uint64_t added; /* weights, so far */
	char frame[FOLD_FRAME_MOST + 1]; /* the one that is being made */
};

void fold_start(struct fold *f, const char *replaced);
void fold_free(struct fold *f);

/* The number of a frame's text. */
uint32_t fold_frame(struct fold *f, const char *text, size_t len);
/* The node of a frame below another node, made at its first time. */
uint32_t fold_child(struct fold *f, uint32_t parent, uint32_t frame);
uint32_t fold_below(struct fold *f, uint32_t parent, const char *text);
/* The node of a "Call stack" below another node: its innermost frame comes first in the
 * text, and a ';' parts frames. `left_out` (or NULL) says which are not taken. */
typedef bool fold_left_out(const char *frame, size_t len);
uint32_t fold_stack(struct fold *f, uint32_t parent, const char *stack,
		    fold_left_out *left_out);
/* A weight up to 0 adds nothing; a sum that would overflow stays at its end. */
void fold_add(struct fold *f, uint32_t node, int64_t weight);
/* The frames of a node, outermost first, into room for FOLD_DEPTH_MOST. */
unsigned fold_path(const struct fold *f, uint32_t node, uint32_t *path);
/* The nodes with a weight, by the text of their stacks; free it. NULL: no memory. */
uint32_t *fold_sorted(const struct fold *f, size_t *n);

static inline const char *fold_text(const struct fold *f, uint32_t frame)
{
	return texts_get(&f->frames, frame);
}

#endif
