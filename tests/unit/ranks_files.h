/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks_files - a file for each rank, event by event, and all of them read.
 *
 * Threads  one.
 * Memory   setup() and teardown() around each test.
 * Errors   fail the test.
 * Units    us.
 */
#ifndef TESTS_RANKS_FILES_H
#define TESTS_RANKS_FILES_H

#include "report/ranks/ranks.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS 4

static char dir[64], path[RANKS][96], *paths[RANKS], why[512];
static struct ranks all;
static FILE *file;
static unsigned files;
static const char *distributed; /* more of a file's head */
static double clock_us; /* how far the clock of the file is ahead */

static inline void setup(void)
{
	strcpy(dir, "/tmp/ranks.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	files = 0;
	clock_us = 0;
	distributed = "";
}

static inline void teardown(void)
{
	ranks_free(&all);
}

/* ---- a file for each rank ---- */

static inline void begin_rank(unsigned rank)
{
	snprintf(path[files], sizeof(path[files]), "%s/%u.json", dir, rank);
	paths[files] = path[files];
	file = fopen(path[files++], "w");
	ck_assert_ptr_nonnull(file);
	fprintf(file,
		"{\"distributedInfo\": {\"rank\": %u, \"world_size\": 4%s},\n"
		"\"traceEvents\": [",
		rank, distributed);
}

static inline void end_rank(void)
{
	fputs("{\"ph\":\"M\",\"name\":\"end\"}]}", file);
	fclose(file);
}

static inline void slice(unsigned tid, const char *cat, const char *name, double ts,
			 double dur, const char *args)
{
	fprintf(file,
		"{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":1,\"tid\":%u,"
		"\"ts\":%.3f,\"dur\":%.3f,\"args\":{%s}},\n",
		cat, name, tid, ts + clock_us, dur, args);
}

/* A step of 1,000 us that computes first, and then waits until 900 us. */
static inline void put_step(unsigned number, double computes)
{
	double at = 1000.0 * number;
	char name[64];

	snprintf(name, sizeof(name), "ProfilerStep#%u", number);
	slice(1, "user_annotation", name, at, 1000, "");
	slice(1, "cpu_op", "aten::mm", at, computes, "");
	slice(2, "user_annotation", "gloo:all_reduce", at + computes, 900 - computes,
	      "\"External id\":7,\"Input Dims\":[[250]],\"Input type\":[\"float\"]");
}

static inline void read_all(void)
{
	ck_assert_msg(ranks_read(&all, paths, files, why, sizeof(why)), "%s", why);
}

static inline void put_rank(unsigned rank, unsigned steps, double computes, double clock)
{
	clock_us = clock;
	begin_rank(rank);
	for (unsigned i = 1; i <= steps; i++)
		put_step(i, computes);
	end_rank();
}

#endif
