/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks as the file has them: frames once, stacks by number. */
#include "base/hash.h"
#include "base/search.h"
#include "writer/heap/account.h"
#include "writer/sort.h"
#include "writer/symbols/site_text.h"

#include <errno.h>

/* ---- stacks ---- */

int heap_frames_want(struct heap *h, uint32_t stack)
{
	return stack ? pile_add(&h->stacks, &stack, sizeof(stack)) : 0;
}

static bool number_before(const void *left, const void *right)
{
	return *(const uint32_t *)left < *(const uint32_t *)right;
}

/* Sorts the wanted stacks, keeps each once if it has frames, and wants all the frames. */
static int sort_stacks(struct trace *t)
{
	struct heap *h = t->heap;
	uint32_t *id = h->stacks.mem;
	size_t n = 0;
	int err = sort_merge(id, h->stacks.n, sizeof(*id), number_before);

	for (size_t i = 0; !err && i < h->stacks.n; i++) {
		struct stack_frame frame[STACKS_MOST];
		unsigned depth;

		if (i && id[i] == id[i - 1])
			continue;
		depth = heap_frames_get(t, id[i], frame);
		if (!depth)
			continue;
		id[n++] = id[i];
		for (unsigned f = 0; !err && f < depth; f++)
			err = symbols_want(h->symbols, frame[f]);
	}
	h->stacks.n = n;
	return err;
}

int64_t heap_frames_stack(const struct heap *h, uint32_t stack)
{
	const uint32_t *id = h->stacks.mem;
	size_t at = SEARCH_FIRST(i, 0, h->stacks.n, id[i] >= stack);

	return at < h->stacks.n && id[at] == stack ? (int64_t)at : -1;
}

/* The list of the stack: the number of its frames, then the frames; NULL: no such
 * stack. */
static const uint32_t *list_of(const struct heap *h, uint32_t stack)
{
	const uint32_t *list = h->lists.mem;
	int64_t place = stack ? heap_frames_stack(h, stack) : -1;

	for (int64_t i = 0; i < place; i++)
		list += *list + 1;
	return place < 0 ? NULL : list;
}

struct site {
	const struct heap_frame *frames;
	const uint32_t *list;
};

/* The text of a frame of the list, for site_text. */
static const char *site_frame(void *arg, unsigned i)
{
	const struct site *s = arg;

	return i < *s->list ? s->frames[s->list[i + 1]].text : NULL;
}

void heap_frames_site(struct trace *t, uint32_t stack)
{
	struct site s = { t->heap->frames.mem, list_of(t->heap, stack) };
	char text[SITE_ROOM];
	size_t len = s.list ? site_text(site_frame, &s, text) : 0;

	if (len)
		json_string(&t->json, text, len);
	else
		json_lit(&t->json, "null");
}

/* ---- frames ---- */

static uint64_t hash_of(const struct heap_frame *f)
{
	uint64_t place = f->offset ^ (uint64_t)f->module << 32;

	return hash_bytes(f->text, strlen(f->text)) ^ hash_bytes(&place, sizeof(place));
}

static bool same_frame(const struct heap_frame *a, const struct heap_frame *b)
{
	return a->module == b->module && a->offset == b->offset &&
	       !strcmp(a->text, b->text);
}

/* The slot of a frame, or the empty slot where that frame belongs. */
static uint32_t *slot_of(const struct heap *h, const struct heap_frame *f)
{
	const struct heap_frame *known = h->frames.mem;
	size_t i = hash_of(f) & (h->frame_slots - 1);

	while (h->frame_index[i] && !same_frame(&known[h->frame_index[i] - 1], f))
		i = (i + 1) & (h->frame_slots - 1);
	return &h->frame_index[i];
}

static int grow_index(struct heap *h)
{
	const struct heap_frame *f = h->frames.mem;
	uint32_t *old = h->frame_index;
	size_t slots = h->frame_slots;

	h->frame_slots = slots ? slots * 2 : 4096;
	h->frame_index = pile_map(h->frame_slots * sizeof(*old));
	if (!h->frame_index) {
		h->frame_index = old;
		h->frame_slots = slots;
		return -ENOMEM;
	}
	for (size_t i = 0; i < h->frames.n; i++)
		*slot_of(h, &f[i]) = (uint32_t)i + 1;
	pile_unmap(old, slots * sizeof(*old));
	return 0;
}

/* Adds a frame to the list of the current stack. */
static int add_frame(struct heap *h, struct heap_frame f)
{
	uint32_t *slot, number;

	if (h->frames.n >= h->frame_slots / 2 && grow_index(h))
		return -ENOMEM;
	slot = slot_of(h, &f);
	if (!*slot) {
		if (pile_add(&h->frames, &f, sizeof(f)))
			return -ENOMEM;
		*slot = (uint32_t)h->frames.n;
	}
	number = *slot - 1;
	return pile_add(&h->lists, &number, sizeof(number));
}

/* The module's place in the file's "modules", + 1; 0: no memory. */
static uint32_t module_of(struct heap *h, uint32_t id)
{
	const uint32_t *known = h->modules.mem;

	for (size_t i = h->modules.n; i--;)
		if (known[i] == id)
			return (uint32_t)i + 1;
	return pile_add(&h->modules, &id, sizeof(id)) ? 0 : (uint32_t)h->modules.n;
}

