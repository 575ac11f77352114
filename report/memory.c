/* SPDX-License-Identifier: Apache-2.0 */
#include "report/memory.h"
#include "report/category.h"

#include <stdlib.h>
#include <string.h>

/* ---- rows ---- */

struct memory_row *memory_row(struct memory_table *t, struct texts *texts, uint32_t label)
{
	size_t key = label == TEXT_NONE ? 0 : (size_t)label + 1;

	if (key >= t->labels) {
		size_t labels = texts->n + texts->n / 2 + 64;
		uint32_t *grown = realloc(t->row_of, labels * sizeof(*grown));

		if (!grown)
			return NULL;
		memset(grown + t->labels, 0xff, (labels - t->labels) * sizeof(*grown));
		t->row_of = grown;
		t->labels = labels;
	}
	if (t->row_of[key] == NO_ROW) {
		if (!GROW(t->rows, t->room, t->n))
			return NULL;
		t->rows[t->n] = (struct memory_row){ .label = label };
		t->row_of[key] = (uint32_t)t->n++;
	}
	return &t->rows[t->row_of[key]];
}

static int most_at_last(const void *a, const void *b)
{
	const struct memory_row *x = *(struct memory_row *const *)a;
	const struct memory_row *y = *(struct memory_row *const *)b;

	if (x->last != y->last)
		return x->last > y->last ? -1 : 1;
	return x < y ? -1 : x > y;
}

bool memory_keep_steps(struct memory_table *t, size_t steps)
{
	struct memory_row **order;
	bool fine = true;

	if (!t->n || !steps)
		return true;
	order = malloc(t->n * sizeof(*order));
	if (!order)
		return false;
	for (size_t i = 0; i < t->n; i++)
		order[i] = &t->rows[i];
	qsort(order, t->n, sizeof(*order), most_at_last);
	for (size_t i = 0; fine && i < t->n && i < MEMORY_GROWING; i++) {
		if (order[i]->last <= 0)
			break;
		order[i]->steps = calloc(steps + 1, sizeof(int64_t));
		fine = order[i]->steps != NULL;
	}
	free(order);
	return fine;
}

int64_t memory_growth(const struct memory_row *r, size_t i)
{
	if (!r->steps)
		return 0;
	return r->steps[i] - (i ? r->steps[i - 1] : 0);
}

/* ---- the view ---- */

static bool choose_steps(struct memory_view *v)
{
	const struct model *m = v->model;
	size_t n = 0, room = m->steps_n < MEMORY_STEPS ? m->steps_n : MEMORY_STEPS;

	v->numbers = calloc(room + 1, sizeof(*v->numbers));
	v->begins = calloc(room + 1, sizeof(*v->begins));
	v->ends = calloc(room + 1, sizeof(*v->ends));
	if (!v->numbers || !v->begins || !v->ends)
		return false;
	for (size_t i = m->steps_n; i-- > 0 && n < room;)
		n += m->steps[i].number >= v->options.first &&
		     m->steps[i].number <= v->options.last;
	v->steps_n = n;
	for (size_t i = m->steps_n; i-- > 0 && n;) {
		const struct step *s = &m->steps[i];

		if (s->number < v->options.first || s->number > v->options.last)
			continue;
		v->numbers[--n] = s->number;
		v->begins[n] = s->begin;
		v->ends[n] = s->end;
	}
	return true;
}

static bool is_wanted(const struct memory_view *v, const char *name)
{
	return !v->options.device || !strcmp(v->options.device, name);
}

static bool add_spaces(struct memory_view *v)
{
	struct model *m = v->model;
	bool fine = true;

	v->spaces = calloc(m->devices_n + 1, sizeof(*v->spaces));
	if (!v->spaces)
		return false;
	for (uint32_t i = 0; fine && i < m->devices_n; i++) {
		struct memory_space *s = &v->spaces[v->spaces_n];

		model_device(m, i, s->name, sizeof(s->name));
		s->device = i;
		if (!is_wanted(v, s->name))
			continue;
		v->spaces_n++;
		fine = memory_tensors(v, s);
	}
	if (fine && m->heap && is_wanted(v, "heap")) {
		struct memory_space *s = &v->spaces[v->spaces_n++];

		memcpy(s->name, "heap", 5);
		s->heap = true;
		fine = memory_heap(v, s);
	}
	return fine;
}

bool memory_make(struct memory_view *v, struct model *m, const struct memory_options *o)
{
	*v = (struct memory_view){ .model = m, .options = *o };
	if (blocks_make(&v->blocks, m, o->depth) && categories_set(&v->blocks) &&
	    choose_steps(v) && add_spaces(v))
		return true;
	memory_free(v);
	return false;
}

static void free_table(struct memory_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->rows[i].steps);
	free(t->rows);
	free(t->row_of);
}

void memory_free(struct memory_view *v)
{
	for (size_t i = 0; i < v->spaces_n; i++) {
		free_table(&v->spaces[i].by_op);
		free_table(&v->spaces[i].by_site);
		free(v->spaces[i].churn);
	}
	free(v->spaces);
	free(v->numbers);
	free(v->begins);
	free(v->ends);
	blocks_free(&v->blocks);
	*v = (struct memory_view){ 0 };
}
