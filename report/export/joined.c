/* SPDX-License-Identifier: Apache-2.0 */
/* The figures are those of the report: an export is to have the same numbers. */
#include "report/export/joined.h"
#include "report/figures/event_sums.h"
#include "report/figures/event_tree.h"
#include "report/whose.h"

#include <stdio.h>
#include <stdlib.h>

#define WANTED (EVENT_KINDS | WANT(SLICE_DEVICE) | WANT(SLICE_DEVICE_NOTE) | WANT_DETAILS)

/* The times are those of the report, whatever the nesting by time says. */
static bool take_event(void *arg, uint32_t slice, const struct event_sums *sums)
{
	struct joined *j = arg;
	struct joined_row *r = &j->row[slice];

	r->event = j->model.slices[slice].kind == SLICE_NOTE ? JOINED_NOTE : JOINED_HOST;
	r->self = sums->self_cpu;
	r->device = sums->device;
	r->self_device = sums->self_device;
	return true;
}

/* Work is an event of its own, beside the one that launched it. */
static void take_work(struct joined *j, uint32_t slice)
{
	const struct slice *s = &j->model.slices[slice];
	struct joined_row *r = &j->row[slice];

	if (!event_tree_is_work(&j->model, slice))
		return;
	r->event = s->kind == SLICE_DEVICE ? JOINED_DEVICE : JOINED_DEVICE_NOTE;
	r->device = r->self_device = event_ns(s);
}

/* A slice comes behind the one around it. */
static void set_depth(struct joined *j, uint32_t slice)
{
	uint32_t parent = j->model.slices[slice].parent;

	j->row[slice].depth = parent == NO_ROW ? 0 : j->row[parent].depth + 1;
}

/* What counts is what the report counts: without marked steps all of the file. */
static void set_bounds(struct joined *j)
{
	j->from = INT64_MIN;
	j->to = INT64_MAX;
	if (!j->steps.marked || !j->steps.n)
		return;
	j->from = j->steps.row[0].begin;
	j->to = j->steps.row[j->steps.n - 1].end;
}

/* Depth goes by the model's order: what is around a slice has its own by then. */
static bool make_rows(struct joined *j)
{
	const struct model *m = &j->model;
	struct moved moved = { 0 };
	bool fine;

	j->row = calloc(m->slices_n + 1, sizeof(*j->row));
	fine = j->row && launches_make(&j->launches, m) && steps_make(&j->steps, m) &&
	       moved_make(&moved, m) && event_sums_each(m, &moved, take_event, j);
	moved_free(&moved);
	for (uint32_t i = 0; fine && i < m->slices_n; i++) {
		set_depth(j, i);
		take_work(j, i);
	}
	if (fine)
		set_bounds(j);
	return fine;
}

bool joined_make(struct joined *j, const char *path, char *why, size_t size)
{
	*j = (struct joined){ .path = path };
	if (model_read(&j->model, path, WANTED, why, size))
		return false;
	if (make_rows(j))
		return true;
	snprintf(why, size, "%s: not enough memory", path);
	joined_free(j);
	return false;
}

void joined_free(struct joined *j)
{
	free(j->row);
	steps_free(&j->steps);
	launches_free(&j->launches);
	model_free(&j->model);
	*j = (struct joined){ 0 };
}

/* Without marks all of the file is one step, which no moment is said to be in. */
const struct step_figures *joined_step(const struct joined *j, int64_t ts)
{
	long row = j->steps.marked ? steps_at(&j->steps, ts) : -1;

	return row < 0 ? NULL : &j->steps.row[row];
}

/* A file of an old version, or of another dialect, has torch's newest words here. */
const char *joined_category(const struct slice *s)
{
	static const char *const kinds[SLICE_KINDS] = {
		[SLICE_OP] = "cpu_op",
		[SLICE_NOTE] = "user_annotation",
		[SLICE_PYTHON] = "python_function",
		[SLICE_CALL] = "cuda_runtime",
		[SLICE_DEVICE] = "kernel",
		[SLICE_DEVICE_NOTE] = "gpu_user_annotation",
	};

	if (s->sort == SORT_DRIVER)
		return "cuda_driver";
	if (s->sort == SORT_COPY)
		return "gpu_memcpy";
	return s->sort == SORT_SET ? "gpu_memset" : kinds[s->kind];
}

const char *joined_stage(const struct joined *j)
{
	const char *stage = whose_stage(&j->model);

	return *stage ? stage : NULL;
}

/* Only work on a device was launched by an operator. */
uint32_t joined_op(const struct joined *j, uint32_t slice)
{
	const struct slice *s = &j->model.slices[slice];

	return s->kind == SLICE_DEVICE ? launches_op(&j->launches, s) : NO_ROW;
}
