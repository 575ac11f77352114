/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cupti_bench.h"
#include "tests/unit/said.h"

#include <unistd.h>

/* What CUPTI does not do, and what is in the way. */

static void launches(unsigned n)
{
	while (n--)
		bench_launch("_Z3addPf");
}

static const char *const errors[] = {
	"cuptiSubscribe=39",
	"cuptiSubscribe=35",
	"cuptiSubscribe=999",
	"cuptiSubscribe=15",
	"cuptiGetVersion=999",
	"cuptiSetThreadIdType=999",
	"cuptiActivityRegisterCallbacks=1",
	"cuptiActivityEnable/10=35",
	"cuptiActivityEnable=999",
	"cuptiActivityEnableRuntimeApi=999",
	"cuptiActivityEnableDriverApi=15",
	"cuptiActivityFlushAll=999",
};
#define ERRORS ((int)(sizeof(errors) / sizeof(*errors)))

/* One line, hooks are asked to take over, windows are not held up, the program works. */
START_TEST(errors_are_told_once)
{
	char text[4096] = "", path[] = "/tmp/test_cupti_XXXXXX";
	int fd = mkstemp(path), saved = dup(2);
	struct cycle_info *info;
	unsigned lines = 0;

	unlink(path);
	bench_spool();
	setenv("FAKE_ERROR", errors[_i], 1);
	bench_libraries("13.1");
	dup2(fd, 2);
	bench_begin_session();
	for (unsigned i = 0; i < 3; i++) {
		info = bench_open();
		bench_launch("_Z3addPf");
		bench_seal(info, true);
		if (atomic_load(&info->cuda_state) == CUDA_PENDING)
			bench_settles(info, 3000);
		ck_assert_uint_ne(atomic_load(&info->cuda_state), CUDA_PENDING);
	}
	dup2(saved, 2);
	ck_assert_int_ge(pread(fd, text, sizeof(text) - 1, 0), 0);
	for (char *p = text; *p; p++)
		lines += *p == '\n';
	ck_assert_msg(lines == 1, "%s: %s", errors[_i], text);
	ck_assert_msg(strstr(text, "the GPU is not recorded"), "%s", text);
	ck_assert(!cupti_active());
	if (strstr(errors[_i], "=39")) { /* it may go again */
		ck_assert_int_eq(atomic_load(&session.state), SESSION_ASIDE);
		ck_assert_uint_eq(bench_count(info, CUDA_GAPS), 1);
	} else {
		ck_assert_uint_eq(bench.estimate, 1);
	}
}
END_TEST

static const char *const harmless[] = {
	"cuptiActivitySetAttribute=999",         "cuptiActivityEnable/17=21",
	"cuptiActivityEnableAndDump=999",        "cuptiGetTimestamp=999",
	"cuptiActivityGetNumDroppedRecords=999", "cuptiEnableCallback=1",
	"cuptiActivityGetNextRecord=999",        "cuptiActivityDisable=999",
};
#define HARMLESS ((int)(sizeof(harmless) / sizeof(*harmless)))

START_TEST(what_can_be_done_without)
{
	struct cycle_info *info;

	bench_spool();
	setenv("FAKE_ERROR", harmless[_i], 1);
	bench_libraries("13.1");
	bench_begin_session();
	ck_assert(cupti_active());
	info = bench_open();
	launches(5);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 3000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 5);
	ck_assert_uint_eq(bench_records(info, REC_CALL), 5);
	ck_assert(cupti_active());
}
END_TEST

START_TEST(another_tool_is_named)
{
	bench_spool();
	setenv("FAKE_OWNER", "CUPTI for nsys", 1);
	bench_libraries("13.0");
	bench_begin_session();
	ck_assert(!cupti_active());
	ck_assert(strstr(session.why, "CUPTI for nsys"));
}
END_TEST

