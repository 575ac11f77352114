/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks as the file has them: frames once, stacks by number. */
#include "base/hash.h"
#include "base/search.h"
#include "writer/heap/account.h"
#include "writer/python/merge.h"
#include "writer/python/python.h"
#include "writer/sort.h"
#include "writer/symbols/site_text.h"

#include <errno.h>

/* ---- stacks ---- */

struct heap_stack { /* what was wanted */
	struct stack_pair is;
	uint32_t place; /* in the file's "stacks" */
	uint32_t at; /* of its list in h->lists */
};

int heap_frames_want(struct trace *t, struct stack_pair is)
{
	const struct heap_stack s = { .is = is };

	if (!is.native)
		return 0;
	return pile_add(&t->heap->stacks, &s, sizeof(s))
		       ? -ENOMEM
		       : symbols_want_stack(t->symbols, is.native);
}

static bool stack_before(const void *left, const void *right)
{
	const struct heap_stack *a = left, *b = right;

	return a->is.native != b->is.native ? a->is.native < b->is.native
					    : a->is.python < b->is.python;
}

/* NULL: it was not wanted, or has no frames. */
static const struct heap_stack *find_stack(const struct heap *h, struct stack_pair is)
{
	const struct heap_stack *s = h->stacks.mem, key = { .is = is };
	size_t at = SEARCH_FIRST(i, 0, h->stacks.n, !stack_before(&s[i], &key));

	return at < h->stacks.n && !stack_before(&key, &s[at]) ? &s[at] : NULL;
}

int64_t heap_frames_stack(const struct heap *h, struct stack_pair is)
{
	const struct heap_stack *s = find_stack(h, is);

	return s ? (int64_t)s->place : -1;
}

struct site {
	const struct heap *heap;
	const uint32_t *list; /* the number of its frames, then the frames */
};

/* A text of Python's may move when another is added. */
static const char *text_of(const struct heap *h, const struct heap_frame *f)
{
	return f->text ? f->text : (char *)h->lines.mem + f->offset;
}

/* The text of a frame of the list, for site_text. */
static const char *site_frame(void *arg, unsigned i)
{
	const struct site *s = arg;

	return i < *s->list ? text_of(s->heap, (struct heap_frame *)s->heap->frames.mem +
						       s->list[i + 1])
			    : NULL;
}

void heap_frames_site(struct trace *t, struct stack_pair is)
{
	const struct heap_stack *stack = find_stack(t->heap, is);
	struct site s = { .heap = t->heap };
	char text[SITE_ROOM];
	size_t len;

	if (stack)
		s.list = (uint32_t *)t->heap->lists.mem + stack->at;
	len = stack ? site_text(site_frame, &s, text) : 0;
	if (len)
		json_string(&t->json, text, len);
	else
		json_lit(&t->json, "null");
}

/* ---- frames ---- */

static uint64_t hash_of(const struct heap *h, const struct heap_frame *f)
{
	uint64_t place = f->module ? f->offset ^ (uint64_t)f->module << 32 : 0;
	const char *text = text_of(h, f);

	return hash_bytes(text, strlen(text)) ^ hash_bytes(&place, sizeof(place));
}

static bool same_frame(const struct heap *h, const struct heap_frame *a,
		       const struct heap_frame *b)
{
	return a->module == b->module && (!a->module || a->offset == b->offset) &&
	       !strcmp(text_of(h, a), text_of(h, b));
}

/* The slot of a frame, or the empty slot where that frame belongs. */
static uint32_t *slot_of(const struct heap *h, const struct heap_frame *f)
{
	const struct heap_frame *known = h->frames.mem;
	size_t i = hash_of(h, f) & (h->frame_slots - 1);

	while (h->frame_index[i] && !same_frame(h, &known[h->frame_index[i] - 1], f))
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
	const char *text = symbols_text(t->symbols, frame, &n);
	bool raw = !symbols_known(t->symbols, frame) &&
		   stacks_module_get(t->view, frame.module);
	int err = 0;

	h->resolved &= !raw;
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

/* Adds a frame of Python's; a text that is there already is dropped again. */
static int add_line(struct trace *t, struct stack_frame frame)
{
	struct heap *h = t->heap;
	char text[PYTHON_TEXT], *to;
	size_t len = python_frame(t, frame, text) + 1, before = h->lines.n,
	       n = h->frames.n;
	int err;

	to = pile_extend(&h->lines, len, 1);
	if (!to)
		return -ENOMEM;
	memcpy(to, text, len);
	err = add_frame(h, (struct heap_frame){ .offset = before });
	if (h->frames.n == n)
		h->lines.n = before;
	return err;
}

/* Adds a stack's list: its length, which is known at the end only, and its frames by
 * number. */
static int add_list(struct trace *t, const struct merge *m)
{
	struct heap *h = t->heap;
	unsigned n = m->how == MERGE_DONE ? m->n : m->natives;
	size_t head = h->lists.n;
	int err = pile_add(&h->lists, &(uint32_t){ 0 }, sizeof(uint32_t));

	for (unsigned i = 0; !err && i < n; i++)
		if (m->how != MERGE_DONE)
			err = add_texts(t, m->native[i]);
		else if (m->frame[i].python)
			err = add_line(t, m->frame[i].frame);
		else
			err = add_texts(t, m->frame[i].frame);
	if (!err)
		((uint32_t *)h->lists.mem)[head] = (uint32_t)(h->lists.n - head - 1);
	return err;
}

/* Stacks with the same native one that are not merged share a list. */
int heap_frames_find(struct trace *t)
{
	struct heap *h = t->heap;
	struct heap_stack *s = h->stacks.mem, *alone = NULL;
	size_t n = 0;
	int err = sort_merge(s, h->stacks.n, sizeof(*s), stack_before);

	h->resolved = true;
	for (size_t i = 0; !err && i < h->stacks.n; i++) {
		const struct merge *m;

		if (n && !stack_before(&s[n - 1], &s[i]))
			continue;
		m = python_merge(t, s[i].is);
		if (!m->natives)
			continue;
		python_count(t, s[i].is);
		s[n] = s[i];
		if (m->how != MERGE_DONE && alone && alone->is.native == s[n].is.native) {
			s[n].place = alone->place;
			s[n++].at = alone->at;
			continue;
		}
		s[n].place = h->places++;
		s[n].at = (uint32_t)h->lists.n;
		err = add_list(t, m);
		alone = m->how != MERGE_DONE ? &s[n] : alone;
		n++;
	}
	h->stacks.n = n;
	return err;
}

void heap_frames_free(struct heap *h)
{
	pile_free(&h->stacks);
	pile_free(&h->lines);
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
	for (uint32_t i = 0; i < t->heap->places; i++) {
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
		json_string(j, text_of(h, &f[i]), strlen(text_of(h, &f[i])));
	}
	put_raw(t);
	put_lists(t);
	json_lit(j, "]");
}
