/* SPDX-License-Identifier: Apache-2.0 */
/* What ran on the GPU, by name, and how each GPU was used. */
#include "report/view/rows.h"

#include <math.h>

enum column {
	COLUMN_NAME,
	COLUMN_OP,
	COLUMN_COUNT,
	COLUMN_TOTAL,
	COLUMN_SHARE,
	COLUMN_MEAN,
	COLUMN_LEAST,
	COLUMN_MOST,
	COLUMN_TENSOR,
	COLUMN_BLOCKS,
	COLUMN_OCCUPANCY,
	COLUMN_BYTES,
	COLUMN_SORT,
	COLUMNS
};

static const struct table_column columns[] = {
	[COLUMN_NAME] = { "name", "Kernel", TABLE_TEXT, 0 },
	[COLUMN_OP] = { "operator", "Operator", TABLE_TEXT, 7 },
	[COLUMN_COUNT] = { "count", "Calls", TABLE_COUNT, 0 },
	[COLUMN_TOTAL] = { "total", "Total", TABLE_TIME, 0 },
	[COLUMN_SHARE] = { "share", "of all", TABLE_SHARE, 1 },
	[COLUMN_MEAN] = { "mean", "Mean", TABLE_TIME, 2 },
	[COLUMN_LEAST] = { "min", "Least", TABLE_TIME, 5 },
	[COLUMN_MOST] = { "max", "Most", TABLE_TIME, 5 },
	[COLUMN_TENSOR] = { "tensor_cores", "Tensor cores", TABLE_FLAG, 6 },
	[COLUMN_BLOCKS] = { "blocks_per_sm", "Blocks/SM", TABLE_NUMBER, 4 },
	[COLUMN_OCCUPANCY] = { "occupancy", "Occupancy", TABLE_SHARE, 3 },
	[COLUMN_BYTES] = { "bytes", "Bytes", TABLE_BYTES, 8 },
	[COLUMN_SORT] = { "kind", "Kind", TABLE_TEXT, 9 },
};

static const char *kind_of(const struct kernel_figures *f)
{
	return f->sort == SORT_COPY ? "copy" : f->sort == SORT_SET ? "set" : "kernel";
}

static double known_or_none(double x, double unit)
{
	return x < 0 ? NAN : x / unit;
}

static void fill_row(struct table_cell *c, const struct kernel_figures *f, int64_t total,
		     const struct texts *texts)
{
	bool kernel = f->sort != SORT_COPY && f->sort != SORT_SET;

	c[COLUMN_NAME].text = texts_get(texts, f->name);
	c[COLUMN_OP].text = f->op == TEXT_NONE ? NULL : texts_get(texts, f->op);
	c[COLUMN_COUNT].n = (int64_t)f->count;
	c[COLUMN_TOTAL].n = f->total;
	c[COLUMN_SHARE].x = total > 0 ? (double)f->total / (double)total : 0;
	c[COLUMN_MEAN].n = f->count ? f->total / (int64_t)f->count : 0;
	c[COLUMN_LEAST].n = f->least;
	c[COLUMN_MOST].n = f->most;
	c[COLUMN_TENSOR].n = kernel ? f->tensor_cores : TABLE_NONE;
	c[COLUMN_BLOCKS].x = known_or_none(f->blocks_per_sm, 1);
	c[COLUMN_OCCUPANCY].x = known_or_none(f->occupancy, 100);
	c[COLUMN_BYTES].n = f->bytes < 0 ? TABLE_NONE : f->bytes;
	c[COLUMN_SORT].text = kind_of(f);
}

bool rows_kernels(struct table *t, struct subject *s)
{
	table_begin(t, columns, COLUMNS);
	for (size_t i = 0; i < s->kernels.n; i++) {
		struct table_cell *c = table_add(t);

		if (!c)
			return false;
		fill_row(c, &s->kernels.row[i], s->kernels.total, &s->model.texts);
	}
	return true;
}

static const struct table_column gpu_columns[] = {
	{ "id", "GPU", TABLE_ID, 0 },
	{ "name", "Name", TABLE_TEXT, 0 },
	{ "kernels", "Kernels", TABLE_COUNT, 0 },
	{ "copies", "Copies", TABLE_COUNT, 1 },
	{ "sets", "Sets", TABLE_COUNT, 1 },
	{ "busy", "Busy", TABLE_TIME, 0 },
	{ "kernel_time", "Kernel time", TABLE_TIME, 2 },
	{ "tensor_core_time", "on tensor cores", TABLE_TIME, 2 },
	{ "utilization", "Utilization", TABLE_SHARE, 0 },
	{ "sm_efficiency", "SM efficiency", TABLE_SHARE, 0 },
	{ "occupancy", "Occupancy", TABLE_SHARE, 0 },
	{ "memory", "Memory", TABLE_BYTES, 3 },
};

static void fill_gpu(struct table_cell *c, const struct device_figures *d,
		     const struct texts *texts)
{
	c[0].n = d->id;
	c[1].text = d->gpu && d->gpu->name != TEXT_NONE ? texts_get(texts, d->gpu->name)
							: NULL;
	c[2].n = (int64_t)d->kernels;
	c[3].n = (int64_t)d->copies;
	c[4].n = (int64_t)d->sets;
	c[5].n = d->busy;
	c[6].n = d->kernel_time;
	c[7].n = d->tensor_cores;
	c[8].x = known_or_none(d->utilization, 1);
	c[9].x = known_or_none(d->sm_efficiency, 1);
	c[10].x = known_or_none(d->occupancy, 1);
	c[11].n = d->gpu && d->gpu->memory > 0 ? d->gpu->memory : TABLE_NONE;
}

bool rows_devices(struct table *t, struct subject *s)
{
	table_begin(t, gpu_columns, sizeof(gpu_columns) / sizeof(*gpu_columns));
	for (size_t i = 0; i < s->devices.n; i++) {
		struct table_cell *c = table_add(t);

		if (!c)
			return false;
		fill_gpu(c, &s->devices.row[i], &s->model.texts);
	}
	return true;
}
