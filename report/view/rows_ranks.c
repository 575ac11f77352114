/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks beside one another; their steps and collectives, as the plugin's distributed view
 * has them. */
#include "report/view/rows_ranks.h"
#include "report/figures/sum.h"
#include "report/ranks/collective_sums.h"
#include "report/units.h"

/* ---- ranks ---- */

enum rank_column {
	RANK_NUMBER,
	RANK_STEPS, /* in its file */
	RANK_STEP, /* all times are means of its steps */
	RANK_COMPUTE, /* without what ran on the host while it waited */
	RANK_FACTOR, /* by the median rank, median over steps */
	RANK_COMMUNICATION, /* any collective was running */
	RANK_EXPOSED, /* and nothing computed */
	RANK_WAITING, /* in collectives, for the last rank */
	RANK_LATE, /* all others waited for this rank */
	RANK_SLOW, /* steps above 1.1 times the median */
	RANK_STRAGGLER, /* so in two thirds of the steps */
	RANK_CLOCK, /* taken off its times */
	RANK_FILE, /* for programs: people see it on standard error */
	RANK_COLUMNS
};

static const struct table_column rank_columns[] = {
	[RANK_NUMBER] = { "rank", "Rank", TABLE_ID, 0 },
	[RANK_STEPS] = { "steps", "Steps", TABLE_COUNT, 4 },
	[RANK_STEP] = { "step", "A step", TABLE_TIME, 0 },
	[RANK_COMPUTE] = { "compute", "Compute", TABLE_TIME, 0 },
	[RANK_FACTOR] = { "compute_by_median", "of median", TABLE_NUMBER, 3 },
	[RANK_COMMUNICATION] = { "communication", "Communication", TABLE_TIME, 2 },
	[RANK_EXPOSED] = { "exposed_communication", "Exposed", TABLE_TIME, 0 },
	[RANK_WAITING] = { "waiting", "Waiting", TABLE_TIME, 0 },
	[RANK_LATE] = { "late", "Awaited", TABLE_TIME, 0 },
	[RANK_SLOW] = { "slow_steps", "Slow steps", TABLE_COUNT, 5 },
	[RANK_STRAGGLER] = { "straggler", "Straggler", TABLE_FLAG, 0 },
	[RANK_CLOCK] = { "clock_offset", "Clock", TABLE_TIME, 6 },
	[RANK_FILE] = { "file", "File", TABLE_TEXT, TABLE_DATA },
};

/* Without a step that all ranks have there is no verdict, and no column for it. */
bool rows_ranks(struct table *t, const struct ranks *all)
{
	table_begin(t, rank_columns, RANK_COLUMNS);
	for (size_t i = 0; i < all->n; i++) {
		const struct rank *r = &all->row[i];
		const struct rank_verdict *v = &all->verdict[i];
		struct table_cell *c = table_add(t);

		if (!c)
			return false;
		c[RANK_NUMBER].n = r->number >= 0 ? r->number : TABLE_NONE;
		c[RANK_STEPS].n = (int64_t)r->steps_n;
		c[RANK_STEP].n = units_whole(v->step);
		c[RANK_COMPUTE].n = units_whole(v->compute);
		c[RANK_COMMUNICATION].n = units_whole(v->communication);
		c[RANK_EXPOSED].n = units_whole(v->exposed);
		c[RANK_CLOCK].n = r->offset;
		c[RANK_FILE].text = r->path;
		c[RANK_WAITING].n = units_whole(v->waiting);
		c[RANK_LATE].n = units_whole(v->late);
		if (!all->judged)
			continue;
		c[RANK_FACTOR].x = v->factor;
		c[RANK_SLOW].n = (int64_t)v->slow;
		c[RANK_STRAGGLER].n = v->straggler;
	}
	return true;
}

/* ---- their steps ---- */

enum step_column {
	STEP_NUMBER,
	STEP_RANK,
	STEP_LENGTH, /* the other four of a step add up to it */
	STEP_COMPUTATION, /* alone */
	STEP_OVERLAP, /* computation and communication at once */
	STEP_COMMUNICATION, /* alone */
	STEP_OTHER, /* neither */
	STEP_TRANSFER, /* in collectives, all ranks being there */
	STEP_WAITING, /* the rest of the time in collectives */
	STEP_COLUMNS
};

static const struct table_column step_columns[] = {
	[STEP_NUMBER] = { "step", "Step", TABLE_ID, 0 },
	[STEP_RANK] = { "rank", "Rank", TABLE_ID, 0 },
	[STEP_LENGTH] = { "duration", "Duration", TABLE_TIME, 2 },
	[STEP_COMPUTATION] = { "computation", "Computation", TABLE_TIME, 0 },
	[STEP_OVERLAP] = { "overlap", "Overlap", TABLE_TIME, 0 },
	[STEP_COMMUNICATION] = { "communication", "Communication", TABLE_TIME, 0 },
	[STEP_OTHER] = { "other", "Other", TABLE_TIME, 1 },
	[STEP_TRANSFER] = { "transfer", "Transfer", TABLE_TIME, 0 },
	[STEP_WAITING] = { "waiting", "Waiting", TABLE_TIME, 0 },
};

