/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of the plugin's module view, a module below the one that it is part of. */
#include "report/figures/modules.h"
#include "report/view/rows.h"

enum column {
	COLUMN_MODULE, /* moved in by its depth */
	COLUMN_DEPTH, /* for programs */
	COLUMN_PATH,
	COLUMN_COUNT,
	COLUMN_OPERATORS, /* that it called itself */
	COLUMN_CPU,
	COLUMN_SELF_CPU, /* without operators and modules inside */
	COLUMN_DEVICE, /* of all work that was launched inside */
	COLUMN_SELF_DEVICE, /* of its operators alone */
	COLUMNS
};

static const struct table_column columns[] = {
	[COLUMN_MODULE] = { "module", "Module", TABLE_TEXT, 0 },
	[COLUMN_DEPTH] = { "depth", "Depth", TABLE_ID, TABLE_DATA },
	[COLUMN_PATH] = { "path", "Path", TABLE_TEXT, 1 },
	[COLUMN_COUNT] = { "count", "Calls", TABLE_COUNT, 0 },
	[COLUMN_OPERATORS] = { "operators", "Operators", TABLE_COUNT, 3 },
	[COLUMN_CPU] = { "cpu_time_total", "CPU", TABLE_TIME, 0 },
	[COLUMN_SELF_CPU] = { "self_cpu_time_total", "Own CPU", TABLE_TIME, 2 },
	[COLUMN_DEVICE] = { "device_time_total", "GPU", TABLE_TIME, 0 },
	[COLUMN_SELF_DEVICE] = { "self_device_time_total", "Own GPU", TABLE_TIME, 1 },
};

/* Rows are in the order of the tree; --sort loses it, and keeps how far each is moved
 * in. */
bool rows_modules(struct table *t, struct subject *s)
{
	struct modules all;
	bool fine = modules_make(&all, &s->model, s->from, s->to);

	table_begin(t, columns, COLUMNS);
	for (size_t i = 0; fine && i < all.n; i++) {
		const struct module_figures *f = &all.row[i];
		struct table_cell *c = table_add(t);

		fine = c != NULL;
		if (!fine)
			break;
		c[COLUMN_MODULE].text = texts_get(&s->model.texts, f->name);
		c[COLUMN_MODULE].n = c[COLUMN_DEPTH].n = f->depth;
		if (f->path != TEXT_NONE)
			c[COLUMN_PATH].text = texts_get(&s->model.texts, f->path);
		c[COLUMN_COUNT].n = (int64_t)f->count;
		c[COLUMN_OPERATORS].n = (int64_t)f->operators;
		c[COLUMN_CPU].n = f->host;
		c[COLUMN_SELF_CPU].n = f->self_host;
		c[COLUMN_DEVICE].n = f->device;
		c[COLUMN_SELF_DEVICE].n = f->self_device;
	}
	modules_free(&all);
	return fine;
}
