/* SPDX-License-Identifier: Apache-2.0 */
/* What each thread did itself, and each stream of a GPU: times of their own, so that all
 * rows can be added up. */
#include "report/figures/self_time.h"
#include "report/view/rows.h"

#include <stdlib.h>

enum column {
	COLUMN_NAME,
	COLUMN_PID,
	COLUMN_TID,
	COLUMN_OPS,
	COLUMN_OPS_TIME,
	COLUMN_CALLS,
	COLUMN_CALLS_TIME,
	COLUMN_WORKS,
	COLUMN_WORKS_TIME,
	COLUMN_SHARE,
	COLUMNS
};

static const struct table_column columns[] = {
	[COLUMN_NAME] = { "name", "Thread or stream", TABLE_TEXT, 0 },
	[COLUMN_PID] = { "pid", "Process or GPU", TABLE_ID, 0 },
	[COLUMN_TID] = { "tid", "Number", TABLE_ID, 2 },
	[COLUMN_OPS] = { "operators", "Operators", TABLE_COUNT, 3 },
	[COLUMN_OPS_TIME] = { "operator_time", "in operators", TABLE_TIME, 0 },
	[COLUMN_CALLS] = { "calls", "CUDA calls", TABLE_COUNT, 4 },
	[COLUMN_CALLS_TIME] = { "call_time", "in calls", TABLE_TIME, 0 },
	[COLUMN_WORKS] = { "gpu_work", "GPU work", TABLE_COUNT, 4 },
	[COLUMN_WORKS_TIME] = { "gpu_time", "on the GPU", TABLE_TIME, 0 },
	[COLUMN_SHARE] = { "share", "of the time", TABLE_SHARE, 1 },
};

struct thread_sum {
	int64_t n[3], time[3]; /* operators, calls, work */
};

/* Which sum a slice belongs to; -1 = to none. */
static int sum_of(const struct slice *slice)
{
	switch (slice->kind) {
	case SLICE_OP:
		return 0;
	case SLICE_CALL:
		return 1;
	case SLICE_DEVICE:
		return 2;
	default:
		return -1;
	}
}

static void add_slices(struct thread_sum *sums, const struct subject *s,
		       const int64_t *self)
{
	for (size_t i = 0; i < s->model.slices_n; i++) {
		const struct slice *slice = &s->model.slices[i];
		int kind = sum_of(slice);
		int64_t time;

		if (kind < 0 || slice->begin < s->from || slice->begin >= s->to)
			continue;
		time = kind == 2 ? slice->end - slice->begin : self[i];
		sums[slice->thread].n[kind]++;
		if (__builtin_add_overflow(sums[slice->thread].time[kind], time,
					   &sums[slice->thread].time[kind]))
			sums[slice->thread].time[kind] = INT64_MAX;
	}
}

static void fill_row(struct table_cell *c, const struct thread *thread,
		     const struct thread_sum *sum, const struct subject *s)
{
	const struct step_figures *row = s->steps.row;
	double all = (double)row[s->steps.n - 1].end - (double)row[0].begin;

	c[COLUMN_NAME].text = thread->name == TEXT_NONE
				      ? NULL
				      : texts_get(&s->model.texts, thread->name);
	c[COLUMN_PID].n = thread->pid;
	c[COLUMN_TID].n = thread->tid;
	for (unsigned i = 0; i < 3; i++) {
		if (!sum->n[i])
			continue;
		c[COLUMN_OPS + 2 * i].n = sum->n[i];
		c[COLUMN_OPS_TIME + 2 * i].n = sum->time[i];
	}
	if (all > 0)
		c[COLUMN_SHARE].x = ((double)sum->time[0] + (double)sum->time[1] +
				     (double)sum->time[2]) /
				    all;
}

bool rows_threads(struct table *t, struct subject *s)
{
	const struct model *m = &s->model;
	struct thread_sum *sums = calloc(m->threads_n + 1, sizeof(*sums));
	int64_t *self = self_time_make(m);
	bool fine = sums && self;

	table_begin(t, columns, COLUMNS);
	if (fine)
		add_slices(sums, s, self);
	for (size_t i = 0; fine && i < m->threads_n; i++) {
		struct table_cell *c;

		if (!sums[i].n[0] && !sums[i].n[1] && !sums[i].n[2])
			continue;
		c = table_add(t);
		fine = c != NULL;
		if (fine)
			fill_row(c, &m->threads[i], &sums[i], s);
	}
	free(sums);
	free(self);
	return fine && table_sort(t, COLUMN_SHARE);
}
