/* SPDX-License-Identifier: Apache-2.0 */
/* A task is one look at one spool: all windows of it that are complete, or, of a
 * process that is gone, all that there are. The spool is copied into private memory
 * first (writer/copy.h), for its process may write there while it is read. What is
 * done is noted in struct shared before the process is told, so that a finisher that
 * follows does not begin it again. */
#include "finisher/task.h"
#include "base/log.h"
#include "base/sys.h"
#include "writer/copy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct work { /* of a task */
	struct task *task;
	struct copy copy;
	bool each; /* its options say that every process has a file */
	bool commanded; /* ... and have an on_trace */
	int failed;
};

/* ---- what a finisher that dies here leaves for the next one ---- */

/* A finisher that dies between the two marks has died of this window, or in it:
 * look_back judges by that. */
static void mark_begin(const struct task *t, uint64_t number)
{
	struct shared *s = t->how->shared;

	if (!s)
		return;
	s->now.key = shared_key(t->name, number);
	s->now.path[0] = '\0';
	snprintf(s->now.spool, sizeof(s->now.spool), "%s", t->name);
	atomic_store(&s->now.on, 1);
}

static void mark_end(const struct task *t)
{
	if (t->how->shared)
		atomic_store(&t->how->shared->now.on, 0);
}

static bool is_done(const struct task *t, uint64_t number)
{
	return t->how->shared && shared_is_done(t->how->shared, t->name, number);
}

static void set_done(const struct task *t, uint64_t number)
{
	if (t->how->shared)
		shared_set_done(t->how->shared, t->name, number);
}

/* ---- the plan ---- */

/* No path and no command of the spool's own is followed: it may be hostile. */
static void settle_config(struct config *c, void *arg)
{
	struct work *r = arg;

	snprintf(c->logdir, sizeof(c->logdir), "%s", r->task->how->logdir);
	r->commanded = c->on_trace[0];
	c->on_trace[0] = '\0';
	r->each = c->children == CHILDREN_EACH;
}

static bool is_window_wanted(const struct cycle_info *info, void *arg)
{
	const struct work *r = arg;

	if (is_done(r->task, info->number))
		return false;
	return r->task->dead ? writer_unwritten(info)
			     : atomic_load(&info->state) == CYCLE_QUIET;
}

static void window_begins(const struct cycle_info *info, void *arg)
{
	mark_begin(((struct work *)arg)->task, info->number);
}

/* May the process be a row? Not the command itself, whose parent is the launcher, and not
 * the job's first processes: a user who runs three programs wants three files. */
static bool may_be_small(void *arg)
{
	const struct work *r = arg;
	const struct task_how *how = r->task->how;

	return r->task->dead && !r->each && !r->task->own &&
	       (!how->launcher || r->copy.view.head->ppid != how->launcher) &&
	       atomic_load(how->own) >= TASK_OWN;
}

static void count_own_file(const struct work *r)
{
	const struct task_how *how = r->task->how;
	const char *exe = r->copy.view.head->exe;
	uint32_t n = atomic_fetch_add(how->own, 1) + 1;

	tally_add(&how->totals->processes, exe,
		  strnlen(exe, sizeof(r->copy.view.head->exe)), 1);
	if (how->page)
		page_set_own(how->page, n);
}

static int keep_result(struct work *r, const struct cycle_info *info,
		       const struct writer_result *result)
{
	const struct task_how *how = r->task->how;
	int err = result->is_small
			  ? small_add(how->rows, r->copy.view.head, &result->small)
			  : 0;

	if (err) {
		log_warn("cannot keep what is known of process %u: %s",
			 r->copy.view.head->pid, sys_error(err));
		return err;
	}
	set_done(r->task, info->number);
	totals_add_window(how->totals, r->copy.view.head, info, result);
	totals_add_result(how->totals, result);
	if (!*result->path)
		return 0;
	how->totals->commanded += r->commanded;
	if (!r->task->own)
		count_own_file(r);
	r->task->own = true;
	if (how->file)
		how->file(result->path, how->arg);
	return 0;
}

/* Tells the waiting process how the window ended. A dead process's spool is marked, too,
 * for recover, if no finisher comes: a window that is done is not begun again. */
static void tell_process(const struct work *r, uint64_t state, uint32_t how)
{
	const struct spool_header *h = r->copy.view.head;
	const struct page *page = r->task->how->page;
	int slot;

	if (sys_pwrite_all(r->task->fd, &how, sizeof(how), state) || !page ||
	    r->task->dead)
		return;
	slot = page_slot(page, h->pid, h->start_time, r->task->ino);
	if (slot >= 0)
		page_written(page, slot);
}

/* -ECANCELED: the finisher has been told to end, and the next one begins the window
 * anew. */
