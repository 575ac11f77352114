/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pstats_trace - a trace event by event, and the file of cProfile's that is made of it.
 *
 * Threads  one.
 * Memory   begin() and drop_trace() around each test.
 * Errors   fail the test.
 * Units    us.
 */
#ifndef TESTS_PSTATS_TRACE_H
#define TESTS_PSTATS_TRACE_H

#include "report/export/pstats.h"
#include "tests/unit/marshal_read.h"
#include "tests/unit/report_trace.h"

static struct pstats pstats;
static struct pstats_found found;
static struct cut_options options;
static char why[512], *bytes;
static size_t bytes_len;

static inline void call(unsigned tid, const char *name, double ts, double dur)
{
	slice(tid, "python_function", name, ts, dur, "");
}

static inline bool add_file(const char *path)
{
	pstats.options = &options;
	return pstats_add(&pstats, path, &found, why, sizeof(why));
}

/* Adds the trace, and begins the next one. */
static inline bool add_trace(void)
{
	char path[] = "/tmp/report_pstats.XXXXXX";
	int fd = mkstemp(path);
	bool fine;

	fputs("{\"ph\":\"M\",\"name\":\"end\"}]}", file);
	fclose(file);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, text_len), text_len);
	close(fd);
	fine = add_file(path);
	unlink(path);
	free(text);
	begin();
	return fine;
}

/* What the file says, as Python prints it. */
static inline const char *written(void)
{
	FILE *out = open_memstream(&bytes, &bytes_len);

	ck_assert(pstats_end(&pstats, out));
	fclose(out);
	free(said);
	out = open_memstream(&said, &said_len);
	marshal_read(bytes, bytes_len, out);
	fclose(out);
	free(bytes);
	return said;
}

static inline void drop_trace(void)
{
	callers_free(&pstats.callers);
	pstats.operators = false;
	options = (struct cut_options){ 0 };
	fclose(file);
	end();
}

#endif
