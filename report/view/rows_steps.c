/* SPDX-License-Identifier: Apache-2.0 */
/* Every step with its shares, and the mean of them. */
#include "report/units.h"
#include "report/view/rows.h"

/* The shares are in the order of enum share. */
static const struct table_column columns[] = {
	{ "step", "Step", TABLE_ID, 0 },
	{ "duration", "Duration", TABLE_TIME, 0 },
	{ "kernel", "Kernel", TABLE_TIME, 0 },
	{ "memcpy", "Memcpy", TABLE_TIME, 1 },
	{ "memset", "Memset", TABLE_TIME, 1 },
	{ "communication", "Communication", TABLE_TIME, 2 },
	{ "runtime", "Runtime", TABLE_TIME, 0 },
	{ "dataloader", "DataLoader", TABLE_TIME, 0 },
	{ "cpu_exec", "CPU Exec", TABLE_TIME, 0 },
	{ "other", "Other", TABLE_TIME, 0 },
};

bool rows_steps(struct table *t, struct subject *s)
{
	table_begin(t, columns, 2 + SHARES);
	for (size_t i = 0; i < s->steps.n; i++) {
		const struct step_figures *step = &s->steps.row[i];
		struct table_cell *c = table_add(t);

		if (!c)
			return false;
		c[0].n = step->number;
		c[1].n = step->end - step->begin;
		for (unsigned k = 0; k < SHARES; k++)
			c[2 + k].n = step->share[k];
	}
	return true;
}

static const struct table_column share_columns[] = {
	{ "category", "A step", TABLE_TEXT, 0 },
	{ "mean", "Mean", TABLE_TIME, 0 },
	{ "share", "of it", TABLE_SHARE, 0 },
};

bool rows_shares(struct table *t, struct subject *s)
{
	double mean = steps_mean(&s->steps);

	table_begin(t, share_columns, 3);
	for (unsigned k = 0; k < SHARES; k++) {
		double share = steps_mean_share(&s->steps, (enum share)k);
		struct table_cell *c = table_add(t);

		if (!c)
			return false;
		c[0].text = share_names[k];
		c[1].n = units_whole(share);
		c[2].x = mean > 0 ? share / mean : 0;
	}
	return true;
}
