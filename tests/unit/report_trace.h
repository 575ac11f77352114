/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_trace - a trace event by event, and what the report says of it.
 *
 * Threads  one.
 * Memory   begin() and end() around each test; end() frees what was said.
 * Errors   fail the test.
 * Units    us.
 */
#ifndef TESTS_REPORT_TRACE_H
#define TESTS_REPORT_TRACE_H

#include "report/memory/memory.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <unistd.h>

static struct model model;
static struct memory_view view;
static char *text, *said;
static size_t text_len, said_len;
static FILE *file;

/* ---- a trace, event by event ---- */

static inline void begin(void)
{
	file = open_memstream(&text, &text_len);
	fputs("{\"traceEvents\":[", file);
}

static inline void end(void)
{
	memory_free(&view);
	model_free(&model);
	free(text);
	free(said);
	text = said = NULL;
}

static inline void slice(unsigned tid, const char *cat, const char *name, double ts,
			 double dur, const char *args)
{
	fprintf(file,
		"{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":1,\"tid\":%u,"
		"\"ts\":%.3f,\"dur\":%.3f,\"args\":{%s}},\n",
		cat, name, tid, ts, dur, args);
}

static inline void op(const char *name, double ts, double dur)
{
	slice(1, "cpu_op", name, ts, dur, "");
}

static inline void step(long number, double ts, double dur)
{
	char name[64];

	snprintf(name, sizeof(name), "ProfilerStep#%ld", number);
	slice(1, "user_annotation", name, ts, dur, "");
}

static inline void memory_of(unsigned tid, int type, int device, double ts,
			     unsigned long addr, long bytes, long total)
{
	fprintf(file,
		"{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":%u,\"ts\":%.3f,"
		"\"args\":{\"Addr\":%lu,\"Bytes\":%ld,\"Total Allocated\":%ld,"
		"\"Total Reserved\":0,\"Device Type\":%d,\"Device Id\":%d}},\n",
		tid, ts, addr, bytes, total, type, device);
}

static inline void memory(double ts, unsigned long addr, long bytes)
{
	memory_of(1, 0, -1, ts, addr, bytes, 0);
}

/* What stands before the events instead: "proflaunch". */
static inline void ours(const char *members)
{
	rewind(file);
	fprintf(file, "{\"proflaunch\":{%s},\"traceEvents\":[", members);
}

static inline void look_from(int64_t first, int64_t last)
{
	struct memory_options o = { .top = 10, .depth = 3, .first = first, .last = last };
	char path[] = "/tmp/report_tables.XXXXXX", why[512];
	int fd = mkstemp(path);

	fputs("{\"ph\":\"M\",\"name\":\"end\"}]}", file);
	fclose(file);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, text_len), text_len);
	close(fd);
	ck_assert_msg(!model_read(&model, path,
				  WANT(SLICE_OP) | WANT(SLICE_NOTE) | WANT(SLICE_PYTHON),
				  why, sizeof(why)),
		      "%s", why);
	unlink(path);
	ck_assert(memory_make(&view, &model, &o));
}

static inline void look(void)
{
	look_from(INT64_MIN, INT64_MAX);
}

static inline const char *printed(void)
{
	FILE *out = open_memstream(&said, &said_len);

	memory_print(&view, "x", out);
	fclose(out);
	return said;
}

static inline const char *as_json(void)
{
	FILE *out = open_memstream(&said, &said_len);

	memory_json(&view, "x", out);
	fclose(out);
	return said;
}

static inline int judged(unsigned steps, int64_t growth)
{
	FILE *out;
	int status;

	free(said);
	out = open_memstream(&said, &said_len);
	status = leaks_print(&view, &(struct leak_options){ steps, growth }, "x", out);

	fclose(out);
	return status;
}

static inline void says(const char *all, const char *part)
{
	ck_assert_msg(strstr(all, part) != NULL, "no \"%s\" in\n%s", part, all);
}

static inline const struct memory_row *row(const struct memory_table *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->rows[i].label != TEXT_NONE &&
		    !strcmp(texts_get(&model.texts, t->rows[i].label), name))
			return &t->rows[i];
	ck_abort_msg("no row %s", name);
	return NULL;
}

#endif
