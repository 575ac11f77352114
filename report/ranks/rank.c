/* SPDX-License-Identifier: Apache-2.0 */
/* Takes of a trace what ranks are compared by, so that one file at a time is in memory.
 */
#include "report/ranks/rank.h"
#include "base/array.h"
#include "base/order.h"
#include "report/figures/launches.h"
#include "report/whose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct taking {
	struct rank *r;
	const struct model *m;
	const struct steps *s;
	struct texts *names;
	struct launches launches;
	bool kernels; /* collectives are kernels */
};

/* The operator or annotation that a kernel of NCCL belongs to, or what is around it;
 * NO_ROW: it has no name that the plugin knows. */
static uint32_t operation_of(const struct taking *t, uint32_t kernel)
{
	uint32_t at = launches_op(&t->launches, &t->m->slices[kernel]);

	for (unsigned up = 0; at != NO_ROW && up < 8; up++) {
		if (steps_is_collective(slice_name(t->m, at)))
			return at;
		at = t->m->slices[at].parent;
	}
	return NO_ROW;
}

/* Is it a kernel that communicates, by its name or by who launched it? */
static bool is_kernel(const struct taking *t, uint32_t i)
{
	const struct slice *s = &t->m->slices[i];
	uint32_t op;

	if (s->kind != SLICE_DEVICE || s->sort != SORT_KERNEL)
		return false;
	if (steps_is_collective_kernel(slice_name(t->m, i)))
		return true;
	op = launches_op(&t->launches, s);
	return op != NO_ROW && steps_is_collective(slice_name(t->m, op));
}

/* Is it a collective on the host? */
static bool is_operation(const struct taking *t, uint32_t i)
{
	unsigned kind = t->m->slices[i].kind;

	return (kind == SLICE_OP || kind == SLICE_NOTE) &&
	       steps_is_collective(slice_name(t->m, i));
}

/* A time of the file since 1970, as far as that can be written. */
static int64_t moment_of(const struct model *m, int64_t ts)
{
	int64_t to;

	return __builtin_add_overflow(ts, m->base_ns, &to) ? ts : to;
}

/* The group's name and its ranks: names alone may be the same in groups of others. */
static bool group_of(const struct taking *t, const struct slice *s, uint32_t *group)
{
	const struct work *w = s->work == NO_ROW ? NULL : &t->m->works[s->work];
	char *text;

	*group = TEXT_NONE;
	if (!w || w->group == TEXT_NONE)
		return true;
	if (asprintf(&text, "%s %s", texts_get(&t->m->texts, w->group),
		     w->members == TEXT_NONE ? "" : texts_get(&t->m->texts, w->members)) <
	    0)
		return false;
	*group = texts_add(t->names, text, strlen(text));
	free(text);
	return *group != TEXT_NONE;
}

/* Takes a collective; a kernel is called as the operation that launched it, so that its
 * name does not hang on the type that it adds up. */
static bool add_collective(struct taking *t, uint32_t i)
{
	const struct slice *s = &t->m->slices[i];
	uint32_t op = t->kernels ? operation_of(t, i) : i;
	const char *name = slice_name(t->m, op == NO_ROW ? i : op);
	size_t len = op == NO_ROW ? strcspn(name, "(") : strlen(name);
	struct rank *r = t->r;
	uint32_t id = texts_add(t->names, name, len < 200 ? len : 200), group;

	if (id == TEXT_NONE || !group_of(t, s, &group) || r->collectives_n >= NO_ROW ||
	    !GROW(r->collectives, r->collectives_room, r->collectives_n))
		return false;
	r->collectives[r->collectives_n++] = (struct collective){
		.begin = moment_of(t->m, s->begin),
		.end = moment_of(t->m, s->end),
		.bytes = op == NO_ROW ? -1 : t->m->slices[op].input_bytes,
		.transfer = s->end - s->begin,
		.step = steps_at(t->s, s->begin),
		.name = id,
		.group = group,
	};
	return true;
}