/* Computation and communication are without what is in both, as the plugin draws them. */
static bool add_step(struct table *t, const struct rank *r, const struct rank_step *step)
{
	const struct overlap_step *time = &step->time;
	int64_t length = sum_minus(step->end, step->begin), other = length;
	struct table_cell *c = table_add(t);

	if (!c)
		return false;
	sum_add(&other, time->both);
	sum_take(&other, time->computation);
	sum_take(&other, time->communication);
	c[STEP_NUMBER].n = step->number;
	c[STEP_RANK].n = r->number >= 0 ? r->number : TABLE_NONE;
	c[STEP_LENGTH].n = length;
	c[STEP_COMPUTATION].n = sum_minus(time->computation, time->both);
	c[STEP_OVERLAP].n = time->both;
	c[STEP_COMMUNICATION].n = sum_minus(time->communication, time->both);
	c[STEP_OTHER].n = other;
	c[STEP_TRANSFER].n = step->transfer;
	c[STEP_WAITING].n = step->waiting;
	return true;
}

/* Steps of the same place stand below one another: those of one number, as a rule. */
bool rows_ranks_steps(struct table *t, const struct ranks *all)
{
	size_t most = 0;

	table_begin(t, step_columns, STEP_COLUMNS);
	for (size_t i = 0; i < all->n; i++)
		most = all->row[i].steps_n > most ? all->row[i].steps_n : most;
	for (size_t step = 0; step < most; step++)
		for (size_t i = 0; i < all->n; i++)
			if (step < all->row[i].steps_n &&
			    !add_step(t, &all->row[i], &all->row[i].steps[step]))
				return false;
	return true;
}

/* ---- their collectives ---- */

enum sum_column {
	SUM_RANK,
	SUM_NAME,
	SUM_CALLS,
	SUM_BYTES, /* of the first input */
	SUM_MEAN_BYTES,
	SUM_TIME, /* each moment once */
	SUM_MEAN_TIME,
	SUM_TRANSFER, /* of that: all ranks were there */
	SUM_MEAN_TRANSFER,
	SUM_COLUMNS
};

static const struct table_column sum_columns[] = {
	[SUM_RANK] = { "rank", "Rank", TABLE_ID, 0 },
	[SUM_NAME] = { "collective", "Collective", TABLE_TEXT, 0 },
	[SUM_CALLS] = { "count", "Calls", TABLE_COUNT, 0 },
	[SUM_BYTES] = { "bytes", "Size", TABLE_BYTES, 0 },
	[SUM_MEAN_BYTES] = { "bytes_mean", "Mean size", TABLE_BYTES, 3 },
	[SUM_TIME] = { "time", "Time", TABLE_TIME, 0 },
	[SUM_MEAN_TIME] = { "time_mean", "Mean", TABLE_TIME, 2 },
	[SUM_TRANSFER] = { "transfer", "Transfer", TABLE_TIME, 0 },
	[SUM_MEAN_TRANSFER] = { "transfer_mean", "Mean transfer", TABLE_TIME, 4 },
};

/* A size that is not known of all calls is none: half a sum would mislead. */
static bool add_sum(struct table *t, const struct ranks *all, const struct rank *r,
		    const struct collective_sum *sum)
{
	struct table_cell *c = table_add(t);
	int64_t calls = (int64_t)sum->calls;

	if (!c)
		return false;
	c[SUM_RANK].n = r->number >= 0 ? r->number : TABLE_NONE;
	c[SUM_NAME].text = texts_get(&all->names, sum->name);
	c[SUM_CALLS].n = calls;
	if (sum->bytes >= 0) {
		c[SUM_BYTES].n = sum->bytes;
		c[SUM_MEAN_BYTES].n = sum->bytes / calls;
	}
	c[SUM_TIME].n = sum->time;
	c[SUM_MEAN_TIME].n = sum->time / calls;
	c[SUM_TRANSFER].n = sum->transfer;
	c[SUM_MEAN_TRANSFER].n = sum->transfer / calls;
	return true;
}

/* Rank after rank, of each the collective that took longest first. */
bool rows_ranks_collectives(struct table *t, const struct ranks *all)
{
	bool fine = true;

	table_begin(t, sum_columns, SUM_COLUMNS);
	for (size_t i = 0; fine && i < all->n; i++) {
		struct collective_sums sums;

		fine = collective_sums_make(&sums, &all->row[i]);
		for (size_t k = 0; fine && k < sums.n; k++)
			fine = add_sum(t, all, &all->row[i], &sums.row[k]);
		collective_sums_free(&sums);
	}
	return fine;
}
