/* SPDX-License-Identifier: Apache-2.0 */
/* Rows refer to one another by number: those of a trace go on behind those before it. */
#include "report/export/database_rows.h"

/* A text of the model's as its row's number. */
static int64_t text_id(const struct database *d, uint32_t id)
{
	return id == TEXT_NONE ? DATABASE_NULL : d->texts + id;
}

/* NULL: it is not said. */
static const char *text_of(const struct joined *j, uint32_t id)
{
	return id == TEXT_NONE ? NULL : texts_get(&j->model.texts, id);
}

/* The model has -1 where a file says nothing. */
static int64_t known_number(int64_t n)
{
	return n < 0 ? DATABASE_NULL : n;
}

/* The model has 0 where an event is joined to nothing. */
static int64_t number_of(uint32_t id)
{
	return id ? (int64_t)id : DATABASE_NULL;
}

/* What torch does not say of its own files is NULL. */
static void put_trace(struct database *d, const struct joined *j)
{
	const struct model *m = &j->model;
	const struct whose *w = &m->whose;
	const int64_t numbers[] = { m->base_ns,
				    m->begin == INT64_MAX ? DATABASE_NULL : m->begin,
				    m->end,
				    (int64_t)m->events,
				    (int64_t)m->unread,
				    (int64_t)m->dropped,
				    known_number(w->overhead),
				    (int64_t)j->steps.left_out };

	database_number(d, DATABASE_trace, d->traces);
	database_text(d, DATABASE_trace, j->path);
	database_text(d, DATABASE_trace, text_of(j, w->name));
	database_text(d, DATABASE_trace, text_of(j, w->script));
	database_number(d, DATABASE_trace, m->ours ? w->pid : DATABASE_NULL);
	database_number(d, DATABASE_trace, known_number(w->rank));
	database_number(d, DATABASE_trace, m->ours ? w->window : DATABASE_NULL);
	database_text(d, DATABASE_trace, text_of(j, w->torch_version));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		database_number(d, DATABASE_trace, numbers[i]);
	database_text(d, DATABASE_trace, joined_stage(j));
	database_row(d, DATABASE_trace);
}

/* All texts of the trace, whoever refers to them. */
static void put_texts(struct database *d, const struct joined *j)
{
	for (uint32_t i = 0; i < j->model.texts.n && !d->failed; i++) {
		database_number(d, DATABASE_text, d->texts + i);
		database_text(d, DATABASE_text, texts_get(&j->model.texts, i));
		database_row(d, DATABASE_text);
	}
}

/* A thread whose process or number is not said has NULL there. */
static void put_threads(struct database *d, const struct joined *j)
{
	for (size_t i = 0; i < j->model.threads_n && !d->failed; i++) {
		const struct thread *t = &j->model.threads[i];

		database_number(d, DATABASE_thread, d->threads + (int64_t)i);
		database_number(d, DATABASE_thread, d->traces);
		database_number(d, DATABASE_thread, known_number(t->pid));
		database_number(d, DATABASE_thread, known_number(t->tid));
		database_text(d, DATABASE_thread, text_of(j, t->name));
		database_row(d, DATABASE_thread);
	}
}

/* Where none is marked the whole trace is one step, without a number. */
static void put_steps(struct database *d, const struct joined *j)
{
	for (size_t i = 0; i < j->steps.n && !d->failed; i++) {
		const struct step_figures *s = &j->steps.row[i];

		database_number(d, DATABASE_step, d->steps + (int64_t)i);
		database_number(d, DATABASE_step, d->traces);
		database_number(d, DATABASE_step,
				j->steps.marked ? s->number : DATABASE_NULL);
		database_number(d, DATABASE_step, s->begin);
		database_number(d, DATABASE_step, s->end - s->begin);
		for (int k = 0; k < SHARES; k++)
			database_number(d, DATABASE_step, s->share[k]);
		database_row(d, DATABASE_step);
	}
}

/* ---- slices ---- */

/* The categories are texts of the trace's own: made before the texts are stored. */
static bool add_categories(struct database *d, struct joined *j)
{
	memset(d->cats, 0xff, sizeof(d->cats));
	for (size_t i = 0; i < j->model.slices_n; i++) {
		const struct slice *s = &j->model.slices[i];
		uint32_t *cat = &d->cats[s->kind][s->sort];
		const char *word = joined_category(s);

		if (*cat == TEXT_NONE)
			*cat = texts_add(&j->model.texts, word, strlen(word));
		if (*cat == TEXT_NONE)
			return false;
	}
	return true;
}

