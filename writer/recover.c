/* SPDX-License-Identifier: Apache-2.0 */
/* The windows of a dead process's spool, each written as its plan says. */
#include "writer/copy.h"
#include "writer/sort.h"
#include "writer/trace.h"

#include <errno.h>
#include <string.h>

struct recovery {
	struct copy *copy;
	struct writer_plan plan;
	unsigned kept; /* windows that were not thrown away, whoever writes them */
	struct config config;
	struct writer_result result;
	struct pile turns; /* struct turn */
	char text[SPOOL_CONFIG + 1];
};

/* A window that will be written. Two of one number, which a damaged spool may have,
 * keep the order of their descriptors. */
struct turn {
	uint64_t number, state;
	const struct cycle_info *info;
};

/* Reads the options that the process ran with; a line that makes no sense leaves the
 * default. */
static void read_config(struct recovery *r, const struct spool_header *h)
{
	memcpy(r->text, h->config, SPOOL_CONFIG);
	config_lines(&r->config, r->text);
	if (r->plan.settle)
		r->plan.settle(&r->config, r->plan.arg);
}

bool writer_unwritten(const struct cycle_info *info)
{
	uint32_t state = atomic_load(&((struct cycle_info *)info)->state);

	return state == CYCLE_OPEN || state == CYCLE_SEALED || state == CYCLE_QUIET ||
	       state == CYCLE_BROKEN;
}

static bool turn_before(const void *left, const void *right)
{
	const struct turn *a = left, *b = right;

	return a->number != b->number ? a->number < b->number : a->state < b->state;
}

static int find_cycles_to_write(struct recovery *r)
{
	const struct cycle_info *info;
	uint64_t state;
	size_t at = 0;

	while ((info = copy_cycle(r->copy, &at, &state))) {
		uint32_t is = atomic_load(&((struct cycle_info *)info)->state);
		struct turn turn;

		r->kept += is != CYCLE_NONE && is != CYCLE_DISCARDED;
		if (r->plan.wanted ? !r->plan.wanted(info, r->plan.arg)
				   : !writer_unwritten(info))
			continue;
		turn = (struct turn){ info->number, state, info };
		if (pile_add(&r->turns, &turn, sizeof(turn)))
			return -ENOMEM;
	}
	return sort_merge(r->turns.mem, r->turns.n, sizeof(struct turn), turn_before);
}

/* Writes one window. 0 or why there is no file; the plan hears of both. */
static int write_one(struct recovery *r, const struct turn *turn)
{
	int err;

	memset(&r->result, 0, sizeof(r->result));
	if (r->plan.begins)
		r->plan.begins(turn->info, r->plan.arg);
	err = copy_window(r->copy, turn->number);
	if (!err)
		err = write_trace(&r->copy->view, &r->copy->index, turn->info, &r->config,
				  &r->plan, &r->result);
	copy_drop(r->copy, turn->number);
	if (r->plan.done)
		r->plan.done(turn->info, turn->state, err, &r->result, r->plan.arg);
	return err;
}

int writer_recover(struct copy *c, const struct writer_plan *plan)
{
	struct recovery *r = pile_map(sizeof(*r));
	int err = -ENOMEM, last = 0;

	if (!r)
		return err;
	r->copy = c;
	r->plan = *plan;
	read_config(r, c->view.head);
	err = find_cycles_to_write(r);
	/* A process with several windows gets a file for each, and no row. */
	if (r->kept != 1)
		r->plan.small = NULL;
	if (!err && r->turns.n)
		err = copy_texts(c);
	for (size_t i = 0; !err && i < r->turns.n && last != -ECANCELED; i++) {
		int failed = write_one(r, (const struct turn *)r->turns.mem + i);

		last = failed ? failed : last;
	}
	pile_free(&r->turns);
	pile_unmap(r, sizeof(*r));
	return err ? err : last;
}
