/* SPDX-License-Identifier: Apache-2.0 */
/* A line has the keys of one table of columns, in its order. */
#include "report/export/event_lines.h"
#include "report/export/json_piece.h"

#include <math.h>
#include <string.h>

enum column {
#define COLUMN(key) COLUMN_##key,
#include "report/export/event_lines.def"
#undef COLUMN
	COLUMNS
};

#define NOT_KNOWN INT64_MIN

struct cell {
	const char *text; /* NULL, */
	int64_t n; /* NOT_KNOWN */
	double x; /* or NaN: not known */
};

struct line {
	struct cell cell[COLUMNS];
};

#define SET(line, column) ((line)->cell[COLUMN_##column])

/* No cell is left from the line before. */
static void clear_line(struct line *l)
{
	for (unsigned i = 0; i < COLUMNS; i++)
		l->cell[i] = (struct cell){ NULL, NOT_KNOWN, NAN };
}

/* A cell has one value at most. */
static void put_cell(struct json_piece *t, const struct cell *c)
{
	char number[64];

	if (c->text)
		json_piece_string(t, c->text, strlen(c->text));
	else if (c->n != NOT_KNOWN)
		json_piece_number(t, c->n);
	else if (isfinite(c->x))
		json_piece_add(t, number,
			       (size_t)snprintf(number, sizeof(number), "%.6g", c->x));
	else
		json_piece_literal(t, "null");
}

/* Each line begins and ends alone, so that any part of the file is lines, too. */
static void put_line(struct json_piece *t, const struct line *l)
{
	static const struct {
		const char *text;
		size_t len;
	} keys[] = {
#define COLUMN(key) { ",\"" #key "\":", sizeof(#key) + 3 },
#include "report/export/event_lines.def"
#undef COLUMN
	};

	json_piece_literal(t, "{");
	for (unsigned i = 0; i < COLUMNS; i++) {
		json_piece_add(t, keys[i].text + !i, keys[i].len - !i);
		put_cell(t, &l->cell[i]);
	}
	json_piece_literal(t, "}\n");
}

/* ---- what every line has ---- */

/* NULL: the file does not say it. */
static const char *text_of(const struct joined *j, uint32_t id)
{
	return id == TEXT_NONE ? NULL : texts_get(&j->model.texts, id);
}

/* The model has 0 where an event is joined to nothing. */
static int64_t number_of(uint32_t id)
{
	return id ? (int64_t)id : NOT_KNOWN;
}

/* The model has -1 where a file says nothing. */
static int64_t known_number(int64_t n)
{
	return n < 0 ? NOT_KNOWN : n;
}

/* A row whose number is a text, as Kineto's own are, has none. */
static void set_thread(struct line *l, const struct joined *j, uint32_t thread)
{
	const struct thread *t = &j->model.threads[thread];

	SET(l, pid).n = known_number(t->pid);
	SET(l, tid).n = known_number(t->tid);
	SET(l, thread).text = text_of(j, t->name);
}

/* Slices and memory events have these cells alike; the others are left empty. */
static void set_moment(struct line *l, const struct joined *j, int64_t ts)
{
	const struct step_figures *step = joined_step(j, ts);

	clear_line(l);
	SET(l, trace).text = j->path;
	SET(l, rank).n = known_number(j->model.whose.rank);
	SET(l, stage).text = joined_stage(j);
	SET(l, window).n = j->model.ours ? j->model.whose.window : NOT_KNOWN;
	SET(l, ts).n = ts;
	SET(l, step).n = step ? step->number : NOT_KNOWN;
	SET(l, in_steps).n = joined_counts(j, ts);
}

/* ---- slices ---- */

