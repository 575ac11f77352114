/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice_trace - a trace of equal steps, event by event, and the advice for it.
 *
 * Threads  one.
 * Memory   advise() or advise_text() makes, advised_end() frees.
 * Errors   fail the test.
 * Units    us; step i is [at(i, 0), at(i + 1, 0)).
 */
#ifndef TESTS_ADVICE_TRACE_H
#define TESTS_ADVICE_TRACE_H

#include "report/advice/evidence.h"
#include "tests/unit/report_trace.h"

#define EVERYTHING                                                                   \
	(WANT(SLICE_OP) | WANT(SLICE_NOTE) | WANT(SLICE_PYTHON) | WANT(SLICE_CALL) | \
	 WANT(SLICE_DEVICE) | WANT(SLICE_DEVICE_NOTE) | WANT_DETAILS)
#define STEPS 5u

static struct advices advices;
static struct evidence evidence;
static struct steps steps;
static struct devices devices;
static struct operators operators;
static struct kernels kernels;
static double length; /* of a step */
static unsigned number; /* the next correlation */

static inline double at(unsigned i, double us)
{
	return 1000 + i * length + us;
}

/* Begins a file with a GPU of compute capability `cc` (80 = 8.0) and 1 GB; 0: without. */
static inline void begin_gpu(double step_length, int cc)
{
	file = open_memstream(&text, &text_len);
	length = step_length;
	number = 0;
	fputs("{", file);
	if (cc)
		fprintf(file,
			"\"deviceProperties\":[{\"id\":0,\"name\":\"G\",\"totalGlobalMem\":"
			"1000000000,\"computeMajor\":%d,\"computeMinor\":%d,\"numSms\":8}],",
			cc / 10, cc % 10);
	fputs("\"traceEvents\":[", file);
}

static inline void steps_of(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		step(i, at(i, 0), length);
}

static inline void note(const char *name, double ts, double dur)
{
	slice(1, "user_annotation", name, ts, dur, "");
}

/* GPU work that begins `lag` behind its call, which takes 1 us. */
static inline void work_of(const char *cat, const char *name, const char *call, double ts,
			   double dur, double lag, const char *more)
{
	char args[256];

	number++;
	snprintf(args, sizeof(args), "\"correlation\":%u,\"External id\":%u", number,
		 number);
	slice(1, "cpu_op", "aten::mm", ts - lag - 1.2, 1.3, args);
	slice(1, "cuda_runtime", call, ts - lag - 1, 1, args);
	snprintf(args, sizeof(args),
		 "\"correlation\":%u,\"External id\":%u,\"device\":0,\"stream\":7%s",
		 number, number, more);
	fprintf(file,
		"{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":0,\"tid\":7,"
		"\"ts\":%.3f,\"dur\":%.3f,\"args\":{%s}},\n",
		cat, name, ts, dur, args);
}

static inline void kernel(const char *name, double ts, double dur, double lag)
{
	work_of("kernel", name, "cudaLaunchKernel", ts, dur, lag, "");
}

static inline void call(const char *name, double ts, double dur)
{
	slice(1, "cuda_runtime", name, ts, dur, "");
}

static inline void advise_file(const char *path)
{
	char why[512];

	ck_assert_msg(!model_read(&model, path, EVERYTHING, why, sizeof(why)), "%s", why);
	ck_assert(steps_make(&steps, &model));
	ck_assert(devices_make(&devices, &model, &steps));
	ck_assert(kernels_make(&kernels, &model, INT64_MIN, INT64_MAX));
	ck_assert(operators_make(&operators, &model, OPERATORS_BY_NAME, INT64_MIN,
				 INT64_MAX));
	ck_assert(
		evidence_make(&evidence, &model, &steps, &devices, &operators, &kernels));
	ck_assert(advice_make(&advices, &evidence));
}

static inline void advise_text(const char *trace, size_t len)
{
	char path[] = "/tmp/report_advice.XXXXXX";
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, trace, len), len);
	close(fd);
	advise_file(path);
	unlink(path);
}

static inline void advise(void)
{
	fputs("{\"ph\":\"M\",\"name\":\"end\"}]}", file);
	fclose(file);
	advise_text(text, text_len);
	free(text);
	text = NULL;
}

static inline void advised_end(void)
{
	operators_free(&operators);
	kernels_free(&kernels);
	devices_free(&devices);
	steps_free(&steps);
	model_free(&model);
}

/* NULL: it says nothing. */
static inline const struct advice *told(const char *rule)
{
	for (unsigned i = 0; i < advices.n; i++)
		if (!strcmp(advices.row[i].rule, rule))
			return &advices.row[i];
	return NULL;
}

static inline bool is_silent(const char *rule)
{
	for (unsigned i = 0; i < advices.silent_n; i++)
		if (!strcmp(advices.silent[i].rule, rule))
			return true;
	return false;
}

/* ---- tables: a rule, a trace with a knob, and where it turns ---- */

struct turn {
	const char *rule;
	void (*make)(double knob);
	double off, on; /* says nothing, speaks */
};

static inline void check_turn(const struct turn *t)
{
	t->make(t->off);
	advise();
	ck_assert_msg(!told(t->rule), "%s speaks at %g: %s", t->rule, t->off,
		      told(t->rule) ? told(t->rule)->seen : "");
	advised_end();
	t->make(t->on);
	advise();
	ck_assert_msg(told(t->rule) != NULL, "%s says nothing at %g", t->rule, t->on);
	ck_assert(*told(t->rule)->seen && *told(t->rule)->why && *told(t->rule)->act);
	advised_end();
}

#endif