static void window_done(const struct cycle_info *info, uint64_t state, int err,
			const struct writer_result *result, void *arg)
{
	struct work *r = arg;

	if (!err)
		err = keep_result(r, info, result);
	mark_end(r->task);
	if (err == -ECANCELED)
		return;
	r->failed = err ? err : r->failed;
	if (r->task->dead && (err == -ENOSPC || err == -EDQUOT))
		r->task->how->totals->unwritten++;
	if (!r->task->dead || !err)
		tell_process(r, state, err ? CYCLE_BROKEN : CYCLE_WRITTEN);
}

/* ---- the last counters of a process that is gone ---- */

/* When the process ended, in ticks, as it said itself. One that was killed said nothing:
 * then the time of its last sample, when it still lived; 0 = it has none. */
static uint64_t last_ticks(const struct task *t, const struct spool_header *h)
{
	uint64_t exit = atomic_load(&h->exit_ticks);

	return exit ? exit : t->seen_n ? t->seen[t->seen_n - 1].r.begin : 0;
}

/* The finisher's samples, and the last counters of a dead process; the caller frees
 * them. */
static struct rec_heap *all_seen(const struct work *r, size_t *n)
{
	const struct task *t = r->task;
	struct rec_heap *all = malloc((t->seen_n + 1) * sizeof(*all));
	uint64_t sum[SPOOL_COUNTERS], at = last_ticks(t, r->copy.view.head);

	*n = all ? t->seen_n : 0;
	if (!all)
		return NULL;
	if (t->seen_n)
		memcpy(all, t->seen, t->seen_n * sizeof(*all));
	if (!t->dead || !at || !copy_counters(t->fd, sum))
		return all;
	all[(*n)++] = (struct rec_heap){
		.r = { .kind = REC_HEAP, .flags = HEAP_HAS_COUNTS, .begin = at },
		.allocs = sum[0],
		.allocated = sum[1],
		.frees = sum[2],
		.live = (int64_t)(sum[1] - sum[3]),
	};
	return all;
}

/* ---- the window that was open ---- */

/* Ends the open window, in the finisher's own copy. A window that has become the
 * process's own does not count as a follower's. */
static void cut_window(const struct task *t, struct copy *c)
{
	const struct cycle_info *info;
	uint64_t state;
	size_t at = 0;

	while (t->dead && t->cut.number && (info = copy_cycle(c, &at, &state))) {
		struct cycle_info *own = (struct cycle_info *)info;

		if (info->number != t->cut.number || !(info->flags & CYCLE_CHILD) ||
		    atomic_load(&own->state) != CYCLE_OPEN)
			continue;
		if (t->cut.thrown)
			atomic_store(&own->state, CYCLE_DISCARDED);
		if (t->cut.ours)
			own->flags &= ~(uint32_t)CYCLE_CHILD;
		if (t->cut.end)
			own->end = t->cut.end;
	}
}

/* Drops what a dead process recorded until torch was met, once any process of the job has
 * met torch. */
static void drop_meanwhile(const struct task *t, struct copy *c)
{
	const uint32_t flags = CYCLE_WHOLE | CYCLE_PROVISIONAL;
	const struct cycle_info *info;
	uint64_t state;
	size_t at = 0;

	if (!t->dead || !t->how->page || !page_has_torch(t->how->page))
		return;
	while ((info = copy_cycle(c, &at, &state)))
		if ((info->flags & flags) == flags)
			atomic_store(&((struct cycle_info *)info)->state,
				     CYCLE_DISCARDED);
}

/* ---- all of it ---- */

static int run_windows(struct work *r)
{
	struct writer_plan plan = { .settle = settle_config,
				    .wanted = is_window_wanted,
				    .begins = window_begins,
				    .small = may_be_small,
				    .done = window_done,
				    .arg = r };
	struct rec_heap *seen = all_seen(r, &plan.seen_n);
	int err;

	plan.seen = seen;
	err = writer_recover(&r->copy, &plan);
	free(seen);
	return err ? err : r->failed;
}

int task_run(struct task *t)
{
	struct work r = { .task = t };
	int err;

	mark_begin(t, 0);
	err = copy_open(&r.copy, t->fd);
	mark_end(t);
	if (err)
		return err;
	if (r.copy.left_out && t->dead)
		log_warn("process %u: more than %u windows at once: %u are left out",
			 r.copy.view.head->pid, copy_most, r.copy.left_out);
	cut_window(t, &r.copy);
	drop_meanwhile(t, &r.copy);
	err = run_windows(&r);
	if (!err && t->dead && !is_done(t, SHARED_WHOLE)) {
		totals_add_header(t->how->totals, r.copy.view.head);
		set_done(t, SHARED_WHOLE);
	}
	copy_close(&r.copy);
	return err;
}
