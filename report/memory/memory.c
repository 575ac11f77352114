/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the memory view together: its steps and its spaces; and frees it. */
#include "report/memory/memory.h"
#include "report/memory/category.h"

#include <stdlib.h>
#include <string.h>

int64_t memory_growth(const struct memory_row *r, size_t i)
{
	if (!r->steps)
		return 0;
	return r->steps[i] - (i ? r->steps[i - 1] : 0);
}

/* ---- the view ---- */

/* Chooses the last MEMORY_STEPS of the steps that were asked for, in their order. */
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

/* Makes a space for each device with tensor memory and one for the heap, as far as they
 * are wanted. */
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
	if (blocks_make(&v->blocks, m, o->depth) && category_set_all(&v->blocks) &&
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