/* Only work on a device has these cells, and few files say all of them. */
static void set_work(struct line *l, const struct joined *j, uint32_t slice)
{
	const struct slice *s = &j->model.slices[slice];
	const struct work *w = &j->model.works[s->work];
	uint32_t op = joined_op(j, slice);

	SET(l, op).n = op == NO_ROW ? NOT_KNOWN : (int64_t)op;
	SET(l, device).n = known_number(w->device);
	SET(l, stream).n = known_number(w->stream);
	SET(l, grid).text = text_of(j, w->grid);
	SET(l, block).text = text_of(j, w->block);
	SET(l, registers).n = known_number(w->registers);
	SET(l, shared).n = known_number(w->shared);
	SET(l, bytes).n = known_number(w->bytes);
	SET(l, blocks_per_sm).x = w->blocks_per_sm < 0 ? NAN : w->blocks_per_sm;
	SET(l, occupancy).x = w->occupancy < 0 ? NAN : w->occupancy;
}

/* Times of its own are of an event alone: what is part of another one has none. */
static void set_event(struct line *l, const struct joined_row *r)
{
	static const char *const words[] = { [JOINED_HOST] = "host",
					     [JOINED_NOTE] = "annotation",
					     [JOINED_DEVICE] = "device",
					     [JOINED_DEVICE_NOTE] = "device annotation" };

	SET(l, event).text = words[r->event];
	if (r->event == JOINED_HOST || r->event == JOINED_NOTE)
		SET(l, self_ns).n = r->self;
	SET(l, device_ns).n = r->device;
	SET(l, self_device_ns).n = r->self_device;
}

/* A slice's id is its number in its own trace: parents and operators refer to it. */
static void set_slice(struct line *l, const struct joined *j, uint32_t slice)
{
	const struct slice *s = &j->model.slices[slice];

	set_moment(l, j, s->begin);
	set_thread(l, j, s->thread);
	SET(l, id).n = slice;
	SET(l, cat).text = joined_category(s);
	SET(l, name).text = text_of(j, s->name);
	SET(l, dur).n = s->end - s->begin;
	SET(l, parent).n = s->parent == NO_ROW ? NOT_KNOWN : (int64_t)s->parent;
	SET(l, depth).n = j->row[slice].depth;
	SET(l, external_id).n = number_of(s->external);
	SET(l, correlation).n = number_of(s->correlation);
	SET(l, sequence).n = known_number(s->seq);
	SET(l, shapes).text = text_of(j, s->shapes);
	SET(l, stack).text = text_of(j, s->stack);
	if (j->row[slice].event)
		set_event(l, &j->row[slice]);
	if (s->work != NO_ROW)
		set_work(l, j, slice);
}

/* ---- memory ---- */

/* A memory event has no id: nothing refers to it. Its parent is the slice that it
 * happened in. */
static void set_memory(struct line *l, const struct joined *j,
		       const struct memory_event *e, char *device, size_t size)
{
	set_moment(l, j, e->ts);
	set_thread(l, j, e->thread);
	SET(l, cat).text = "memory";
	SET(l, name).text = e->oom ? "[OutOfMemory]" : "[memory]";
	SET(l, parent).n = e->slice == NO_ROW ? NOT_KNOWN : (int64_t)e->slice;
	SET(l, device_name).text = model_device(&j->model, e->device, device, size);
	SET(l, bytes).n = e->bytes;
	/* The two halves of the address space are told by the sign. */
	SET(l, addr).n = e->has_addr ? (int64_t)e->addr : NOT_KNOWN;
	SET(l, allocated).n = e->allocated;
	SET(l, reserved).n = e->reserved;
}

/* One piece of text is used for all lines: its room is that of the longest. */
bool event_lines_write(const struct joined *j, FILE *out)
{
	const struct model *m = &j->model;
	struct json_piece t = { 0 };
	struct line l;
	char device[64];
	bool fine;

	for (size_t i = 0; !t.full && i < m->slices_n + m->memory_n; i++) {
		t.n = 0;
		if (i < m->slices_n)
			set_slice(&l, j, (uint32_t)i);
		else
			set_memory(&l, j, &m->memory[i - m->slices_n], device,
				   sizeof(device));
		put_line(&t, &l);
		fwrite(t.bytes, 1, t.full ? 0 : t.n, out);
	}
	fine = !t.full;
	json_piece_free(&t);
	return fine;
}
