/* SPDX-License-Identifier: Apache-2.0 */
/* The records of all threads by time. */
#include "writer/heap/merge.h"
#include "agent/core/names.h"
#include "base/hash.h"

#include <errno.h>

#define OPS (1u << 16) /* slots for names; a power of two */

struct slice {
	uint64_t end; /* ticks */
	uint32_t op, spare;
};

/* ---- names ---- */

/* The first id with that text: a name is stored twice now and then, and an operator's
 * overloads count as one. Steps are no operators: else a site would be another in each
 * step. */
static uint32_t look_up(struct heap_merge *m, uint32_t id)
{
	static const char prefix[] = "ProfilerStep#";
	const struct name *n = names_get(m->t->view, id), *other;
	uint32_t i;

	if (!n ||
	    (n->len >= sizeof(prefix) && !memcmp(n->text, prefix, sizeof(prefix) - 1)))
		return 0;
	if (m->op_n >= OPS / 2)
		return id;
	for (i = hash_bytes(n->text, n->len) % OPS; m->ops[i]; i = (i + 1) % OPS) {
		other = names_get(m->t->view, m->ops[i]);
		if (other && name_is_same(other, n))
			return m->ops[i];
	}
	m->op_n++;
	return m->ops[i] = id;
}

static uint32_t op_of(struct heap_merge *m, uint32_t id)
{
	struct heap_op_slot *s = &m->recent[(id ^ id >> 10) % 1024];

	if (s->id != id)
		*s = (struct heap_op_slot){ id, look_up(m, id) };
	return s->op;
}

/* ---- a thread ---- */

/* Slices of one thread nest, so the stack's top is the innermost. */
static int note_slice(struct heap_merge *m, struct heap_lane *l, const struct record *r)
{
	struct slice s = { read_end(&m->t->cycle, r), op_of(m, r->name), 0 };
	const struct slice *open = l->open.mem;

	if (!s.op)
		return 0;
	/* Slices that are over are dropped when heap_merge_op looks; here only so that
	 * they do not pile up in a thread that allocates nothing. */
	while (l->open.n && open[l->open.n - 1].end <= r->begin)
		l->open.n--;
	return pile_add(&l->open, &s, sizeof(s));
}

/* Moves to the lane's next heap record or REC_MEMORY, and notes the slices on the way.
 * Records of a thread may be a little out of order: the lane's time never falls. */
static void advance_lane(struct heap_merge *m, struct heap_lane *l)
{
	const struct record *r;

	while (!m->err && (r = read_next(&l->cursor, &l->at))) {
		bool heap = r->kind == REC_ALLOC || r->kind == REC_FREE;

		if (r->kind == REC_OP || r->kind == REC_ANNOTATION)
			m->err = note_slice(m, l, r);
		if ((!heap && r->kind != REC_MEMORY) || r->begin < m->t->cycle.begin)
			continue;
		if (r->begin > l->ticks)
			l->ticks = r->begin;
		l->next = r;
		return;
	}
	l->next = NULL;
}

uint32_t heap_merge_op(struct heap_lane *l)
{
	const struct slice *s = l->open.mem;

	while (l->open.n && s[l->open.n - 1].end <= l->ticks)
		l->open.n--;
	return l->open.n ? s[l->open.n - 1].op : 0;
}

/* ---- all lanes ---- */

static struct heap_lane *lane_at(const struct heap_merge *m, size_t i)
{
	return (struct heap_lane *)m->lanes.mem + m->order[i];
}

/* At the same moment frees come first: a block is freed before it is allocated anew. */
static bool lane_before(const struct heap_lane *a, const struct heap_lane *b)
{
	if (a->ticks != b->ticks)
		return a->ticks < b->ticks;
	if ((a->next->kind == REC_FREE) != (b->next->kind == REC_FREE))
		return a->next->kind == REC_FREE;
	return a < b;
}

static void sift_lane_down(struct heap_merge *m, size_t root)
{
	uint32_t moved = m->order[root];
	const struct heap_lane *l = lane_at(m, root);

	for (size_t child; (child = 2 * root + 1) < m->n; root = child) {
		if (child + 1 < m->n &&
		    lane_before(lane_at(m, child + 1), lane_at(m, child)))
			child++;
		if (!lane_before(lane_at(m, child), l))
			break;
		m->order[root] = m->order[child];
	}
	m->order[root] = moved;
}

static int add_lane(struct heap_merge *m, size_t first, size_t last)
{
	struct heap_lane *l = pile_push(&m->lanes, sizeof(*l));

	if (!l)
		return -ENOMEM;
	*l = (struct heap_lane){
		.cursor = { .cycle = &m->t->cycle,
			    .run = first,
			    .last = last,
			    .heap = true },
		.tid = read_run(&m->t->cycle, first)->tid,
	};
	advance_lane(m, l);
	return m->err;
}

int heap_merge_start(struct heap_merge *m, const struct trace *t)
{
	*m = (struct heap_merge){ .t = t };
	m->ops = pile_map(OPS * sizeof(*m->ops));
	if (!m->ops)
		return -ENOMEM;
	for (size_t first = 0, last; first < t->cycle.runs.n; first = last) {
		int err;

		last = read_thread(&t->cycle, first);
		err = add_lane(m, first, last);
		if (err)
			return err;
	}
	m->bytes = (m->lanes.n + 1) * sizeof(*m->order);
	m->order = pile_map(m->bytes);
	if (!m->order)
		return -ENOMEM;
	for (size_t i = 0; i < m->lanes.n; i++)
		if (((struct heap_lane *)m->lanes.mem)[i].next)
			m->order[m->n++] = (uint32_t)i;
	for (size_t i = m->n / 2; i--;)
		sift_lane_down(m, i);
	return 0;
}

struct heap_lane *heap_merge_top(const struct heap_merge *m)
{
	return m->n && !m->err ? lane_at(m, 0) : NULL;
}

void heap_merge_pop(struct heap_merge *m)
{
	advance_lane(m, lane_at(m, 0));
	if (!lane_at(m, 0)->next)
		m->order[0] = m->order[--m->n];
	if (m->n)
		sift_lane_down(m, 0);
}

void heap_merge_end(struct heap_merge *m)
{
	for (size_t i = 0; i < m->lanes.n; i++)
		pile_free(&((struct heap_lane *)m->lanes.mem)[i].open);
	pile_free(&m->lanes);
	pile_unmap(m->order, m->bytes);
	pile_unmap(m->ops, OPS * sizeof(*m->ops));
}
