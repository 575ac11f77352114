/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of modules and functions of one thread lie within each other. */
#include "writer/python/nn.h"
#include "agent/core/names.h"
#include "agent/core/record_function.h"
#include "writer/python/objects.h"
#include "writer/python/pieces.h"
#include "writer/python/returned.h"
#include "writer/trace.h"

#include <errno.h>

#define REST_US 10 /* of a call behind an edge is no piece if it is shorter */

struct level { /* an open module of the thread */
	uint64_t end;
	uint64_t id; /* "Python id"; 0 = a backward operator, in no module */
	uint32_t path;
	const struct record *call; /* of a function */
};

struct nn {
	struct objects objects;
	struct pile open; /* struct level */
	struct returned returned;
	struct pieces pieces; /* without functions there is nothing in it */
	uint32_t *of_pair; /* by links.pairs: the path of the forward operator */
	size_t pairs;
	uint64_t ids;
};

/* NULL: none is open. */
static const struct level *open_module(struct nn *m, uint64_t now)
{
	const struct level *level = m->open.mem;

	while (m->open.n && level[m->open.n - 1].end <= now)
		m->open.n--;
	return m->open.n ? &level[m->open.n - 1] : NULL;
}

static uint32_t path_of(struct nn *m, const struct rec_module *r)
{
	const struct object *found = r->path ? NULL : objects_of(&m->objects, r);

	return found ? found->path : r->path;
}

/* The first pass over all records: who there is, and where calls end. */
static int note_calls(struct trace *t)
{
	struct cursor c = { .cycle = &t->cycle, .last = t->cycle.runs.n };
	const struct record *r;
	uint64_t offset;
	uint32_t tid = 0;
	int err = 0;

	while (!err && (r = read_next(&c, &offset))) {
		if (read_run(&t->cycle, c.run)->tid != tid)
			returned_thread(&t->nn->returned);
		tid = read_run(&t->cycle, c.run)->tid;
		if (r->kind == REC_MODULE)
			err = objects_note(&t->nn->objects, (const struct rec_module *)r);
		err = err ? err : returned_note(&t->nn->returned, &t->cycle, r);
	}
	return err;
}

static int open_call(struct trace *t, const struct rec_module *m, uint64_t id)
{
	const struct level new = { nn_end(t, m), id, path_of(t->nn, m), NULL };

	return pile_add(&t->nn->open, &new, sizeof(new));
}

/* The second pass: in what modules forward operators are that have backward ones. */
static int note_forward(struct trace *t)
{
	struct cursor c = { .cycle = &t->cycle, .last = t->cycle.runs.n };
	struct nn *m = t->nn;
	const struct record *r;
	uint64_t offset, id;
	uint32_t tid = 0;
	int err = 0;

	if (!t->links.slots)
		return 0;
	m->pairs = t->links.slots;
	m->of_pair = pile_map(m->pairs * sizeof(*m->of_pair));
	if (!m->of_pair)
		return -ENOMEM;
	while (!err && (r = read_next(&c, &offset))) {
		const struct run *run = read_run(&t->cycle, c.run);
		const struct level *open;

		m->open.n = run->tid == tid ? m->open.n : 0;
		tid = run->tid;
		if (r->kind == REC_MODULE)
			err = open_call(t, (const struct rec_module *)r, 0);
		else if (r->kind == REC_OP && (open = open_module(m, r->begin)) &&
			 fwdbwd_of(&t->links, (const struct rec_op *)r, offset,
				   run->ordinal, &id) == LINK_START)
			m->of_pair[id - 1] = open->path;
	}
	return err;
}

int nn_start(struct trace *t)
{
	bool pieces = t->cycle.events[REC_FUNCTION] || t->cycle.events[REC_C_CALL];
	int err;

	if (!t->cycle.events[REC_MODULE] && !pieces)
		return 0;
	t->nn = pile_map(sizeof(*t->nn));
	if (!t->nn)
		return -ENOMEM;
	t->nn->objects.view = t->view;
	err = note_calls(t);
	err = err ? err : objects_number(&t->nn->objects);
	err = err ? err : note_forward(t);
	if (err || !pieces)
		return err;
	if (!t->cycle.events[REC_FUNCTION])
		t->nn->pieces.returned = &t->nn->returned;
	return pieces_start(&t->nn->pieces, &t->cycle,
			    (uint64_t)(clock_rate(t->view->head) * REST_US / 1e6));
}

struct pieces *nn_pieces(const struct trace *t)
{
	return t->nn && t->nn->pieces.cycle ? &t->nn->pieces : NULL;
}

void nn_free(struct trace *t)
{
	struct nn *m = t->nn;

	if (!m)
		return;
	objects_free(&m->objects);
	pile_free(&m->open);
	returned_free(&m->returned);
	pieces_free(&m->pieces);
	if (m->of_pair)
		pile_unmap(m->of_pair, m->pairs * sizeof(*m->of_pair));
	pile_unmap(m, sizeof(*m));
	t->nn = NULL;
}

