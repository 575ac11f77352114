/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the times of each step up, file after file. */
#include "report/compare/profile.h"
#include "report/figures/self_time.h"
#include "report/whose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A hostile file has a name for each event; from here on all names are one row. */
#define ROWS_MOST   20000u
#define NAME_MOST   4096u
#define VALUES_MOST (32u << 20)

struct adding {
	struct profile *p;
	const struct model *m;
	const struct steps *steps;
	size_t base; /* the number of the file's first step */
	uint32_t *rows[PROFILE_KINDS]; /* of the model's texts; NO_ROW = not known yet */
};

/* ---- rows ---- */

/* The number of a row, which is made at its first time; NO_ROW: no memory. */
static uint32_t row_number(struct profile *p, enum profile_kind kind, const char *name)
{
	char text[NAME_MOST];
	uint32_t id;

	snprintf(text, sizeof(text), "%c%s", 'a' + (int)kind, name);
	id = texts_find(&p->names, text);
	if (id != TEXT_NONE)
		return id;
	if (p->rows_n >= ROWS_MOST)
		snprintf(text, sizeof(text), "%c(other names)", 'a' + (int)kind);
	id = texts_add(&p->names, text, strlen(text));
	if (id == TEXT_NONE || id < p->rows_n)
		return id;
	if (!GROW(p->rows, p->rows_room, p->rows_n))
		return NO_ROW;
	p->rows[p->rows_n++] = (struct profile_row){ 0 };
	return id;
}

/* The value of a row in a step; NULL: no memory. */
static double *value_at(struct profile *p, uint32_t row, size_t step)
{
	struct profile_row *r;

	if (row >= p->rows_n)
		return NULL;
	r = &p->rows[row];
	while (r->n <= step) {
		/* A hostile file has many names and many steps. */
		if (p->values == VALUES_MOST || !GROW(r->value, r->room, r->n))
			return NULL;
		r->value[r->n++] = 0;
		p->values++;
	}
	return &r->value[step];
}

static bool add_value(struct profile *p, enum profile_kind kind, const char *name,
		      size_t step, double value)
{
	double *to = value_at(p, row_number(p, kind, name), step);

	if (to)
		*to += value;
	return to;
}

const struct profile_row *profile_find(const struct profile *p, enum profile_kind kind,
				       const char *name)
{
	char text[NAME_MOST];
	uint32_t id;

	snprintf(text, sizeof(text), "%c%s", 'a' + (int)kind, name);
	id = texts_find(&p->names, text);
	return id == TEXT_NONE || id >= p->rows_n ? NULL : &p->rows[id];
}

/* ---- a file ---- */

static bool add_steps(struct adding *a)
{
	struct profile *p = a->p;

	for (size_t i = 0; i < a->steps->n; i++) {
		const struct step_figures *s = &a->steps->row[i];
		size_t step = a->base + i;

		if (!GROW(p->window, p->window_room, p->steps_n))
			return false;
		p->window[p->steps_n++] = (uint32_t)p->windows_n;
		if (!add_value(p, PROFILE_STEP, "step", step,
			       (double)(s->end - s->begin)))
			return false;
		for (unsigned share = 0; share < SHARES; share++)
			if (!add_value(p, PROFILE_SHARE, share_names[share], step,
				       (double)s->share[share]))
				return false;
	}
	return true;
}

/* Adds to the row of a name of the model, found once a name. */
static bool add_named(struct adding *a, enum profile_kind kind, uint32_t name,
		      size_t step, double value)
{
	uint32_t *row = &a->rows[kind][name];
	double *to;

	if (*row == NO_ROW)
		*row = row_number(a->p, kind, texts_get(&a->m->texts, name));
	to = value_at(a->p, *row, step);
	if (to)
		*to += value;
	return to;
}

/* Adds operators and calls by their own time, and what ran on GPUs. */
static bool add_slices(struct adding *a, const int64_t *self)
{
	const struct model *m = a->m;

	for (size_t i = 0; i < m->slices_n; i++) {
		const struct slice *s = &m->slices[i];
		bool host = s->kind == SLICE_OP || s->kind == SLICE_CALL;
		long step;

		if (!host && s->kind != SLICE_DEVICE)
			continue;
		step = steps_at(a->steps, s->begin);
		if (step >= 0 &&
		    !add_named(a, host ? PROFILE_HOST : PROFILE_GPU, s->name,
			       a->base + (size_t)step,
			       host ? (double)self[i] : (double)(s->end - s->begin)))
			return false;
	}
	return true;
}

