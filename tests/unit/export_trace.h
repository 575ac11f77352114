/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_trace - a trace event by event, and what is exported of it.
 *
 * Threads  one.
 * Memory   begin() and end() of report_trace.h around each test.
 * Errors   fail the test.
 * Units    us.
 */
#ifndef TESTS_EXPORT_TRACE_H
#define TESTS_EXPORT_TRACE_H

#include "report/export/export.h"
#include "tests/unit/report_trace.h"

static struct export_found found;
static char why[512];

/* Exports a file; false: it could not be read. */
static inline bool export_file(const char *path, enum export_format format,
			       enum export_by by)
{
	static struct export x;
	FILE *out;
	bool fine;

	free(said);
	out = open_memstream(&said, &said_len);
	export_begin(&x, format, by, out);
	fine = export_add(&x, path, &found, why, sizeof(why));
	ck_assert(export_end(&x, fine && found.values));
	fclose(out);
	return fine;
}

/* Ends the trace, and exports it. */
static inline const char *exported(enum export_format format, enum export_by by)
{
	char path[] = "/tmp/report_export.XXXXXX";
	int fd = mkstemp(path);

	if (file) {
		fputs("{\"ph\":\"M\",\"name\":\"end\"}]}", file);
		fclose(file);
		file = NULL;
	}
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, text_len), text_len);
	close(fd);
	ck_assert_msg(export_file(path, format, by), "%s", why);
	unlink(path);
	return said;
}

static inline void python(const char *name, double ts, double dur)
{
	slice(1, "python_function", name, ts, dur, "");
}

static inline void op_with(const char *name, double ts, double dur, const char *args)
{
	slice(1, "cpu_op", name, ts, dur, args);
}

#endif
