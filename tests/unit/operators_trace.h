/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operators_trace - a trace event by event, and its operators and kernels.
 *
 * Threads  one.
 * Memory   begin() and finish() around each test.
 * Errors   fail the test.
 * Units    us in the trace; ns in what is found.
 */
#ifndef TESTS_OPERATORS_TRACE_H
#define TESTS_OPERATORS_TRACE_H

#include "report/figures/kernels.h"
#include "report/figures/operators.h"
#include "tests/unit/report_trace.h"

static struct operators found;
static struct kernels kernels;

/* Ends the trace, and reads all of it. */
static inline void read_model(void)
{
	char path[] = "/tmp/report_operators.XXXXXX", why[512];
	int fd = mkstemp(path);

	fputs("{\"ph\":\"M\",\"name\":\"end\"}]}", file);
	fclose(file);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, text_len), text_len);
	close(fd);
	ck_assert_msg(!model_read(&model, path,
				  WANT(SLICE_OP) | WANT(SLICE_NOTE) | WANT(SLICE_PYTHON) |
					  WANT(SLICE_CALL) | WANT(SLICE_DEVICE) |
					  WANT(SLICE_DEVICE_NOTE) | WANT_DETAILS,
				  why, sizeof(why)),
		      "%s", why);
	unlink(path);
}

static inline void operators_of(enum operators_by by, int64_t from, int64_t to)
{
	read_model();
	ck_assert(operators_make(&found, &model, by, from, to));
}

static inline void all_operators(void)
{
	operators_of(OPERATORS_BY_NAME, INT64_MIN, INT64_MAX);
}

static inline void all_kernels(void)
{
	read_model();
	ck_assert(kernels_make(&kernels, &model, INT64_MIN, INT64_MAX));
}

static inline void finish(void)
{
	operators_free(&found);
	kernels_free(&kernels);
	end();
}

/* The row's name, or "". */
static inline const char *row_name(size_t i)
{
	return i < found.n ? texts_get(&model.texts, found.row[i].name) : "";
}

/* How many rows there are of a name, of a kind or (-1) of any; *r is the last. */
static inline unsigned rows_of(const char *name, int kind,
			       const struct operator_figures **r)
{
	unsigned n = 0;

	for (size_t i = 0; i < found.n; i++) {
		if (strcmp(row_name(i), name) || (kind >= 0 && found.row[i].kind != kind))
			continue;
		*r = &found.row[i];
		n++;
	}
	return n;
}

static inline const struct operator_figures *operator_of(const char *name, int kind)
{
	const struct operator_figures *r = NULL;

	ck_assert_msg(rows_of(name, kind, &r) == 1, "rows of %s", name);
	return r;
}

static inline const struct kernel_figures *kernel(const char *name)
{
	for (size_t i = 0; i < kernels.n; i++)
		if (!strcmp(texts_get(&model.texts, kernels.row[i].name), name))
			return &kernels.row[i];
	ck_abort_msg("no kernel %s", name);
	return NULL;
}

#endif