/* Of those that begin at once the longer comes first, as it holds the other. */
static int by_begin(const void *left, const void *right)
{
	const struct collective *a = left, *b = right;

	return order_of(a->begin, b->begin) ?: order_of(b->end, a->end) ?:
	       order_of(a->name, b->name);
}

/* Kernels, where there is one: the host's operation only starts them. */
static bool take_collectives(struct taking *t)
{
	struct rank *r = t->r;
	bool fine = launches_make(&t->launches, t->m);

	for (uint32_t i = 0; fine && i < t->m->slices_n && !t->kernels; i++)
		t->kernels = is_kernel(t, i);
	for (uint32_t i = 0; fine && i < t->m->slices_n; i++)
		if (t->kernels ? is_kernel(t, i) : is_operation(t, i))
			fine = add_collective(t, i);
	if (r->collectives_n)
		qsort(r->collectives, r->collectives_n, sizeof(*r->collectives),
		      by_begin);
	launches_free(&t->launches);
	return fine;
}

/* Takes the steps, and when the rank computed: that is wanted where it waits. */
static bool take_steps(struct rank *r, const struct model *m, const struct steps *s)
{
	struct overlap o;
	bool fine = overlap_make(&o, m, s);

	r->steps = calloc(s->n + 1, sizeof(*r->steps));
	fine = fine && r->steps;
	for (size_t i = 0; fine && i < s->n; i++) {
		r->steps[i].number = s->row[i].number;
		r->steps[i].begin = moment_of(m, s->row[i].begin);
		r->steps[i].end = moment_of(m, s->row[i].end);
		r->steps[i].time = o.step[i];
		r->steps_n++;
	}
	for (size_t i = 0; fine && i < o.computation.n; i++) {
		struct span *span = &o.computation.row[i];

		fine = spans_add(&r->computation, moment_of(m, span->begin),
				 moment_of(m, span->end));
	}
	r->kernels = o.kernels;
	overlap_free(&o);
	return fine;
}

static bool take_host(struct rank *r, const struct model *m, struct texts *names)
{
	const char *host;

	if (m->whose.host == TEXT_NONE)
		return true;
	host = texts_get(&m->texts, m->whose.host);
	r->host = texts_add(names, host, strlen(host));
	return r->host != TEXT_NONE;
}

bool rank_take(struct rank *r, const struct model *m, const struct steps *s,
	       struct texts *names)
{
	struct taking t = { .r = r, .m = m, .s = s, .names = names };

	*r = (struct rank){ .number = m->whose.rank,
			    .path = r->path,
			    .damage = m->damage,
			    .parts = m->whose.part > 1 && m->whose.part < m->whose.world,
			    .host = TEXT_NONE };
	strcpy(r->stage, whose_stage(m));
	if (take_host(r, m, names) && take_steps(r, m, s) && take_collectives(&t))
		return true;
	rank_free(r);
	return false;
}

/* The model is freed before the next file is read: a job may have a thousand ranks. */
bool rank_read(struct rank *r, const char *path, struct texts *names, char *why,
	       size_t size)
{
	struct model m;
	struct steps s = { 0 };
	bool fine;

	*r = (struct rank){ .path = path };
	if (model_read(&m, path,
		       WANT(SLICE_OP) | WANT(SLICE_NOTE) | WANT(SLICE_CALL) |
			       WANT(SLICE_DEVICE) | WANT_DETAILS,
		       why, size))
		return false;
	fine = steps_make(&s, &m) && rank_take(r, &m, &s, names);
	if (!fine)
		snprintf(why, size, "%s: not enough memory", path);
	steps_free(&s);
	model_free(&m);
	return fine;
}

void rank_free(struct rank *r)
{
	free(r->steps);
	free(r->collectives);
	spans_free(&r->computation);
	*r = (struct rank){ .path = r->path };
}