/* Columns stand in the order of the table. */
static void put_slice(struct database *d, const struct joined *j, uint32_t slice)
{
	const struct slice *s = &j->model.slices[slice];
	const struct joined_row *r = &j->row[slice];
	const struct step_figures *step = joined_step(j, s->begin);
	bool host = r->event == JOINED_HOST || r->event == JOINED_NOTE;
	const int64_t columns[] = {
		d->slices + slice,
		d->traces,
		s->begin,
		s->end - s->begin,
		text_id(d, s->name),
		text_id(d, d->cats[s->kind][s->sort]),
		d->threads + s->thread,
		s->parent == NO_ROW ? DATABASE_NULL : d->slices + s->parent,
		r->depth,
		step ? step->number : DATABASE_NULL,
		joined_counts(j, s->begin),
		number_of(r->event),
		host ? r->self : DATABASE_NULL,
		r->event ? r->device : DATABASE_NULL,
		r->event ? r->self_device : DATABASE_NULL,
		number_of(s->external),
		number_of(s->correlation),
		known_number(s->seq),
		text_id(d, s->shapes),
		text_id(d, s->stack),
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		database_number(d, DATABASE_slice, columns[i]);
	database_row(d, DATABASE_slice);
}

/* What only GPU work has is a table of its own: most slices have none of it. */
static void put_kernel(struct database *d, const struct joined *j, uint32_t slice)
{
	const struct work *w = &j->model.works[j->model.slices[slice].work];
	uint32_t op = joined_op(j, slice);

	database_number(d, DATABASE_kernel, d->slices + slice);
	database_number(d, DATABASE_kernel, known_number(w->device));
	database_number(d, DATABASE_kernel, known_number(w->stream));
	database_text(d, DATABASE_kernel, text_of(j, w->grid));
	database_text(d, DATABASE_kernel, text_of(j, w->block));
	database_number(d, DATABASE_kernel, known_number(w->registers));
	database_number(d, DATABASE_kernel, known_number(w->shared));
	database_number(d, DATABASE_kernel, known_number(w->bytes));
	database_share(d, DATABASE_kernel, w->blocks_per_sm);
	database_share(d, DATABASE_kernel, w->occupancy);
	database_number(d, DATABASE_kernel,
			op == NO_ROW ? DATABASE_NULL : d->slices + op);
	database_row(d, DATABASE_kernel);
}

/* Work on a device has a second row, with what only such work has. */
static void put_slices(struct database *d, const struct joined *j)
{
	for (uint32_t i = 0; i < j->model.slices_n && !d->failed; i++) {
		put_slice(d, j, i);
		if (j->model.slices[i].work != NO_ROW)
			put_kernel(d, j, i);
	}
}

/* Memory events by time, with the innermost slice around them. */
static void put_memory(struct database *d, const struct joined *j)
{
	for (size_t i = 0; i < j->model.memory_n && !d->failed; i++) {
		const struct memory_event *e = &j->model.memory[i];
		char device[64];

		database_number(d, DATABASE_memory, d->memory + (int64_t)i);
		database_number(d, DATABASE_memory, d->traces);
		database_number(d, DATABASE_memory, e->ts);
		database_text(d, DATABASE_memory,
			      model_device(&j->model, e->device, device, sizeof(device)));
		database_number(d, DATABASE_memory,
				e->has_addr ? (int64_t)e->addr : DATABASE_NULL);
		database_number(d, DATABASE_memory, e->bytes);
		database_number(d, DATABASE_memory, e->allocated);
		database_number(d, DATABASE_memory, e->reserved);
		database_number(d, DATABASE_memory, d->threads + e->thread);
		database_number(d, DATABASE_memory,
				e->slice == NO_ROW ? DATABASE_NULL
						   : d->slices + e->slice);
		database_number(d, DATABASE_memory, e->oom);
		database_row(d, DATABASE_memory);
	}
}

/* Categories are texts as well, and come before the texts are written. The counts move
 * last: rows of this trace refer to the old ones. */
bool database_rows_add(struct database *d, struct joined *j, char *why, size_t size)
{
	if (!add_categories(d, j)) {
		snprintf(why, size, "%s: not enough memory", j->path);
		d->failed = true;
		return false;
	}
	put_trace(d, j);
	put_texts(d, j);
	put_threads(d, j);
	put_steps(d, j);
	put_slices(d, j);
	put_memory(d, j);
	d->traces++;
	d->texts += (int64_t)j->model.texts.n;
	d->threads += (int64_t)j->model.threads_n;
	d->steps += (int64_t)j->steps.n;
	d->slices += (int64_t)j->model.slices_n;
	d->memory += (int64_t)j->model.memory_n;
	return !d->failed || database_failed(d, j->path, why, size);
}
