/* SPDX-License-Identifier: Apache-2.0 */
/* A worker of the DataLoader, or another child, in the steps of its parent. */
#include "report/ranks/workers.h"
#include "report/view/rows.h"

enum column {
	COLUMN_PID,
	COLUMN_NAME, /* of its first thread */
	COLUMN_RECORDED, /* of the steps, its file has so much */
	COLUMN_BUSY, /* an operator or annotation was running */
	COLUMN_SHARE, /* of what is recorded */
	COLUMN_IDLE,
	COLUMN_HELPFUL, /* busy while the process waited for data */
	COLUMN_WAITED, /* that, of the whole wait */
	COLUMN_OPERATORS, /* that no other operator called */
	COLUMNS
};

static const struct table_column columns[] = {
	[COLUMN_PID] = { "pid", "Process", TABLE_ID, 0 },
	[COLUMN_NAME] = { "name", "Name", TABLE_TEXT, 0 },
	[COLUMN_RECORDED] = { "recorded", "Recorded", TABLE_TIME, 3 },
	[COLUMN_BUSY] = { "busy", "Busy", TABLE_TIME, 0 },
	[COLUMN_SHARE] = { "busy_share", "of it", TABLE_SHARE, 1 },
	[COLUMN_IDLE] = { "idle", "Idle", TABLE_TIME, 0 },
	[COLUMN_HELPFUL] = { "busy_while_waited", "Busy while waited", TABLE_TIME, 0 },
	[COLUMN_WAITED] = { "waited_share", "of the wait", TABLE_SHARE, 2 },
	[COLUMN_OPERATORS] = { "operators", "Operators", TABLE_COUNT, 4 },
};

/* A row is there only where something was recorded: no share is divided by nothing. */
static bool add_row(struct table *t, const struct workers *all, const struct worker *w,
		    const struct texts *texts)
{
	struct table_cell *c = table_add(t);

	if (!c)
		return false;
	c[COLUMN_PID].n = w->pid;
	if (w->name != TEXT_NONE)
		c[COLUMN_NAME].text = texts_get(texts, w->name);
	c[COLUMN_RECORDED].n = w->recorded;
	c[COLUMN_BUSY].n = w->busy;
	c[COLUMN_IDLE].n = w->recorded - w->busy;
	c[COLUMN_HELPFUL].n = w->helpful;
	c[COLUMN_OPERATORS].n = (int64_t)w->operators;
	c[COLUMN_SHARE].x = (double)w->busy / (double)w->recorded;
	if (all->waited > 0)
		c[COLUMN_WAITED].x = (double)w->helpful / (double)all->waited;
	return true;
}

bool rows_workers(struct table *t, struct subject *s)
{
	struct workers all;
	bool fine = workers_make(&all, s->path, &s->model, &s->steps);

	table_begin(t, columns, COLUMNS);
	for (size_t i = 0; fine && i < all.n; i++)
		fine = add_row(t, &all, &all.row[i], &s->model.texts);
	workers_free(&all);
	return fine;
}