/* A frame has a text for each inlined call in it. A frame that is not resolved keeps
 * module and offset, so that `recover` can name it later. */
static int add_texts(struct trace *t, struct stack_frame frame)
{
	struct heap *h = t->heap;
	unsigned n = 0;
	const char *text = symbols_text(h->symbols, frame, &n);
	bool raw = !symbols_known(h->symbols, frame) &&
		   stacks_module_get(t->view, frame.module);
	int err = 0;

	for (unsigned i = 0; !err && i < n; i++, text += strlen(text) + 1) {
		struct heap_frame f = { .text = text };

		if (raw) {
			f.offset = frame.offset;
			f.module = module_of(h, frame.module);
			if (!f.module)
				return -ENOMEM;
		}
		err = add_frame(h, f);
	}
	return err;
}

/* Adds the stack's list: its length, which is known at the end only, and its frames by
 * number. */
static int add_list(struct trace *t, uint32_t stack)
{
	struct heap *h = t->heap;
	struct stack_frame frame[STACKS_MOST];
	unsigned depth = heap_frames_get(t, stack, frame);
	size_t head = h->lists.n;
	int err = pile_add(&h->lists, &(uint32_t){ 0 }, sizeof(uint32_t));

	for (unsigned i = 0; !err && i < depth; i++)
		err = add_texts(t, frame[i]);
	if (!err)
		((uint32_t *)h->lists.mem)[head] = (uint32_t)(h->lists.n - head - 1);
	return err;
}

int heap_frames_find(struct trace *t)
{
	struct heap *h = t->heap;
	int err;

	h->resolved = true;
	if (!h->stacks.n)
		return 0;
	h->symbols = symbols_new(t->view);
	if (!h->symbols)
		return -ENOMEM;
	err = sort_stacks(t);
	if (!err && h->stacks.n)
		h->resolved = symbols_resolve(h->symbols);
	for (size_t i = 0; !err && i < h->stacks.n; i++)
		err = add_list(t, ((uint32_t *)h->stacks.mem)[i]);
	return err;
}

void heap_frames_free(struct heap *h)
{
	symbols_free(h->symbols);
	pile_free(&h->stacks);
	pile_free(&h->lists);
	pile_free(&h->frames);
	pile_free(&h->modules);
	pile_unmap(h->frame_index, h->frame_slots * sizeof(*h->frame_index));
}

/* ---- into the file ---- */

/* Writes the path of a module and the build id that tells its versions apart; both are
 * empty for an id without a module. */
static void put_module(struct trace *t, uint32_t id)
{
	const struct stack_module *m = stacks_module_get(t->view, id);
	struct json *j = &t->json;

	json_lit(j, "{\"path\": ");
	json_string(j, m ? m->path : "", m ? strnlen(m->path, m->path_len) : 0);
	json_lit(j, ", \"build_id\": \"");
	for (unsigned i = 0; m && i < m->build_id_len && i < sizeof(m->build_id); i++) {
		json_raw(j, &"0123456789abcdef"[m->build_id[i] >> 4], 1);
		json_raw(j, &"0123456789abcdef"[m->build_id[i] & 15], 1);
	}
	json_lit(j, "\"}");
}

/* Writes [frame, module, offset] for each frame without a name. */
static void put_raw(struct trace *t)
{
	const struct heap_frame *f = t->heap->frames.mem;
	struct json *j = &t->json;
	bool first = true;

	json_lit(j, "],\n\"raw\": [");
	for (size_t i = 0; i < t->heap->frames.n; i++) {
		if (!f[i].module)
			continue;
		if (!first)
			json_lit(j, ", ");
		first = false;
		json_text_unsigned(j, "[", i);
		json_text_unsigned(j, ", ", f[i].module - 1);
		json_text_unsigned(j, ", ", f[i].offset);
		json_lit(j, "]");
	}
}

static void put_lists(struct trace *t)
{
	const uint32_t *at = t->heap->lists.mem;
	struct json *j = &t->json;

	json_lit(j, "],\n\"stacks\": [");
	for (size_t i = 0; i < t->heap->stacks.n; i++) {
		if (i)
			json_lit(j, ",\n");
		json_lit(j, "[");
		for (uint32_t n = *at++, f = 0; f < n; f++) {
			if (f)
				json_lit(j, ", ");
			json_unsigned(j, *at++);
		}
		json_lit(j, "]");
	}
}

void heap_frames_write(struct trace *t)
{
	const struct heap *h = t->heap;
	const struct heap_frame *f = h->frames.mem;
	struct json *j = &t->json;

	json_lit(j, ",\n\"symbols\": ");
	json_text(j, h->resolved ? "true,\n\"modules\": [" : "false,\n\"modules\": [");
	for (size_t i = 0; i < h->modules.n; i++) {
		if (i)
			json_lit(j, ",\n");
		put_module(t, ((const uint32_t *)h->modules.mem)[i]);
	}
	json_lit(j, "],\n\"frames\": [");
	for (size_t i = 0; i < h->frames.n; i++) {
		if (i)
			json_lit(j, ",\n");
		json_string(j, f[i].text, strlen(f[i].text));
	}
	put_raw(t);
	put_lists(t);
	json_lit(j, "]");
}
