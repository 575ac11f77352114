/* SPDX-License-Identifier: Apache-2.0 */
/* Modules are told apart by their address and class; torch numbers those of a class in
 * the order in which they are first called, in whatever thread. */
#include "writer/python/nn.h"
#include "agent/core/names.h"
#include "base/hash.h"
#include "writer/python/returned.h"
#include "writer/sort.h"
#include "writer/trace.h"

#include <errno.h>

#define CLASSES (1u << 16) /* slots; a power of two */

struct module {
	uint64_t self, begin; /* of its first call */
	uint32_t class, number;
	uint32_t path; /* of a call whose path is known */
	uint32_t pathless; /* calls without */
};
struct level { /* an open module of the thread */
	uint64_t end;
	uint64_t id; /* "Python id"; 0 = a backward operator, in no module */
	uint32_t path;
};

struct nn {
	const struct spool_view *view;
	uint32_t classes[CLASSES]; /* ids by their text; 0 = empty */
	unsigned class_n;
	struct pile all; /* struct module */
	uint32_t *index; /* of them, + 1; 0 = empty */
	size_t slots;
	struct pile open; /* struct level */
	struct returned returned;
	uint32_t *of_pair; /* by links.pairs: the path of the forward operator */
	size_t pairs;
	uint64_t pathless, entered; /* calls */
	uint64_t ids;
};

/* ---- who they are ---- */

static struct module *nth_module(const struct nn *m, size_t i)
{
	return (struct module *)m->all.mem + i;
}

/* The first id with that text: where the agent's names are many, one is stored each time
 * that it is met. */
static uint32_t class_of(struct nn *m, uint32_t id)
{
	const struct name *n = names_get(m->view, id), *other;
	uint32_t i;

	if (!n || m->class_n >= CLASSES / 2)
		return id;
	for (i = hash_bytes(n->text, n->len) % CLASSES; m->classes[i];
	     i = (i + 1) % CLASSES) {
		other = names_get(m->view, m->classes[i]);
		if (other && name_is_same(other, n))
			return m->classes[i];
	}
	m->class_n++;
	return m->classes[i] = id;
}

/* Where it is, or belongs. The index is never more than half full. */
static uint32_t *slot_of(const struct nn *m, uint64_t self, uint32_t class)
{
	size_t at = hash_place(self ^ (uint64_t) class << 40, m->slots);

	while (m->index[at]) {
		const struct module *found = nth_module(m, m->index[at] - 1);

		if (found->self == self && found->class == class)
			break;
		at = at + 1 < m->slots ? at + 1 : 0;
	}
	return &m->index[at];
}

static int grow_index(struct nn *m)
{
	uint32_t *old = m->index;
	size_t slots = m->slots;

	m->slots = slots ? 2 * slots : 1024;
	m->index = pile_map(m->slots * sizeof(*m->index));
	if (!m->index) {
		m->index = old;
		m->slots = slots;
		return -ENOMEM;
	}
	for (size_t i = 0; i < m->all.n; i++) {
		const struct module *found = nth_module(m, i);

		*slot_of(m, found->self, found->class) = (uint32_t)i + 1;
	}
	if (old)
		pile_unmap(old, slots * sizeof(*old));
	return 0;
}

static int note_module(struct nn *m, const struct rec_module *r)
{
	const struct module new = { r->self, r->r.begin, class_of(m, r->r.name) };
	struct module *found;
	uint32_t *slot;

	if (2 * (m->all.n + 1) > m->slots && grow_index(m))
		return -ENOMEM;
	slot = slot_of(m, new.self, new.class);
	if (!*slot) {
		if (m->all.n >= UINT32_MAX - 1 || pile_add(&m->all, &new, sizeof(new)))
			return -ENOMEM;
		*slot = (uint32_t)m->all.n;
	}
	found = nth_module(m, *slot - 1);
	if (found->begin > new.begin)
		found->begin = new.begin;
	if (!found->path)
		found->path = r->path;
	found->pathless += !r->path;
	m->entered += r->r.flags & MODULE_ENTERED;
	return 0;
}

static bool module_before(const void *left, const void *right)
{
	const struct module *a = left, *b = right;

	return a->class != b->class ? a->class < b->class : a->begin < b->begin;
}

