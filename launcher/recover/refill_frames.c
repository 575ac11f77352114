/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a trace's frames and stacks anew, once the names are known. */
#include "base/hash.h"
#include "launcher/recover/fill.h"
#include "writer/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MOST (1u << 24)

static int by_frame(const void *left, const void *right)
{
	const struct raw *a = left, *b = right;

	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

/* ---- the new frames ---- */

static bool grow_slots(struct fill *f, size_t want)
{
	f->slots = 1024;
	while (f->slots < 4 * want)
		f->slots *= 2;
	f->slot = calloc(f->slots, sizeof(*f->slot));
	f->number = calloc(f->slots, sizeof(*f->number));
	return f->slot && f->number;
}

/* The number of the frame with that text, a JSON string: each text has one frame. `own`:
 * a new frame in any case, for one that is still module and offset. */
static uint32_t frame_number(struct fill *f, const char *text, size_t len, bool own)
{
	struct text *all = &f->new_frames;
	size_t at;

	for (at = hash_bytes(text, len) & (f->slots - 1); f->slot[at];
	     at = (at + 1) & (f->slots - 1)) {
		const char *there = all->mem + f->slot[at] - 1;

		if (!own && all->n - (f->slot[at] - 1) >= len &&
		    !memcmp(there, text, len))
			return f->number[at];
	}
	if (f->count)
		text_put(all, ",\n", 2);
	if (f->count * 2 > f->slots || all->n + len > UINT32_MAX - 1) {
		all->failed = true;
		return 0;
	}
	f->slot[at] = (uint32_t)all->n + 1;
	f->number[at] = (uint32_t)f->count;
	text_put(all, text, len);
	return (uint32_t)f->count++;
}

/* Adds a text of an answer as a JSON string. */
static uint32_t add_text(struct fill *f, const char *text)
{
	size_t len = strlen(text);
	char *json = malloc(6 * len + 2), *end;
	uint32_t number;

	if (!json) {
		f->new_frames.failed = true;
		return 0;
	}
	json[0] = '"';
	end = json_put_escaped(json + 1, text, len);
	*end++ = '"';
	number = frame_number(f, json, (size_t)(end - json), false);
	free(json);
	return number;
}

/* Maps an old frame to the new frames that it becomes. */
static void map_frame(struct fill *f, uint64_t old, struct span text, const struct raw *r)
{
	const char *at = f->answer.mem + (r ? r->at : 0);
	uint32_t n = 0, number;
	size_t head = f->map.n;

	f->old[old] = head;
	text_put(&f->map, &n, sizeof(n));
	if (!r || !r->known) {
		number = frame_number(f, text.at, (size_t)(text.end - text.at), r);
		n += text_put(&f->map, &number, sizeof(number));
	}
	for (; r && r->known && *at; at += strlen(at) + 1) {
		number = add_text(f, at);
		n += text_put(&f->map, &number, sizeof(number));
	}
	if (!f->map.failed)
		memcpy(f->map.mem + head, &n, sizeof(n));
}

static bool map_frames(struct fill *f)
{
	struct span list, item;
	uint64_t n = 0, texts = 0, i = 0;

	qsort(f->raws, f->n, sizeof(*f->raws), by_frame);
	if (!span_open(f->frames, '[', &list))
		return false;
	for (struct span l = list; span_item(&l, &item);)
		n++;
	for (size_t k = 0; k < f->answer.n; k++)
		texts += !f->answer.mem[k];
	f->old_n = n;
	f->old = calloc(n + 1, sizeof(*f->old));
	if (n > FRAMES_MOST || !f->old || !grow_slots(f, n + texts))
		return false;
	text_put(&f->new_frames, "[", 1);
	for (n = 0; span_item(&list, &item); n++) {
		while (i < f->n && f->raws[i].frame < n)
			i++;
		map_frame(f, n, item,
			  i < f->n && f->raws[i].frame == n ? &f->raws[i] : NULL);
	}
	text_put(&f->new_frames, "]", 1);
	return !f->new_frames.failed && !f->map.failed;
}

/* ---- stacks, and frames that still have no names ---- */

static bool put_stack(struct fill *f, struct span stack)
{
	struct text *out = &f->new_stacks;
	struct span inside, item;
	const char *comma = "";
	char number[16];
	uint64_t old;

	if (!span_open(stack, '[', &inside))
		return false;
	text_put(out, "[", 1);
	while (span_item(&inside, &item)) {
		uint32_t n, frame;
		const char *at;

		if (!span_number(item, &old) || old >= f->old_n)
			return false;
		at = f->map.mem + f->old[old];
		memcpy(&n, at, sizeof(n));
		while (n--) {
			at += sizeof(frame);
			memcpy(&frame, at, sizeof(frame));
			text_put(out, number,
				 (size_t)sprintf(number, "%s%u", comma, frame));
			comma = ", ";
		}
	}
	text_put(out, "]", 1);
	return true;
}

static bool put_stacks(struct fill *f)
{
	struct span list, item;
	const char *comma = "";

	if (!span_open(f->stacks, '[', &list))
		return false;
	text_put(&f->new_stacks, "[", 1);
	for (; span_item(&list, &item); comma = ",\n") {
		text_put(&f->new_stacks, comma, strlen(comma));
		if (!put_stack(f, item))
			return false;
	}
	text_put(&f->new_stacks, "]", 1);
	return !f->new_stacks.failed;
}

static bool put_raw(struct fill *f)
{
	const char *comma = "";

	text_put(&f->new_raw, "[", 1);
	for (size_t i = 0; i < f->n; i++) {
		const struct raw *r = &f->raws[i];
		char triple[80];
		uint32_t frame;

		if (r->known || r->frame >= f->old_n)
			continue;
		memcpy(&frame, f->map.mem + f->old[r->frame] + sizeof(uint32_t),
		       sizeof(frame));
		text_put(&f->new_raw, triple,
			 (size_t)sprintf(triple, "%s[%u, %lu, %lu]", comma, frame,
					 r->module, r->offset));
		comma = ", ";
	}
	text_put(&f->new_raw, "]", 1);
	return !f->new_raw.failed;
}

bool refill_frames(struct fill *f)
{
	return map_frames(f) && put_stacks(f) && put_raw(f);
}
