/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of frames, and a table of hashes that finds a child by its frame. */
#include "report/export/fold.h"
#include "report/out.h"

#include <stdlib.h>

/* The root takes number 0, so that 0 in a slot means an empty one. */
void fold_start(struct fold *f, const char *replaced)
{
	*f = (struct fold){ .replaced = replaced };
	f->full = !GROW(f->nodes, f->room, f->n);
	if (!f->full)
		f->nodes[f->n++] = (struct fold_node){ .frame = TEXT_NONE };
}

/* A freed tree counts as full: nothing goes into it any more. */
void fold_free(struct fold *f)
{
	texts_free(&f->frames);
	free(f->nodes);
	free(f->slots);
	*f = (struct fold){ .full = true };
}

/* ---- frames ---- */

/* A frame is printed as part of a line: what ends a frame or a line becomes '_', and what
 * a terminal would obey '?'. */
uint32_t fold_frame(struct fold *f, const char *text, size_t len)
{
	size_t n = len < FOLD_FRAME_MOST ? len : FOLD_FRAME_MOST;
	uint32_t id;

	if (!n) /* a frame that is nothing would end the line */
		text = "?", n = 1;
	memcpy(f->frame, text, n);
	f->frame[n] = '\0';
	for (char *p = f->frame; *p; p++)
		if (strchr(f->replaced, *p))
			*p = '_';
	if (*f->replaced)
		out_plain(f->frame);
	id = texts_add(&f->frames, f->frame, strlen(f->frame));
	f->full |= id == TEXT_NONE;
	return id;
}

/* ---- nodes ---- */

/* The slot of a child, or the empty slot where it belongs. */
static size_t child_slot(const struct fold *f, uint32_t parent, uint32_t frame)
{
	uint64_t h = ((uint64_t)parent << 32 | frame) * 0x9e3779b97f4a7c15ull;
	size_t at = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull >> 20 & (f->slots_n - 1);

	for (; f->slots[at]; at = (at + 1) & (f->slots_n - 1))
		if (f->nodes[f->slots[at]].parent == parent &&
		    f->nodes[f->slots[at]].frame == frame)
			break;
	return at;
}

/* Slots are not copied: each node finds its place in the larger table anew. */
static bool more_slots(struct fold *f)
{
	size_t n = f->slots_n ? 2 * f->slots_n : 1024;
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return false;
	free(f->slots);
	f->slots = slots;
	f->slots_n = n;
	for (size_t i = 1; i < f->n; i++)
		slots[child_slot(f, f->nodes[i].parent, f->nodes[i].frame)] = (uint32_t)i;
	return true;
}

/* At most half of the slots are taken, so that a search ends soon. */
static bool make_room(struct fold *f)
{
	if (2 * (f->n + 1) > f->slots_n && !more_slots(f))
		return false;
	return f->n < UINT32_MAX && GROW(f->nodes, f->room, f->n);
}

uint32_t fold_child(struct fold *f, uint32_t parent, uint32_t frame)
{
	size_t at;

	if (f->full || (f->full = !make_room(f)))
		return FOLD_ROOT;
	if (f->nodes[parent].depth == FOLD_DEPTH_MOST)
		return parent;
	at = child_slot(f, parent, frame);
	if (f->slots[at])
		return f->slots[at];
	f->nodes[f->n] = (struct fold_node){ .parent = parent,
					     .frame = frame,
					     .depth = f->nodes[parent].depth + 1 };
	f->slots[at] = (uint32_t)f->n;
	return (uint32_t)f->n++;
}

uint32_t fold_below(struct fold *f, uint32_t parent, const char *text)
{
	return fold_child(f, parent, fold_frame(f, text, strlen(text)));
}

/* Frames are taken from the text's end, as the outermost is nearest to the root. */
uint32_t fold_stack(struct fold *f, uint32_t parent, const char *stack,
		    fold_left_out *left_out)
{
	size_t end = strlen(stack), begin;
	uint32_t node = parent;

	for (; end; end = begin ? begin - 1 : 0) {
		const char *before = memrchr(stack, ';', end);

		begin = before ? (size_t)(before - stack) + 1 : 0;
		if (begin == end || (left_out && left_out(stack + begin, end - begin)))
			continue;
		node = fold_child(f, node, fold_frame(f, stack + begin, end - begin));
	}
	return node;
}

void fold_add(struct fold *f, uint32_t node, int64_t weight)
{
	if (f->full || weight <= 0)
		return;
	f->added++;
	if (__builtin_add_overflow(f->nodes[node].weight, weight, &f->nodes[node].weight))
		f->nodes[node].weight = INT64_MAX;
}

/* The path is written from its end: a node knows only its parent. */
unsigned fold_path(const struct fold *f, uint32_t node, uint32_t *path)
{
	unsigned n = f->nodes[node].depth;

	for (unsigned i = n; i; i--) {
		path[i - 1] = f->nodes[node].frame;
		node = f->nodes[node].parent;
	}
	return n;
}

/* ---- order ---- */

/* Compares two frames as they stand in a line, where ';' follows if there are more. */
static int compare_frames(const char *a, bool more_a, const char *b, bool more_b)
{
	int x, y;

	while (*a && *a == *b)
		a++, b++;
	x = *a ? (unsigned char)*a : more_a ? ';' : 0;
	y = *b ? (unsigned char)*b : more_b ? ';' : 0;
	return x - y;
}

/* Compares two stacks where they part, without writing them out. */
static int by_text(const void *left, const void *right, void *arg)
{
	const struct fold *f = arg;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	unsigned m = f->nodes[a].depth, n = f->nodes[b].depth;
	unsigned least = m < n ? m : n;

	for (unsigned i = m; i > least; i--)
		a = f->nodes[a].parent;
	for (unsigned i = n; i > least; i--)
		b = f->nodes[b].parent;
	if (a == b)
		return m < n ? -1 : m > n;
	for (; f->nodes[a].parent != f->nodes[b].parent; least--) {
		a = f->nodes[a].parent;
		b = f->nodes[b].parent;
	}
	return compare_frames(fold_text(f, f->nodes[a].frame), m > least,
			      fold_text(f, f->nodes[b].frame), n > least);
}

/* A node without a weight is only a part of longer stacks. */
uint32_t *fold_sorted(const struct fold *f, size_t *n)
{
	uint32_t *nodes = f->full ? NULL : malloc(f->n * sizeof(*nodes));

	*n = 0;
	for (size_t i = 0; nodes && i < f->n; i++)
		if (f->nodes[i].weight)
			nodes[(*n)++] = (uint32_t)i;
	if (nodes)
		qsort_r(nodes, *n, sizeof(*nodes), by_text, (void *)f);
	return nodes;
}