/* The index is made anew behind it, as they have moved. */
static int number_modules(struct nn *m)
{
	int err = sort_merge(m->all.mem, m->all.n, sizeof(struct module), module_before);

	for (size_t i = 0; i < m->all.n; i++) {
		struct module *is = nth_module(m, i);

		if (i && is->class == is[-1].class)
			is->number = is[-1].number + 1;
		m->pathless += is->path ? 0 : is->pathless;
	}
	return err ? err : grow_index(m);
}

/* NULL: none is open. */
static const struct level *open_module(struct nn *m, uint64_t now)
{
	const struct level *level = m->open.mem;

	while (m->open.n && level[m->open.n - 1].end <= now)
		m->open.n--;
	return m->open.n ? &level[m->open.n - 1] : NULL;
}

/* The module of a call; a spool that changes while it is read may have one that was not
 * there before: NULL. */
static const struct module *module_of(struct nn *m, const struct rec_module *r)
{
	uint32_t i = *slot_of(m, r->self, class_of(m, r->r.name));

	return i ? nth_module(m, i - 1) : NULL;
}

static uint32_t path_of(struct nn *m, const struct rec_module *r)
{
	const struct module *found = r->path ? NULL : module_of(m, r);

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
			err = note_module(t->nn, (const struct rec_module *)r);
		err = err ? err : returned_note(&t->nn->returned, &t->cycle, r);
	}
	return err;
}

static int open_call(struct trace *t, const struct rec_module *m, uint64_t id)
{
	const struct level new = { nn_end(t, m), id, path_of(t->nn, m) };

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
	int err;

	if (!t->cycle.events[REC_MODULE])
		return 0;
	t->nn = pile_map(sizeof(*t->nn));
	if (!t->nn)
		return -ENOMEM;
	t->nn->view = t->view;
	err = note_calls(t);
	err = err ? err : number_modules(t->nn);
	return err ? err : note_forward(t);
}

void nn_free(struct trace *t)
{
	struct nn *m = t->nn;

	if (!m)
		return;
	pile_free(&m->all);
	pile_free(&m->open);
	returned_free(&m->returned);
	if (m->of_pair)
		pile_unmap(m->of_pair, m->pairs * sizeof(*m->of_pair));
	if (m->index)
		pile_unmap(m->index, m->slots * sizeof(*m->index));
	pile_unmap(m, sizeof(*m));
	t->nn = NULL;
}

void nn_counts(struct trace *t)
{
	struct cycle_info *info = (struct cycle_info *)t->info;
	struct json *j = &t->json;

	if (!t->config->modules)
		return;
	json_text_unsigned(j, ", \"modules\": {\"calls\": ", t->cycle.events[REC_MODULE]);
	json_text_unsigned(j, ", \"objects\": ", t->nn ? t->nn->all.n : 0);
	json_text_unsigned(j,
			   ", \"calls without a path\": ", t->nn ? t->nn->pathless : 0);
	json_text_unsigned(
		j, ", \"called before the window\": ", t->nn ? t->nn->entered : 0);
	json_text_unsigned(j, ", \"left out of those\": ",
			   atomic_load(&info->python[PYTHON_LEFT_OUT]));
	json_lit(j, "}");
}

static uint32_t number_of(struct nn *m, const struct rec_module *r)
{
	const struct module *found = module_of(m, r);

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
	const struct level new = { read_end(&t->cycle, &op->r), 0, path };
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

int nn_begin(struct trace *t, const struct rec_module *m, uint64_t end)
{
	const struct level *outer = open_module(t->nn, m->r.begin);
	const struct level new = { end, ++t->nn->ids, path_of(t->nn, m) };
	struct json *j = &t->json;

	json_text_unsigned(j, "\"Python id\":", new.id);
	if (outer && outer->id)
		json_text_unsigned(j, ",\"Python parent id\":", outer->id);
	else
		json_lit(j, ",\"Python parent id\":null");
	json_text_unsigned(j, ",\"Python module id\":", number_of(t->nn, m));
	json_lit(j, ",");
	put_path(t, new.path);
	if (m->r.flags & MODULE_ENTERED)
		json_lit(j, "\"Called\":\"before the window\",");
	return pile_add(&t->nn->open, &new, sizeof(new));
}
