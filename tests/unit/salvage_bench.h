/* SPDX-License-Identifier: Apache-2.0 */
/*
 * salvage_bench - what recover takes of the job in a salvage_folder, and what it says.
 *
 * Threads  one.
 * Memory   begin_to_salvage() and end() around each test.
 * Errors   fail the test.
 * Units    none.
 */
#ifndef TESTS_SALVAGE_BENCH_H
#define TESTS_SALVAGE_BENCH_H

#include "launcher/recover/salvage.h"
#include "tests/unit/salvage_folder.h"

static struct salvage all;
static char made[512];
static unsigned files;

static inline void note_file(const char *path, void *arg)
{
	(void)arg;
	fmt(made, sizeof(made), "%s", path);
	files++;
}

static inline void begin_to_salvage(void)
{
	begin();
	all = (struct salvage){ .logdir = logdir, .file = note_file };
	files = 0;
}

static inline void lock(int fd, off_t from, off_t length)
{
	struct flock some = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = from, .l_len = length
	};

	ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &some), 0);
}

/* What is said the while. */
static inline const char *salvage(void)
{
	said_start();
	salvage_all(&all, jobs);
	return said();
}

static inline void expect_left(const char *name, const char *why)
{
	const char *text = salvage();

	ck_assert_msg(strstr(text, why) != NULL, "%s", text);
	ck_assert_uint_eq(files, 0);
	ck_assert_uint_eq(all.totals.living, 1);
	ck_assert(is_there(folder, name));
	ck_assert(is_there(folder, JOB_PAGE));
}

#endif
