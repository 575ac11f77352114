/* SPDX-License-Identifier: Apache-2.0 */
/* Modules are told apart by their address and class; torch numbers those of a class in
 * the order in which they are first called, in whatever thread. */
#include "writer/python/nn.h"
#include "agent/core/names.h"
#include "base/hash.h"
#include "writer/sort.h"
#include "writer/trace.h"

#include <errno.h>

#define CLASSES (1u << 16) /* slots; a power of two */

struct module {
	uint64_t self, begin; /* of its first call */
	uint32_t class, number;
};
struct level { /* an open module of the thread */
	uint64_t end;
	uint64_t id; /* "Python id" */
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
	uint64_t pathless; /* calls */
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
	const struct module new = { r->self, r->r.begin, class_of(m, r->r.name), 0 };
	uint32_t *slot;

	if (2 * (m->all.n + 1) > m->slots && grow_index(m))
		return -ENOMEM;
	slot = slot_of(m, new.self, new.class);
	if (*slot) {
		struct module *found = nth_module(m, *slot - 1);

		if (found->begin > new.begin)
			found->begin = new.begin;
		return 0;
	}
	if (m->all.n >= UINT32_MAX - 1 || pile_add(&m->all, &new, sizeof(new)))
		return -ENOMEM;
	*slot = (uint32_t)m->all.n;
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

	for (size_t i = 1; i < m->all.n; i++)
		if (nth_module(m, i)->class == nth_module(m, i - 1)->class)
			nth_module(m, i)->number = nth_module(m, i - 1)->number + 1;
	return err ? err : grow_index(m);
}

int nn_start(struct trace *t)
{
	struct cursor c = { .cycle = &t->cycle, .last = t->cycle.runs.n };
	const struct record *r;
	uint64_t offset;
	int err = 0;

	if (!t->cycle.events[REC_MODULE])
		return 0;
	t->nn = pile_map(sizeof(*t->nn));
	if (!t->nn)
		return -ENOMEM;
	t->nn->view = t->view;
	while (!err && (r = read_next(&c, &offset)))
		if (r->kind == REC_MODULE) {
			const struct rec_module *m = (const struct rec_module *)r;

			t->nn->pathless += !m->path;
			err = note_module(t->nn, m);
		}
	return err ? err : number_modules(t->nn);
}

void nn_free(struct trace *t)
{
	struct nn *m = t->nn;

	if (!m)
		return;
	pile_free(&m->all);
	pile_free(&m->open);
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
	json_text_unsigned(j, ", \"called before the window\": ",
			   atomic_load(&info->python[PYTHON_INSIDE]));
	json_lit(j, "}");
}

/* A spool that changes while it is read may have one that was not there before. */
static uint32_t number_of(struct nn *m, const struct rec_module *r)
{
	uint32_t i = *slot_of(m, r->self, class_of(m, r->r.name));

	return i ? nth_module(m, i - 1)->number : 0;
}

/* ---- where they are ---- */

void nn_thread(struct trace *t)
{
	if (t->nn)
		t->nn->open.n = 0;
}

/* NULL: none is open. */
static const struct level *open_module(struct nn *m, uint64_t now)
{
	const struct level *level = m->open.mem;

	while (m->open.n && level[m->open.n - 1].end <= now)
		m->open.n--;
	return m->open.n ? &level[m->open.n - 1] : NULL;
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

void nn_path(struct trace *t, uint64_t now)
{
	const struct level *open = open_module(t->nn, now);

	if (open)
		put_path(t, open->path);
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
	const struct level new = { end, ++t->nn->ids, m->path };
	struct json *j = &t->json;

	json_text_unsigned(j, "\"Python id\":", new.id);
	if (outer)
		json_text_unsigned(j, ",\"Python parent id\":", outer->id);
	else
		json_lit(j, ",\"Python parent id\":null");
	json_text_unsigned(j, ",\"Python module id\":", number_of(t->nn, m));
	json_lit(j, ",");
	put_path(t, m->path);
	return pile_add(&t->nn->open, &new, sizeof(new));
}
