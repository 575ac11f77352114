/* SPDX-License-Identifier: Apache-2.0 */
/* A trace's frames that have no names yet: asks for them, reads the answer, fills them
 * in. */
#include "base/array.h"
#include "launcher/recover/fill.h"
#include "launcher/recover/refill.h"
#include "launcher/symbols/symbolize.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_NS 120000000000ll

/* ---- reading the file ---- */

static bool find_members(struct fill *f)
{
	const struct {
		const char *key;
		struct span *value;
	} all[] = { { "\"symbols\"", &f->symbols },
		    { "\"modules\"", &f->modules },
		    { "\"frames\"", &f->frames },
		    { "\"raw\"", &f->raw },
		    { "\"stacks\"", &f->stacks } };
	struct span inside;
	struct span_member m;
	unsigned found = 0;

	if (!span_open(f->heap, '{', &inside))
		return false;
	while (span_member(&inside, &m) && !m.cut)
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
			if (span_is(m.key, all[i].key)) {
				*all[i].value = m.value;
				found |= 1u << i;
			}
	return found == 31 && span_is(f->symbols, "false");
}

/* Reads [frame, module, offset], ... */
static bool read_raws(struct fill *f)
{
	struct span list, item, triple, part[3];

	if (!span_open(f->raw, '[', &list))
		return false;
	while (span_item(&list, &item)) {
		struct raw r = { 0 };

		if (!span_open(item, '[', &triple) || !span_item(&triple, &part[0]) ||
		    !span_item(&triple, &part[1]) || !span_item(&triple, &part[2]) ||
		    !span_number(part[0], &r.frame) || !span_number(part[1], &r.module) ||
		    !span_number(part[2], &r.offset) || !GROW(f->raws, f->room, f->n))
			return false;
		f->raws[f->n++] = r;
	}
	return f->n > 0;
}

static int by_module(const void *left, const void *right)
{
	const struct raw *a = left, *b = right;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* ---- the question ---- */

static void put_module(struct text *q, struct span module)
{
	struct span inside;
	struct span_member m;
	char *path = NULL, *id = NULL;

	if (span_open(module, '{', &inside))
		while (span_member(&inside, &m)) {
			if (!path && span_is(m.key, "\"path\""))
				path = span_string(m.value);
			if (!id && span_is(m.key, "\"build_id\""))
				id = span_string(m.value);
		}
	text_put(q, "m", 1);
	if (id)
		text_put(q, id, strcspn(id, ":"));
	text_put(q, ":", 1);
	text_put(q, path ? path : "", path ? strlen(path) + 1 : 1);
	free(path);
	free(id);
}

/* Writes the question. The modules and the frames asked for are both in order. */
static void put_question(struct fill *f)
{
	struct span list, module;
	uint64_t number = 0;
	size_t i = 0;

	qsort(f->raws, f->n, sizeof(*f->raws), by_module);
	if (!span_open(f->modules, '[', &list))
		return;
	for (; span_item(&list, &module); number++) {
		if (i < f->n && f->raws[i].module == number)
			put_module(&f->question, module);
		for (; i < f->n && f->raws[i].module == number; i++) {
			char text[32];

			text_put(&f->question, text,
				 (size_t)snprintf(text, sizeof(text), "f%llx",
						  (unsigned long long)f->raws[i].offset) +
					 1);
		}
	}
}

static int take_answer(void *arg, const char *text, size_t len)
{
	return text_put(arg, text, len) ? 0 : -ENOMEM;
}

/* Returns how many frames got an answer. It may end early: the frames behind have
 * none. */
static size_t read_answer(struct fill *f)
{
	size_t at = 0, known = 0, len;

	for (size_t i = 0; i < f->n && at < f->answer.n; i++, at += len) {
		len = symbolize_length(f->answer.mem + at, f->answer.n - at);
		if (!len)
			break;
		f->raws[i].at = at;
		f->raws[i].known = len > 1;
		known += f->raws[i].known;
	}
	return known;
}

/* ---- the new text ---- */

static int by_place(const void *left, const void *right)
{
	const struct span *const *a = left, *const *b = right;

	return (*a)->at < (*b)->at ? -1 : 1;
}

/* Writes the object: its values change in their places, so that all else stays byte for
 * byte. */
static void put_heap(struct fill *f, struct text *out, bool all)
{
	const struct span *order[] = { &f->symbols, &f->modules, &f->frames, &f->raw,
				       &f->stacks };
	const char *at = f->heap.at;

	qsort(order, 5, sizeof(*order), by_place);
	for (int i = 0; i < 5; i++) {
		const struct span *s = order[i];

		text_put(out, at, (size_t)(s->at - at));
		at = s->end;
		if (s == &f->frames)
			text_put(out, f->new_frames.mem, f->new_frames.n);
		else if (s == &f->stacks)
			text_put(out, f->new_stacks.mem, f->new_stacks.n);
		else if (s == &f->raw)
			text_put(out, f->new_raw.mem, f->new_raw.n);
		else if (!all)
			text_put(out, s->at, (size_t)(s->end - s->at));
		else if (s == &f->symbols)
			text_put(out, "true", 4);
		else
			text_put(out, "[]", 2);
	}
	text_put(out, at, (size_t)(f->heap.end - at));
}

static bool resolve_frames(struct fill *f, size_t *known)
{
	if (!find_members(f) || !read_raws(f))
		return false;
	put_question(f);
	if (f->question.failed || !f->question.n)
		return false;
	known_ask(f->question.mem, f->question.n, PATIENCE_NS, take_answer, &f->answer);
	*known = read_answer(f);
	return *known && refill_frames(f);
}

char *refill_heap(const char *heap, size_t len, size_t *new_len)
{
	struct fill f = { .heap = { heap, heap + len } };
	struct text out = { 0 };
	size_t known = 0;

	if (resolve_frames(&f, &known))
		put_heap(&f, &out, known == f.n);
	if (out.failed) {
		free(out.mem);
		out.mem = NULL;
	}
	*new_len = out.n;
	free(f.raws);
	free(f.question.mem);
	free(f.answer.mem);
	free(f.new_frames.mem);
	free(f.new_stacks.mem);
	free(f.new_raw.mem);
	free(f.slot);
	free(f.number);
	free(f.map.mem);
	free(f.old);
	return out.mem;
}
