/* SPDX-License-Identifier: Apache-2.0 */
/* GPU work by device, cut to the time from the first step's begin to the last one's end.
 */
#include "report/figures/devices.h"
#include "base/order.h"
#include "report/figures/runs.h"
#include "report/figures/spans.h"
#include "report/figures/tensor_cores.h"

#include <stdlib.h>

/* ---- all work, by device ---- */

#define DEVICES_MOST 64 /* in a machine: a larger number is that of a process */

struct piece {
	int64_t device;
	uint32_t slice;
};

struct pieces {
	struct piece *row;
	size_t n, room;
};

static int by_device(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;

	return order_of(a->device, b->device) ?: order_of(a->slice, b->slice);
}

/* A row of GPU work is of the process that has the device's number: of copies from one
 * device to another nothing else says where they ran. -1: the file does not say. */
static int64_t device_of(const struct model *m, const struct slice *s)
{
	int64_t pid = m->threads[s->thread].pid;

	if (s->work == NO_ROW)
		return -1;
	if (m->works[s->work].device >= 0)
		return m->works[s->work].device;
	return pid >= 0 && pid < DEVICES_MOST ? pid : -1;
}

static bool collect_pieces(struct pieces *p, const struct model *m)
{
	for (uint32_t i = 0; i < m->slices_n; i++) {
		int64_t device = device_of(m, &m->slices[i]);

		if (device < 0)
			continue;
		if (!GROW(p->row, p->room, p->n))
			return false;
		p->row[p->n++] = (struct piece){ device, i };
	}
	runs_sort(p->row, p->n, sizeof(*p->row), by_device);
	return true;
}

/* ---- a device ---- */

struct edge { /* where a kernel begins or ends */
	int64_t at;
	double blocks; /* per SM, at most 1; below 0 = it ends */
};

struct measure {
	const struct model *m;
	uint8_t *cores; /* by name; 0: not asked yet */
	int64_t begin, end; /* the time that counts */
	struct spans busy;
	struct edge *edges;
	size_t edges_n, edges_room;
	double occupancy, occupied; /* occupancy by time, and of how much time */
};

static int by_edge(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;

	return order_of(a->at, b->at);
}

static void add_time(int64_t *to, int64_t time)
{
	if (__builtin_add_overflow(*to, time, to))
		*to = INT64_MAX;
}

/* More than one block per SM counts as one: so the sum of any number is exact enough. */
static bool add_edges(struct measure *e, int64_t begin, int64_t end, double blocks)
{
	blocks = blocks < 1 ? blocks : 1;
	for (int i = 0; i < 2; i++) {
		if (!GROW(e->edges, e->edges_room, e->edges_n))
			return false;
		e->edges[e->edges_n++] =
			(struct edge){ i ? end : begin, i ? -blocks : blocks };
	}
	return true;
}

/* Names are long, and most kernels have the name of another one. */
static bool uses_cores(struct measure *e, uint32_t name)
{
	enum { UNKNOWN, NONE, SOME };

	if (e->cores[name] == UNKNOWN)
		e->cores[name] =
			tensor_cores_used(texts_get(&e->m->texts, name)) ? SOME : NONE;
	return e->cores[name] == SOME;
}

static bool add_kernel(struct device_figures *f, struct measure *e, uint32_t slice,
		       int64_t begin, int64_t end)
{
	const struct slice *s = &e->m->slices[slice];
	const struct work *w = &e->m->works[s->work];

	f->kernels++;
	add_time(&f->kernel_time, end - begin);
	if (uses_cores(e, s->name))
		add_time(&f->tensor_cores, end - begin);
	if (w->occupancy >= 0) {
		e->occupancy += w->occupancy * (double)(end - begin);
		e->occupied += (double)(end - begin);
	}
	if (!spans_add(&e->busy, begin, end))
		return false;
	return begin == end || !(w->blocks_per_sm > 0) ||
	       add_edges(e, begin, end, w->blocks_per_sm);
}