/* It may call itself anything; the line goes to a terminal. */
START_TEST(another_tools_name_is_plain_text)
{
	bench_spool();
	setenv("FAKE_OWNER", "a \033[31mred\a\177 tool", 1);
	bench_libraries("13.0");
	said_start();
	bench_begin_session();
	ck_assert_ptr_null(strpbrk(said(), "\033\a\177"));
	ck_assert_ptr_nonnull(strstr(session.why, "a ?[31mred?? tool"));
}
END_TEST

/* What it was asked for is not there, and the rest is recorded. */
START_TEST(an_option_that_cupti_refuses_is_told)
{
	bench_spool();
	setenv("FAKE_ERROR", "cuptiActivityEnableLatencyTimestamps=999", 1);
	bench_libraries("13.1");
	bench.config.cuda_latency = _i != 0;
	said_start();
	bench_begin_session();
	ck_assert(cupti_active());
	ck_assert_int_eq(
		!!strstr(said(),
			 "cuda_latency: when kernels were queued is not recorded: "
			 "cuptiActivityEnableLatencyTimestamps gives "),
		_i);
}
END_TEST

START_TEST(another_tool_in_the_variable)
{
	static const struct cupti_actions actions = { bench_begin, bench_used,
						      bench_settled, bench_estimate };

	bench_spool();
	bench_libraries("13.0");
	setenv("CUDA_INJECTION64_PATH", "/opt/other.so", 1);
	cupti_start(&bench.config, &actions, "/nowhere/libproflaunch.so");
	ck_assert_str_eq(getenv("CUDA_INJECTION64_PATH"), "/opt/other.so");
	unsetenv("CUDA_INJECTION64_PATH");
	ck_assert_int_eq(bench.init(0), 0);
	cupti_driver_ready();
	ck_assert(!cupti_active());
	ck_assert(strstr(session.why, "/opt/other.so"));
}
END_TEST

START_TEST(the_variable_is_set)
{
	static const struct cupti_actions actions = { bench_begin, bench_used,
						      bench_settled, bench_estimate };
	size_t n = 0;

	while (environ[n])
		n++;
	unsetenv("CUDA_INJECTION64_PATH");
	bench_spool();
	bench.config.activities = ACTIVITIES_CPU;
	cupti_start(&bench.config, &actions, "/here/libproflaunch.so");
	ck_assert(!getenv("CUDA_INJECTION64_PATH"));
	bench.config.activities = ACTIVITIES_BOTH;
	cupti_start(&bench.config, &actions, "/here/libproflaunch.so");
	ck_assert_str_eq(getenv("CUDA_INJECTION64_PATH"), "/here/libproflaunch.so");
	setenv("AFTER", "1", 1); /* glibc copes with an environment of ours */
	ck_assert_str_eq(getenv("AFTER"), "1");
	ck_assert_str_eq(getenv("CUDA_INJECTION64_PATH"), "/here/libproflaunch.so");
}
END_TEST

START_TEST(attached_late)
{
	struct cycle_info *info;

	bench_spool();
	bench_libraries("12.4");
	session.wanted = true;
	session.config = &bench.config;
	session.act = (struct cupti_actions){ bench_begin, bench_used, bench_settled,
					      bench_estimate };
	ck_assert_int_eq(bench.init(0), 0);
	launches(3);
	cupti_driver_ready();
	cupti_driver_ready();
	ck_assert(cupti_active());
	info = bench_open();
	launches(3);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 3000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 3);
	ck_assert_uint_eq(bench_records(info, REC_GPU), 1);
	ck_assert(strstr(spool.head->facts, "\"attached\": \"late\""));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("errors");

	tcase_add_loop_test(tc, errors_are_told_once, 0, ERRORS);
	tcase_add_loop_test(tc, what_can_be_done_without, 0, HARMLESS);
	tcase_add_test(tc, another_tool_is_named);
	tcase_add_test(tc, another_tools_name_is_plain_text);
	tcase_add_loop_test(tc, an_option_that_cupti_refuses_is_told, 0, 2);
	tcase_add_test(tc, another_tool_in_the_variable);
	tcase_add_test(tc, the_variable_is_set);
	tcase_add_test(tc, attached_late);
	return unit_run(tc, "what CUPTI does not do");
}
