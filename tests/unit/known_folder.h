/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_folder - a job's folder with its page, and spools in it as processes leave them.
 *
 * Threads  one.
 * Memory   begin() and end() around each test.
 * Errors   fail the test.
 * Units    none.
 */
#ifndef TESTS_KNOWN_FOLDER_H
#define TESTS_KNOWN_FOLDER_H

#include "agent/core/job.h"
#include "finisher/known.h"
#include "tests/unit/spool_recover.h"

#include <fcntl.h>
#include <sys/stat.h>

static struct known_all all;
static struct page page;
static char jobs[64];
static struct spool_image *image;

static inline void begin(void)
{
	char path[256];

	image = image_new(1000, 100000);
	strcpy(jobs, "/tmp/known-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(jobs));
	ck_assert_int_eq(job_make(jobs, 0), 0);
	fmt(path, sizeof(path), "%s/" JOB_PAGE, job_folder());
	ck_assert_int_eq(page_open(&page, path, JOB_LOCK_FINISHER, 0), 0);
	memset(&all, 0, sizeof(all));
	ck_assert_int_eq(known_start(&all, job_folder()), 0);
	all.page = &page;
	all.shared = shared_make();
}

static inline void end(void)
{
	char command[128];

	close(all.folder);
	page_close(&page);
	job_forget();
	fmt(command, sizeof(command), "rm -rf '%s'", jobs);
	ck_assert_int_eq(system(command), 0);
	image_free(image);
}

/* A spool of that process in the job's folder; its descriptor, as its process has it. */
static inline int put_spool(uint32_t pid, uint64_t start, const char *host)
{
	char path[512];
	int fd;

	image->head->pid = pid;
	image->head->start_time = start;
	fmt(path, sizeof(path), "%s/%s%u.%lu.1.spool", job_folder(), host, pid,
	    (unsigned long)start);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, image->base, image->head->used),
			 (ssize_t)image->head->used);
	return fd;
}

/* As its process holds it. */
static inline void lock(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &whole), 0);
}

#endif