/* Adds a piece of work, as far as it lies in the time that counts. */
static bool add_piece(struct device_figures *f, struct measure *e, uint32_t slice)
{
	const struct slice *s = &e->m->slices[slice];
	int64_t begin = s->begin > e->begin ? s->begin : e->begin;
	int64_t end = s->end < e->end ? s->end : e->end;

	/* A piece that took no time counts where it lies inside. */
	if (begin > end || (begin == end && s->begin < s->end))
		return true;
	if (s->sort == SORT_KERNEL)
		return add_kernel(f, e, slice, begin, end);
	f->copies += s->sort == SORT_COPY;
	f->sets += s->sort == SORT_SET;
	return true;
}

/* The mean of blocks per SM over time, at each moment at most 1. */
static double mean_efficiency(struct measure *e)
{
	double sum = 0, blocks = 0;
	size_t running = 0;

	if (!e->edges_n)
		return -1;
	runs_sort(e->edges, e->edges_n, sizeof(*e->edges), by_edge);
	for (size_t i = 0; i < e->edges_n; i++) {
		const struct edge *edge = &e->edges[i];

		if (running)
			sum += (blocks < 1 ? blocks : 1) *
			       (double)(edge->at - e->edges[i - 1].at);
		running += edge->blocks > 0 ? 1 : -(size_t)1;
		/* What rounding leaves is gone when nothing runs. */
		blocks = running ? blocks + edge->blocks : 0;
	}
	return sum / (double)(e->end - e->begin);
}

static bool measure_device(struct device_figures *f, struct measure *e,
			   const struct piece *row, size_t n)
{
	e->busy.n = e->edges_n = 0;
	e->occupancy = e->occupied = 0;
	*f = (struct device_figures){
		.id = row->device, .utilization = -1, .sm_efficiency = -1, .occupancy = -1
	};
	for (size_t i = 0; i < n; i++)
		if (!add_piece(f, e, row[i].slice))
			return false;
	if (e->begin >= e->end)
		return true;
	spans_join(&e->busy);
	f->busy = spans_within(&e->busy, e->begin, e->end);
	f->utilization = (double)f->busy / (double)(e->end - e->begin);
	f->sm_efficiency = mean_efficiency(e);
	if (e->occupied > 0)
		f->occupancy = e->occupancy / e->occupied / 100;
	return true;
}

/* ---- all devices ---- */

static int by_id(const void *left, const void *right, void *arg)
{
	uint32_t i = *(const uint32_t *)left, j = *(const uint32_t *)right;
	const struct gpu *gpus = arg;

	return order_of(gpus[i].id, gpus[j].id) ?: order_of(i, j);
}

/* Gives each device its description: both lists are walked by number, once. */
static bool describe_devices(struct devices *d, const struct model *m)
{
	uint32_t *order = malloc((m->gpus_n + 1) * sizeof(*order));
	size_t at = 0;

	if (!order)
		return false;
	for (size_t i = 0; i < m->gpus_n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, m->gpus_n, sizeof(*order), by_id, m->gpus);
	for (size_t i = 0; i < d->n; i++) {
		while (at < m->gpus_n && m->gpus[order[at]].id < d->row[i].id)
			at++;
		if (at < m->gpus_n && m->gpus[order[at]].id == d->row[i].id)
			d->row[i].gpu = &m->gpus[order[at]];
	}
	free(order);
	return true;
}

static bool measure_all(struct devices *d, struct measure *e, const struct pieces *p)
{
	for (size_t i = 0, last; i < p->n; i = last) {
		for (last = i; last < p->n && p->row[last].device == p->row[i].device;)
			last++;
		if (!GROW(d->row, d->room, d->n) ||
		    !measure_device(&d->row[d->n], e, &p->row[i], last - i))
			return false;
		d->n++;
	}
	return true;
}

bool devices_make(struct devices *d, const struct model *m, const struct steps *s)
{
	struct measure e = { .m = m };
	struct pieces p = { 0 };
	bool fine;

	if (s->n) {
		e.begin = s->row[0].begin;
		e.end = s->row[s->n - 1].end;
	}
	*d = (struct devices){ 0 };
	e.cores = calloc(m->texts.n + 1, 1);
	fine = e.cores && collect_pieces(&p, m) && measure_all(d, &e, &p) &&
	       describe_devices(d, m);
	free(e.cores);
	spans_free(&e.busy);
	free(e.edges);
	free(p.row);
	if (!fine)
		devices_free(d);
	return fine;
}

void devices_free(struct devices *d)
{
	free(d->row);
	*d = (struct devices){ 0 };
}
