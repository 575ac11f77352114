/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over slices in order: what is around the next one is open, and what is not
 * around it is over. Sums are made when a call is over, as cProfile does. */
#include "report/figures/callers.h"
#include "base/frame_text.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/utf8.h"
#include "report/figures/function_names.h"
#include "report/figures/sum.h"

#include <stdio.h>

struct adding {
	struct callers *c;
	struct model *m;
	uint32_t *names; /* by text: its function's */
	uint32_t *row_of; /* by text; NO_ROW = none yet */
	uint32_t *row, *pair; /* by slice; pair NO_ROW: nobody called it */
	int64_t *inside; /* by slice: time of the calls inside */
	uint32_t top; /* the innermost slice that is open; NO_ROW = none */
};

/* ---- rows ---- */

/* Writes a name as pstats takes it. Names that would be read as the same function are the
 * same text then. */
static void write_name(FILE *out, const char *name, size_t len)
{
	const char *place = frame_place(name, len);
	size_t n;

	for (size_t i = 0; i < len; i += n ?: 1) {
		if (place == name + i) {
			uint64_t line = text_number(place + 1);

			fprintf(out, "(%u)",
				line < INT32_MAX ? (unsigned)line : INT32_MAX);
			n = (size_t)(strchr(place, ')') + 1 - place);
			continue;
		}
		n = utf8_length((const unsigned char *)name + i, len - i);
		if (n)
			fwrite(name + i, 1, n, out);
		else
			fputs("\xef\xbf\xbd", out);
	}
}

/* The row of a text of the model; NO_ROW: no memory. */
static uint32_t row_named(struct callers *c, const char *name)
{
	char *made = NULL;
	size_t len;
	FILE *out = open_memstream(&made, &len);
	uint32_t row = NO_ROW;

	if (!out)
		return NO_ROW;
	write_name(out, name, strlen(name));
	if (!fclose(out) && GROW(c->row, c->room, c->n))
		row = texts_add(&c->names, made, len);
	free(made);
	if (row == c->n)
		c->row[c->n++] = (struct callers_row){ 0 };
	return row;
}

/* ---- pairs ---- */

/* The slot of a pair, or the empty one where it belongs. */
static uint32_t *pair_slot(const struct callers *c, uint32_t caller, uint32_t callee)
{
	size_t at = hash_place((uint64_t)caller << 32 | callee, c->slots_n);

	while (c->slots[at] != NO_ROW && (c->pair[c->slots[at]].caller != caller ||
					  c->pair[c->slots[at]].callee != callee))
		at = at + 1 < c->slots_n ? at + 1 : 0;
	return &c->slots[at];
}

/* The hash is never more than half full, so that a search ends. */
static bool more_slots(struct callers *c)
{
	size_t n = c->slots_n ? 2 * c->slots_n : 256;
	uint32_t *slots = malloc(n * sizeof(*slots));

	if (!slots)
		return false;
	free(c->slots);
	c->slots = memset(slots, 0xff, n * sizeof(*slots));
	c->slots_n = n;
	for (uint32_t i = 0; i < c->pairs_n; i++)
		*pair_slot(c, c->pair[i].caller, c->pair[i].callee) = i;
	return true;
}

/* The number of a pair; NO_ROW: no memory. */
static uint32_t find_pair(struct callers *c, uint32_t caller, uint32_t callee)
{
	uint32_t *slot;

	if (2 * (c->pairs_n + 1) > c->slots_n && !more_slots(c))
		return NO_ROW;
	slot = pair_slot(c, caller, callee);
	if (*slot != NO_ROW)
		return *slot;
	if (c->pairs_n >= NO_ROW || !GROW(c->pair, c->pairs_room, c->pairs_n))
		return NO_ROW;
	c->pair[c->pairs_n] = (struct callers_pair){ .caller = caller, .callee = callee };
	return *slot = (uint32_t)c->pairs_n++;
}

/* ---- calls ---- */

static void add_call(struct call_sums *sums, uint32_t *open, const struct slice *s,
		     int64_t own)
{
	sums->calls += !s->continued;
	sum_add(&sums->own, own);
	if (--*open)
		return;
	sums->primitive += !s->continued;
	sum_add(&sums->total, s->end - s->begin);
}

/* A slice may stand out of the one around it by a little: only what lies in that is not
 * its own. */
static void leave_call(struct adding *a)
{
	uint32_t i = a->top;
	const struct slice *s = &a->m->slices[i];
	int64_t length = s->end - s->begin;
	int64_t own = a->inside[i] < length ? length - a->inside[i] : 0;
	struct callers_row *row = &a->c->row[a->row[i]];

	add_call(&row->sums, &row->open, s, own);
	if (a->pair[i] != NO_ROW) {
		struct callers_pair *pair = &a->c->pair[a->pair[i]];

		add_call(&pair->sums, &pair->open, s, own);
	}
	a->top = s->parent;
	if (a->top != NO_ROW) {
		int64_t end = a->m->slices[a->top].end;

		sum_add(&a->inside[a->top], (s->end < end ? s->end : end) - s->begin);
	}
}

/* False: no memory. */
static bool enter_call(struct adding *a, uint32_t i)
{
	const struct slice *s = &a->m->slices[i];
	uint32_t name = a->names[s->name], *row = &a->row_of[name];

	if (*row == NO_ROW)
		*row = row_named(a->c, texts_get(&a->m->texts, name));
	if (*row == NO_ROW)
		return false;
	a->row[i] = *row;
	a->pair[i] = NO_ROW;
	a->c->row[*row].open++;
	a->c->added++;
	a->top = i;
	if (s->parent == NO_ROW)
		return true;
	a->pair[i] = find_pair(a->c, a->row[s->parent], *row);
	if (a->pair[i] == NO_ROW)
		return false;
	a->c->pair[a->pair[i]].open++;
	return true;
}

/* The parent of a slice is the one before it, or around that. Where memory ends all that
 * is open is left: what other traces add is counted right. */
static bool add_calls(struct adding *a, const bool *listed)
{
	bool fine = true;

	a->top = NO_ROW;
	for (uint32_t i = 0; fine && i < a->m->slices_n; i++) {
		const struct slice *s = &a->m->slices[i];

		if (listed && !listed[s->thread])
			continue;
		while (a->top != NO_ROW && a->top != s->parent)
			leave_call(a);
		fine = enter_call(a, i);
	}
	while (a->top != NO_ROW)
		leave_call(a);
	return fine;
}

bool callers_add(struct callers *c, struct model *m, const bool *listed)
{
	struct adding a = { .c = c, .m = m, .names = function_names_make(m) };
	size_t slices = m->slices_n + 1, texts = m->texts.n + 1;
	bool fine;

	a.row_of = malloc(texts * sizeof(*a.row_of));
	a.row = malloc(slices * sizeof(*a.row));
	a.pair = malloc(slices * sizeof(*a.pair));
	a.inside = calloc(slices, sizeof(*a.inside));
	fine = a.names && a.row_of && a.row && a.pair && a.inside;
	if (fine) {
		memset(a.row_of, 0xff, texts * sizeof(*a.row_of));
		fine = add_calls(&a, listed);
	}
	free(a.names);
	free(a.row_of);
	free(a.row);
	free(a.pair);
	free(a.inside);
	return fine;
}

void callers_free(struct callers *c)
{
	texts_free(&c->names);
	free(c->row);
	free(c->pair);
	free(c->slots);
	*c = (struct callers){ 0 };
}
