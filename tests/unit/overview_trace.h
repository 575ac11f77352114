/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_trace - a trace event by event, and the views of it.
 *
 * Threads  one.
 * Memory   begin() and done() around each test.
 * Errors   fail the test.
 * Units    us.
 */
#ifndef TESTS_OVERVIEW_TRACE_H
#define TESTS_OVERVIEW_TRACE_H

#include "report/view/overview.h"
#include "report/view/view.h"
#include "tests/unit/report_trace.h"

#include <stdlib.h>

static struct subject subject;
static struct screen screen;
static bool made;
static char why[1024];

/* Ends the trace, and makes its figures. */
static inline bool subject_of(const struct subject_options *o)
{
	char path[] = "/tmp/report_overview.XXXXXX";
	int fd = mkstemp(path);

	fputs("{\"ph\":\"M\",\"name\":\"end\"}]}", file);
	fclose(file);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, text_len), text_len);
	close(fd);
	made = subject_make(&subject, path, o, why, sizeof(why));
	subject.path = "x.json";
	unlink(path);
	return made;
}

static inline const char *shown(const struct view_order *o)
{
	FILE *out;

	free(said);
	out = open_memstream(&said, &said_len);
	screen = (struct screen){ .out = out, .width = 80, .utf8 = true };
	ck_assert_msg(view_print(&subject, o, &screen, why, sizeof(why)), "%s", why);
	fclose(out);
	return said;
}

static inline void done(void)
{
	if (made)
		subject_free(&subject);
	made = false;
	free(text);
	free(said);
	text = said = NULL;
}

static const struct subject_options all = { .first = INT64_MIN, .last = INT64_MAX };
static const struct view_order overview = { .view = VIEW_OVERVIEW };

/* Four steps of 100 ms; half of each is one operator. */
static inline void four_steps(const char *name)
{
	for (unsigned i = 0; i < 4; i++) {
		step(i + 3, 1000 + i * 100000, 100000);
		op(name, 2000 + i * 100000, 50000);
	}
}

#endif