void nn_counts(struct trace *t)
{
	struct cycle_info *info = (struct cycle_info *)t->info;
	struct json *j = &t->json;

	if (!config_wants_modules(t->config))
		return;
	json_text_unsigned(j, ", \"modules\": {\"calls\": ", t->cycle.events[REC_MODULE]);
	json_text_unsigned(j, ", \"objects\": ", t->nn ? t->nn->objects.all.n : 0);
	json_text_unsigned(
		j, ", \"calls without a path\": ", t->nn ? t->nn->objects.pathless : 0);
	json_text_unsigned(j, ", \"called before the window\": ",
			   t->nn ? t->nn->objects.entered : 0);
	json_text_unsigned(j, ", \"left out of those\": ",
			   atomic_load(&info->python[PYTHON_LEFT_OUT]));
	json_lit(j, "}");
}

static uint32_t number_of(struct nn *m, const struct rec_module *r)
{
	const struct object *found = objects_of(&m->objects, r);

	return found ? found->number : 0;
}

uint64_t nn_end(const struct trace *t, const struct rec_module *m)
{
	return returned_end(&t->nn->returned, &t->cycle, m);
}

/* ---- where they are ---- */

void nn_thread(struct trace *t)
{
	if (t->nn)
		t->nn->open.n = 0;
}

static void put_path(struct trace *t, uint32_t id)
{
	const struct name *path = id ? names_get(t->view, id) : NULL;

	if (!path)
		return;
	json_lit(&t->json, "\"Module path\":");
	json_string(&t->json, path->text, path->len);
	json_lit(&t->json, ",");
}

/* 0: it is not known. */
static uint32_t forward_path(const struct trace *t, const struct rec_op *backward)
{
	uint64_t id;

	if (!t->nn->of_pair || !backward->fwd_thread)
		return 0;
	fwdbwd_of(&t->links, backward, 0, 0, &id);
	return id ? t->nn->of_pair[id - 1] : 0;
}

/* What a backward operator calls has its path. */
int nn_path(struct trace *t, const struct rec_op *op, const struct rec_op *numbered)
{
	struct nn *m = t->nn;
	const struct level *open = open_module(m, op->r.begin);
	uint32_t path = open ? 0 : forward_path(t, numbered);
	const struct level new = { read_end(&t->cycle, &op->r), 0, path, NULL };
	bool forward = path || (open && !open->id);
	int err = path ? pile_add(&m->open, &new, sizeof(new)) : 0;

	put_path(t, open ? open->path : path);
	if (forward)
		json_lit(&t->json, "\"Module path of\":\"forward operator\",");
	return err;
}

void nn_name(struct trace *t, const struct rec_module *m)
{
	const struct name *class = names_get(t->view, m->r.name);
	struct json *j = &t->json;

	json_lit(j, "nn.Module: ");
	if (class)
		json_escaped(j, class->text, class->len);
	else
		json_lit(j, "unknown");
	json_text_unsigned(j, "_", number_of(t->nn, m));
}

/* A C function has no line. */
void nn_c_name(struct trace *t, uint32_t id)
{
	const struct name *n = names_get(t->view, id);

	if (n)
		json_escaped(&t->json, n->text, n->len);
	else
		json_lit(&t->json, "unknown C function");
}

/* Writes the ids of a call within `outer`. */
static void put_ids(struct trace *t, const struct level *outer)
{
	struct json *j = &t->json;

	json_text_unsigned(j, "\"Python id\":", ++t->nn->ids);
	if (outer && outer->id)
		json_text_unsigned(j, ",\"Python parent id\":", outer->id);
	else
		json_lit(j, ",\"Python parent id\":null");
	json_lit(j, ",");
}

static void put_called(struct trace *t, const struct record *r)
{
	if (r->flags & MODULE_ENTERED)
		json_lit(&t->json, "\"Called\":\"before the window\",");
}

/* The caller of a call in pieces is that of the first one. */
static const struct level *find_outer(struct nn *m, const struct piece *piece)
{
	const struct level *level = m->open.mem;
	size_t n = open_module(m, piece->begin) ? m->open.n : 0;

	if (piece->later)
		while (n && level[n - 1].call != piece->call)
			n--;
	n -= n && piece->later;
	return n ? &level[n - 1] : NULL;
}

/* A function is in the module that is around it. What a call calls lies in it, whichever
 * piece is on the row. */
int nn_begin(struct trace *t, const struct piece *piece)
{
	const struct level *outer = find_outer(t->nn, piece);
	const struct record *r = piece->call;
	const struct rec_module *m = r->kind == REC_MODULE ? (const void *)r : NULL;
	const struct pieces *p = nn_pieces(t);
	struct level new = { .end = p ? pieces_call_end(p, r) : piece->end,
			     .path = outer ? outer->path : 0,
			     .call = r };

	put_ids(t, outer);
	new.id = t->nn->ids;
	if (m) {
		new.path = path_of(t->nn, m);
		json_text_unsigned(&t->json,
				   "\"Python module id\":", number_of(t->nn, m));
		json_lit(&t->json, ",");
		put_path(t, new.path);
	}
	put_called(t, r);
	if (piece->later || (!m && r->flags & FUNCTION_AGAIN))
		json_lit(&t->json, "\"Call\":\"continued\",");
	return piece->later ? 0 : pile_add(&t->nn->open, &new, sizeof(new));
}
