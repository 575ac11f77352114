/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task_bench - a job with one spool, as the finisher has it.
 *
 * Threads  one.
 * Memory   a folder below /tmp.
 * Errors   a failed Check assertion.
 * Units    none.
 */
#ifndef TESTS_TASK_BENCH_H
#define TESTS_TASK_BENCH_H

#include "agent/core/job.h"
#include "base/sys.h"
#include "finisher/small.h"
#include "finisher/task.h"
#include "tests/unit/spool_recover.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

struct bench {
	struct spool_image *m;
	struct page page;
	struct shared *shared;
	struct task_how how;
	struct small_rows rows;
	struct task task;
	char path[256]; /* of the newest file */
	char jobs[32];
	unsigned files;
};

static inline void file_made(const char *path, void *arg)
{
	struct bench *b = arg;

	fmt(b->path, sizeof(b->path), "%s", path);
	b->files++;
}

static inline struct bench *bench_new(enum cycle_state state)
{
	struct bench *b = calloc(1, sizeof(*b));
	char path[512];

	b->m = image_new(1000, 100000);
	image_thread(b->m, 7, 1, "main");
	image_op(b->m, "a", 2000, 3000);
	b->m->info->state = state;
	b->m->head->pid = sys_pid();
	b->m->head->start_time = sys_start_time(sys_pid());
	config_print(&b->m->config, b->m->head->config, sizeof(b->m->head->config));
	strcpy(b->jobs, "/tmp/task-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(b->jobs));
	ck_assert_int_eq(job_make(b->jobs, 0), 0);
	ck_assert_int_eq(job_enlist(), 0);
	fmt(path, sizeof(path), "%s/" JOB_PAGE, job_folder());
	ck_assert_int_eq(page_open(&b->page, path, JOB_LOCK_FINISHER, 0), 0);
	b->shared = shared_make();
	b->rows = (struct small_rows){ open(job_folder(), O_RDONLY | O_DIRECTORY), -1 };
	b->how = (struct task_how){
		.logdir = b->m->config.logdir,
		.totals = &b->shared->totals,
		.own = &b->shared->own,
		.shared = b->shared,
		.page = &b->page,
		.rows = &b->rows,
		.file = file_made,
		.arg = b,
	};
	b->task = (struct task){ .how = &b->how, .name = "1.2.3.spool" };
	b->task.fd = image_file(b->m);
	return b;
}

static inline void bench_free(struct bench *b)
{
	close(b->task.fd);
	small_close(&b->rows);
	close(b->rows.folder);
	page_close(&b->page);
	job_unmake();
	job_forget();
	image_free(b->m);
	free(b);
}

#endif
