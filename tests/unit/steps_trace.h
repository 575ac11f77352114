/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_trace - a trace event by event, and its steps and devices.
 *
 * Threads  one.
 * Memory   begin() and done() around each test.
 * Errors   fail the test.
 * Units    us; of what is asked, ns.
 */
#ifndef TESTS_STEPS_TRACE_H
#define TESTS_STEPS_TRACE_H

#include "report/figures/devices.h"
#include "tests/unit/report_trace.h"

static struct steps steps;
static struct devices devices;

static inline void done(void)
{
	steps_free(&steps);
	devices_free(&devices);
	end();
}

/* A call, and the kernel that it launches; `work`: its category. */
static inline void launch(unsigned correlation, double ts, const char *work, double at,
			  double dur)
{
	char args[128];

	snprintf(args, sizeof(args), "\"correlation\":%u,\"External id\":7", correlation);
	slice(1, "cuda_runtime", "cudaLaunchKernel", ts, 1, args);
	snprintf(args, sizeof(args), "\"correlation\":%u,\"device\":0,\"stream\":7",
		 correlation);
	slice(7, work, "gemm", at, dur, args);
}

/* Ends the trace, and makes its figures. */
static inline void figure(void)
{
	unsigned want = WANT(SLICE_OP) | WANT(SLICE_NOTE) | WANT(SLICE_PYTHON) |
			WANT(SLICE_CALL) | WANT(SLICE_DEVICE) | WANT(SLICE_DEVICE_NOTE) |
			WANT_DETAILS;
	char path[] = "/tmp/report_steps.XXXXXX", why[512];
	int fd = mkstemp(path);

	fputs("{\"ph\":\"M\",\"name\":\"end\"}]}", file);
	fclose(file);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, text_len), text_len);
	close(fd);
	ck_assert_msg(!model_read(&model, path, want, why, sizeof(why)), "%s", why);
	unlink(path);
	ck_assert(steps_make(&steps, &model));
	ck_assert(devices_make(&devices, &model, &steps));
}

/* Where a step lies, in us. */
static inline void lies(size_t step, double begin, double end)
{
	ck_assert_uint_lt(step, steps.n);
	ck_assert_int_eq(steps.row[step].begin, (int64_t)(begin * 1000));
	ck_assert_int_eq(steps.row[step].end, (int64_t)(end * 1000));
}

/* What share a step has, in us. */
static inline void has(size_t step, enum share share, double us)
{
	ck_assert_uint_lt(step, steps.n);
	ck_assert_msg(steps.row[step].share[share] == (int64_t)(us * 1000),
		      "%s of step %zu: %lld", share_names[share], step,
		      (long long)steps.row[step].share[share]);
}

#endif
