/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_trace - a trace as it is written again, whole or cut.
 *
 * Threads  one.
 * Memory   begin() and end() of report_trace.h around each test.
 * Errors   fail the test.
 * Units    us.
 */
#ifndef TESTS_CHROME_TRACE_H
#define TESTS_CHROME_TRACE_H

#include "report/export/chrome.h"
#include "tests/unit/report_trace.h"

static char why[1024];
static struct chrome chrome;
static struct cut_options cut = { .first = INT64_MIN, .last = INT64_MAX };

static inline void write_file(char *path, const char *bytes, size_t n)
{
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, n), n);
	close(fd);
}

/* Each of these traces, in one file; NULL: the last was refused. */
static inline const char *written_all(const char *const *traces, unsigned n)
{
	FILE *out;
	bool fine = true;

	free(said);
	out = open_memstream(&said, &said_len);
	chrome_begin(&chrome, &cut, n > 1, out);
	for (unsigned i = 0; i < n; i++) {
		char path[] = "/tmp/report_chrome.XXXXXX";

		write_file(path, traces[i], strlen(traces[i]));
		fine = chrome_add(&chrome, path, why, sizeof(why));
		unlink(path);
	}
	fine &= chrome_end(&chrome);
	fclose(out);
	return fine ? said : NULL;
}

static inline const char *written(const char *trace)
{
	const char *const one[] = { trace };

	return written_all(one, 1);
}

/* Ends the trace that was begun; what is cut out of it. */
static inline const char *cut_out(void)
{
	if (file) {
		fputs("{\"ph\":\"M\",\"name\":\"end\"}]}", file);
		fclose(file);
		file = NULL;
	}
	return written(text);
}

static inline bool has_part(const char *word)
{
	return said && strstr(said, word);
}

#endif
