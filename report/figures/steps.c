/* SPDX-License-Identifier: Apache-2.0 */
/* Which share each moment of a step belongs to: what of the first share lies in a step is
 * taken off what is free, then what of the second does, and so on. */
#include "report/figures/steps.h"
#include "base/order.h"
#include "base/search.h"
#include "base/text.h"
#include "report/figures/bounds.h"

#include <stdlib.h>

const char *const share_names[SHARES] = { "Kernel",        "Memcpy",  "Memset",
					  "Communication", "Runtime", "DataLoader",
					  "CPU Exec",      "Other" };

/* ---- communication ---- */

bool steps_is_collective(const char *name)
{
	static const char *const operations[] = { "broadcast",      "reduce",
						  "all_reduce",     "all_gather",
						  "reduce_scatter", NULL };
	const char *operation = text_after(name, "nccl:") ?: text_after(name, "gloo:");

	return operation && text_is_in(operation, operations);
}

bool steps_is_collective_kernel(const char *name)
{
	return text_starts_with(name, "nccl") || text_starts_with(name, "rccl");
}

struct shares {
	const struct model *m;
	struct spans of[SHARES];
	bool seen[SHARES + 1]; /* also where it took no time */
	uint32_t *collectives; /* their external ids, sorted */
	size_t collectives_n, collectives_room;
};

static int by_number(const void *left, const void *right)
{
	return order_of(*(const uint32_t *)left, *(const uint32_t *)right);
}

static bool collect_collectives(struct shares *c)
{
	for (uint32_t i = 0; i < c->m->slices_n; i++) {
		const struct slice *s = &c->m->slices[i];

		if (!s->external || (s->kind != SLICE_OP && s->kind != SLICE_NOTE) ||
		    !steps_is_collective(slice_name(c->m, i)))
			continue;
		if (!GROW(c->collectives, c->collectives_room, c->collectives_n))
			return false;
		c->collectives[c->collectives_n++] = s->external;
	}
	if (c->collectives_n)
		qsort(c->collectives, c->collectives_n, sizeof(*c->collectives),
		      by_number);
	return true;
}

static bool is_communication(const struct shares *c, uint32_t kernel)
{
	uint32_t id = c->m->slices[kernel].external;
	size_t at = SEARCH_FIRST(i, 0, c->collectives_n, c->collectives[i] >= id);

	return (at < c->collectives_n && c->collectives[at] == id) ||
	       steps_is_collective_kernel(slice_name(c->m, kernel));
}

/* ---- the share of a slice ---- */

static enum share share_of_work(const struct shares *c, uint32_t slice)
{
	switch (c->m->slices[slice].sort) {
	case SORT_COPY:
		return SHARE_MEMCPY;
	case SORT_SET:
		return SHARE_MEMSET;
	default:
		return is_communication(c, slice) ? SHARE_COMMUNICATION : SHARE_KERNEL;
	}
}

static bool is_loading(const char *name)
{
	return (text_starts_with(name, "enumerate(DataLoader)#") &&
		text_ends(name, ".__next__")) ||
	       text_starts_with(name, "enumerate(DataPipe)#");
}

static enum share share_of_host(const char *name)
{
	if (is_loading(name))
		return SHARE_DATALOADER;
	if (text_starts_with(name, "ProfilerStep#"))
		return SHARES;
	return steps_is_collective(name) ? SHARE_COMMUNICATION : SHARE_CPU;
}

/* SHARES: none. */
static enum share share_of(const struct shares *c, uint32_t slice)
{
	switch (c->m->slices[slice].kind) {
	case SLICE_OP:
	case SLICE_NOTE:
		return share_of_host(slice_name(c->m, slice));
	case SLICE_CALL:
		return SHARE_RUNTIME;
	case SLICE_DEVICE:
		return share_of_work(c, slice);
	default:
		return SHARES;
	}
}

static bool collect_shares(struct shares *c)
{
	if (!collect_collectives(c))
		return false;
	for (uint32_t i = 0; i < c->m->slices_n; i++) {
		enum share share = share_of(c, i);

		c->seen[share] = true;
		if (share != SHARES &&
		    !spans_add(&c->of[share], c->m->slices[i].begin, c->m->slices[i].end))
			return false;
	}
	for (int i = 0; i < SHARES; i++)
		spans_join(&c->of[i]);
	return true;
}

static void free_shares(struct shares *c)
{
	for (int i = 0; i < SHARES; i++)
		spans_free(&c->of[i]);
	free(c->collectives);
}

/* ---- shares of steps ---- */

struct cursor { /* goes along spans: how much of them lies before a time */
	const struct spans *spans;
	size_t at;
	int64_t sum; /* of the spans before `at` */
};

