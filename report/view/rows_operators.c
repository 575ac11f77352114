/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of torch's key_averages(). Those of the GPU, and of memory, are there where
 * something has a number in them. */
#include "report/view/rows.h"

enum column {
	COLUMN_NAME,
	COLUMN_SHAPES,
	COLUMN_COUNT,
	COLUMN_SELF_CPU,
	COLUMN_SHARE,
	COLUMN_CPU,
	COLUMN_SELF_DEVICE,
	COLUMN_DEVICE,
	COLUMN_SELF_CPU_MEMORY,
	COLUMN_CPU_MEMORY,
	COLUMN_SELF_DEVICE_MEMORY,
	COLUMN_DEVICE_MEMORY,
	COLUMN_FLOPS,
	COLUMN_GROUP,
	COLUMNS
};

static const struct table_column columns[] = {
	[COLUMN_NAME] = { "key", "Operator", TABLE_TEXT, 0 },
	[COLUMN_SHAPES] = { "input_shapes", "Input shapes", TABLE_TEXT, 3 },
	[COLUMN_COUNT] = { "count", "Calls", TABLE_COUNT, 0 },
	[COLUMN_SELF_CPU] = { "self_cpu_time_total", "Own CPU", TABLE_TIME, 0 },
	[COLUMN_SHARE] = { "self_share", "of all", TABLE_SHARE, 1 },
	[COLUMN_CPU] = { "cpu_time_total", "CPU", TABLE_TIME, 2 },
	[COLUMN_SELF_DEVICE] = { "self_device_time_total", "Own GPU", TABLE_TIME, 0 },
	[COLUMN_DEVICE] = { "device_time_total", "GPU", TABLE_TIME, 2 },
	[COLUMN_SELF_CPU_MEMORY] = { "self_cpu_memory_usage", "Own memory", TABLE_BYTES,
				     4 },
	[COLUMN_CPU_MEMORY] = { "cpu_memory_usage", "Memory", TABLE_BYTES, 5 },
	[COLUMN_SELF_DEVICE_MEMORY] = { "self_device_memory_usage", "Own GPU memory",
					TABLE_BYTES, 4 },
	[COLUMN_DEVICE_MEMORY] = { "device_memory_usage", "GPU memory", TABLE_BYTES, 5 },
	[COLUMN_FLOPS] = { "flops", "FLOPs", TABLE_COUNT, 2 },
	[COLUMN_GROUP] = { "group", "Where", TABLE_TEXT, 3 },
};

static double share_of(int64_t part, int64_t all)
{
	return all > 0 ? (double)part / (double)all : 0;
}

static void fill_row(struct table_cell *c, const struct operators *o,
		     const struct operator_figures *f, const struct texts *texts,
		     bool memory)
{
	c[COLUMN_NAME].text = texts_get(texts, f->name);
	if (f->shapes != TEXT_NONE && o->shapes)
		c[COLUMN_SHAPES].text = texts_get(texts, f->shapes);
	if (f->group != TEXT_NONE)
		c[COLUMN_GROUP].text = texts_get(texts, f->group);
	c[COLUMN_COUNT].n = (int64_t)f->count;
	c[COLUMN_SELF_CPU].n = f->self_cpu;
	c[COLUMN_CPU].n = f->cpu;
	c[COLUMN_SHARE].x = o->device ? share_of(f->self_device, o->self_device)
				      : share_of(f->self_cpu, o->self_cpu);
	c[COLUMN_SELF_DEVICE].n = f->self_device;
	c[COLUMN_DEVICE].n = f->device;
	if (o->flops)
		c[COLUMN_FLOPS].n = f->flops;
	if (!memory)
		return;
	c[COLUMN_SELF_CPU_MEMORY].n = f->self_cpu_memory;
	c[COLUMN_CPU_MEMORY].n = f->cpu_memory;
	c[COLUMN_SELF_DEVICE_MEMORY].n = f->self_device_memory;
	c[COLUMN_DEVICE_MEMORY].n = f->device_memory;
}

bool rows_operators(struct table *t, struct subject *s)
{
	const struct operators *o = s->shown.n ? &s->shown : &s->operators;

	table_begin(t, columns, COLUMNS);
	for (size_t i = 0; i < o->n; i++) {
		struct table_cell *c = table_add(t);

		if (!c)
			return false;
		fill_row(c, o, &o->row[i], &s->model.texts, s->model.memory_n);
	}
	return true;
}