/* Keeps the most that a device had allocated in each step. A step without events has what
 * the step before ended with. */
static bool add_peaks(struct adding *a)
{
	const struct model *m = a->m;
	double level[MODEL_DEVICES];
	bool seen[MODEL_DEVICES] = { false };
	size_t at = 0;

	for (size_t i = 0; i < a->steps->n; i++) {
		double peak[MODEL_DEVICES];

		for (unsigned d = 0; d < m->devices_n; d++)
			peak[d] = seen[d] ? level[d] : 0;
		for (; at < m->memory_n && m->memory[at].ts < a->steps->row[i].end;
		     at++) {
			const struct memory_event *e = &m->memory[at];

			seen[e->device] = true;
			level[e->device] = (double)e->allocated;
			if (e->ts >= a->steps->row[i].begin &&
			    level[e->device] > peak[e->device])
				peak[e->device] = level[e->device];
		}
		for (unsigned d = 0; d < m->devices_n; d++) {
			char name[64];

			if (seen[d] && !add_value(a->p, PROFILE_PEAK,
						  model_device(m, d, name, sizeof(name)),
						  a->base + i, peak[d]))
				return false;
		}
	}
	return true;
}

static void keep_text(char *to, size_t size, const struct model *m, uint32_t text)
{
	if (!*to && text != TEXT_NONE)
		snprintf(to, size, "%s", texts_get(&m->texts, text));
}

static void add_facts(struct profile *p, const struct model *m)
{
	keep_text(p->torch, sizeof(p->torch), m, m->whose.torch_version);
	keep_text(p->script, sizeof(p->script), m, m->whose.script);
	if (!*p->stage)
		strcpy(p->stage, whose_stage(m));
	if (m->gpus_n)
		keep_text(p->gpu, sizeof(p->gpu), m, m->gpus[0].name);
	p->damaged |= damage_is(&m->damage);
	p->dropped += m->dropped > m->late ? m->dropped - m->late : 0;
}

static bool add_model(struct adding *a)
{
	size_t names = a->m->texts.n + 1;
	int64_t *self = self_time_make(a->m);
	bool fine = self;

	for (unsigned kind = PROFILE_HOST; kind <= PROFILE_GPU; kind++) {
		a->rows[kind] = malloc(names * sizeof(uint32_t));
		if (a->rows[kind])
			memset(a->rows[kind], 0xff, names * sizeof(uint32_t));
		fine &= a->rows[kind] != NULL;
	}
	fine = fine && add_steps(a) && add_slices(a, self) && add_peaks(a);
	add_facts(a->p, a->m);
	free(a->rows[PROFILE_HOST]);
	free(a->rows[PROFILE_GPU]);
	free(self);
	return fine;
}

void profile_start(struct profile *p)
{
	*p = (struct profile){ 0 };
}

bool profile_add(struct profile *p, const char *path, char *why, size_t size)
{
	struct model m;
	struct steps steps;
	struct adding a = { p, &m, &steps, p->steps_n, { NULL } };
	bool fine;

	if (model_read(&m, path,
		       WANT(SLICE_OP) | WANT(SLICE_NOTE) | WANT(SLICE_CALL) |
			       WANT(SLICE_DEVICE) | WANT(SLICE_DEVICE_NOTE),
		       why, size))
		return false;
	fine = steps_make(&steps, &m);
	if (fine) {
		p->unmarked |= !steps.marked;
		fine = add_model(&a);
		p->windows_n++;
		steps_free(&steps);
	}
	if (!fine)
		snprintf(why, size, "%s: not enough memory", path);
	model_free(&m);
	return fine;
}

void profile_free(struct profile *p)
{
	for (size_t i = 0; i < p->rows_n; i++)
		free(p->rows[i].value);
	free(p->rows);
	free(p->window);
	texts_free(&p->names);
	*p = (struct profile){ 0 };
}
