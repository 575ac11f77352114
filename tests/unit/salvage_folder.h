/* SPDX-License-Identifier: Apache-2.0 */
/*
 * salvage_folder - a log directory in which a job was recorded whose launcher is gone.
 *
 * Threads  one.
 * Memory   begin() and end() around each test.
 * Errors   fail the test.
 * Units    none.
 */
#ifndef TESTS_SALVAGE_FOLDER_H
#define TESTS_SALVAGE_FOLDER_H

#include "agent/core/job.h"
#include "base/sys.h"
#include "tests/unit/said.h"
#include "tests/unit/spool_recover.h"

#include <fcntl.h>

#define DEAD 4000001u

static struct spool_image *image;
static char jobs[256], folder[512], logdir[256];

/* A log directory in which a job was recorded; its launcher is gone. */
static inline void begin(void)
{
	/* The files' names are of no interest to who runs this. */
	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stdout));
	image = image_new(1000, 100000);
	image->head->pid = DEAD;
	image->head->start_time = 7;
	image_thread(image, 11, 0, "main");
	image_op(image, "early", 2000, 3000);
	image_op(image, "later", 60000, 70000);
	fmt(logdir, sizeof(logdir), "%s/log", image->dir);
	fmt(jobs, sizeof(jobs), "%s/.proflaunch", logdir);
	ck_assert_int_eq(sys_mkdirs(jobs, 0777), 0);
	ck_assert_int_eq(job_make(jobs, 0), 0);
	fmt(folder, sizeof(folder), "%s", job_folder());
}

static inline void end(void)
{
	image_free(image);
}

static inline int put_named(const char *dir, const char *name)
{
	char path[1024];
	int fd;

	fmt(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	return fd;
}

/* As its process leaves it; its descriptor. */
static inline int put_spool(const char *dir, const char *name)
{
	int fd = put_named(dir, name);

	ck_assert_int_eq(write(fd, image->base, image->head->used),
			 (ssize_t)image->head->used);
	return fd;
}

static inline bool is_there(const char *dir, const char *name)
{
	char path[1024];

	fmt(path, sizeof(path), "%s/%s", dir, name);
	return !access(path, F_OK);
}

#endif