/* Times must not fall from call to call. */
static int64_t covered_before(struct cursor *c, int64_t time)
{
	const struct span *row = c->spans->row;

	while (c->at < c->spans->n && row[c->at].end <= time) {
		c->sum += row[c->at].end - row[c->at].begin;
		c->at++;
	}
	if (c->at < c->spans->n && row[c->at].begin < time)
		return c->sum + time - row[c->at].begin;
	return c->sum;
}

/* Begins and ends of steps both rise, also where steps overlap. */
static void cut_by_step(struct steps *s, enum share share, const struct spans *spans)
{
	struct cursor begin = { .spans = spans }, end = { .spans = spans };

	for (size_t i = 0; i < s->n; i++)
		s->row[i].share[share] = covered_before(&end, s->row[i].end) -
					 covered_before(&begin, s->row[i].begin);
}

static bool divide_steps(struct steps *s, const struct shares *c)
{
	struct spans open = { 0 }, mine = { 0 }, rest = { 0 };
	bool fine = true;

	for (size_t i = 0; fine && i < s->n; i++)
		fine = spans_add(&open, s->row[i].begin, s->row[i].end);
	spans_join(&open);
	for (int i = 0; fine && i < SHARE_OTHER; i++) {
		struct spans taken = open;

		fine = spans_common(&mine, &open, &c->of[i]) &&
		       spans_without(&rest, &open, &c->of[i]);
		cut_by_step(s, i, &mine);
		open = rest;
		rest = taken;
	}
	cut_by_step(s, SHARE_OTHER, &open);
	spans_free(&open);
	spans_free(&mine);
	spans_free(&rest);
	return fine;
}

static bool take_bounds(struct steps *s, const struct model *m)
{
	struct bounds b;

	if (!bounds_make(&b, m))
		return false;
	s->n = b.n;
	s->left_out = b.left_out;
	s->row = calloc(b.n + 1, sizeof(*s->row));
	for (size_t i = 0; s->row && i < b.n; i++)
		s->row[i] = (struct step_figures){ .number = b.row[i].number,
						   .begin = b.row[i].begin,
						   .end = b.row[i].end };
	bounds_free(&b);
	return s->row;
}

bool steps_spans(const struct model *m, enum share share, struct spans *to)
{
	struct shares c = { .m = m };
	bool fine = collect_shares(&c);

	spans_free(to);
	if (fine) {
		*to = c.of[share];
		c.of[share] = (struct spans){ 0 };
	}
	free_shares(&c);
	return fine;
}

bool steps_make(struct steps *s, const struct model *m)
{
	struct shares c = { .m = m };
	bool fine;

	*s = (struct steps){ .marked = model_marked(m) > 0,
			     .before = m->kept ? m->kept->before : 0 };
	fine = take_bounds(s, m) && collect_shares(&c) && divide_steps(s, &c);
	s->communication = c.seen[SHARE_COMMUNICATION];
	s->gpu = c.seen[SHARE_KERNEL] || c.seen[SHARE_MEMCPY] || c.seen[SHARE_MEMSET] ||
		 c.seen[SHARE_RUNTIME];
	free_shares(&c);
	if (!fine)
		steps_free(s);
	return fine;
}

void steps_free(struct steps *s)
{
	free(s->row);
	*s = (struct steps){ 0 };
}

/* ---- questions of the views ---- */

static int64_t length_of(const struct step_figures *f)
{
	return f->end - f->begin;
}

/* The length that `place` steps are not longer than, by halving the range of lengths:
 * that wants no memory. */
static int64_t length_at(const struct steps *s, size_t place)
{
	int64_t low = 0, high = INT64_MAX;

	while (low < high) {
		int64_t middle = low + (high - low) / 2;
		size_t n = 0;

		for (size_t i = 0; i < s->n; i++)
			n += length_of(&s->row[i]) <= middle;
		if (n > place)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

int64_t steps_median(const struct steps *s)
{
	int64_t low, high;

	if (!s->n)
		return 0;
	low = length_at(s, (s->n - 1) / 2);
	high = length_at(s, s->n / 2);
	return low + (high - low) / 2;
}

double steps_mean(const struct steps *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->n; i++)
		sum += (double)length_of(&s->row[i]);
	return s->n ? sum / (double)s->n : 0;
}

double steps_mean_share(const struct steps *s, enum share share)
{
	double sum = 0;

	for (size_t i = 0; i < s->n; i++)
		sum += (double)s->row[i].share[share];
	return s->n ? sum / (double)s->n : 0;
}

long steps_at(const struct steps *s, int64_t ts)
{
	size_t behind = SEARCH_FIRST(i, 0, s->n, s->row[i].begin > ts);

	return behind && ts <= s->row[behind - 1].end ? (long)behind - 1 : -1;
}
