/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor says of each answer of CUPTI. */
#include "tests/unit/doctor_machine.h"

/* ---- CUPTI ---- */

START_TEST(a_cupti_that_dies_or_hangs_is_named)
{
	static const struct {
		enum ask_stage stage;
		const char *doing;
	} all[] = { { ASK_OPEN_CUPTI, "it was opened" },
		    { ASK_VERSION, "it was asked for its version" },
		    { ASK_STRIDES, "it was asked for its record sizes" },
		    { ASK_SUBSCRIBE, "subscribing" },
		    { ASK_ENABLE, "it was told to record kernels" },
		    { ASK_DONE, "it was let go" } };
	char line[300];

	answer.stage = all[_i].stage;
	answer.end = ASK_DIED;
	answer.signal = SIGABRT;
	ck_assert(machine_asked(""));
	snprintf(
		line, sizeof(line),
		"OFF  CUPTI: /cuda/libcupti.so.13: a process died by signal 6 (Aborted) while %s; install another version",
		all[_i].doing);
	ck_printed(line);
	ck_printed("ok   GPU 0: NVIDIA H100, compute capability 9.0");
	answer.end = ASK_HUNG;
	ck_assert(machine_asked(""));
	snprintf(
		line, sizeof(line),
		"OFF  CUPTI: /cuda/libcupti.so.13: no answer in 40 s while %s; install another version",
		all[_i].doing);
	ck_printed(line);
}
END_TEST

START_TEST(a_cupti_that_cannot_be_opened_says_why)
{
	answer.stage = ASK_OPEN_CUPTI;
	strcpy(answer.error, "file too short");
	ck_assert(machine_asked(""));
	ck_printed("OFF  CUPTI: file too short");
	ck_not_printed("version 130001");
}
END_TEST

START_TEST(a_cupti_that_is_not_there)
{
	static const struct {
		int major;
		const char *package;
	} all[] = { { 13, "nvidia-cuda-cupti " },
		    { 12, "nvidia-cuda-cupti-cu12 " },
		    { 11, "nvidia-cuda-cupti-cu11 " },
		    { 0, "nvidia-cuda-cupti " } };

	cupti = "";
	runtime_major = all[_i].major;
	ck_assert(machine_asked(""));
	ck_assert_ptr_nonnull(strstr(printed_text, "\nOFF  CUPTI: not found: install "));
	ck_assert_ptr_nonnull(strstr(printed_text, all[_i].package));
	stray = "/opt/cupti/libcupti.so.13";
	ck_assert(machine_asked(""));
	ck_printed(
		"OFF  CUPTI: /opt/cupti/libcupti.so.13 is where neither the program nor the loader looks: add its folder to LD_LIBRARY_PATH");
	/* Without a driver it is all the same. */
	answer.stage = ASK_OPEN_DRIVER;
	node = "";
	ck_assert(!machine_asked(""));
	ck_not_printed("CUPTI");
}
END_TEST

START_TEST(each_refusal_of_cuptis_has_its_advice)
{
	static const struct {
		int code;
		const char *advice;
	} all[] = { { 15, "this CUPTI is newer" }, { 39, "another profiler has" },
		    { 35, "no permission" },       { 40, "no permission" },
		    { 41, "this kind of GPU" },    { 45, "this kind of GPU" },
		    { 1, "cuda_estimate = on" } };
	char line[200];

	answer.subscribe = all[_i].code;
	ck_assert(machine_asked(""));
	snprintf(line, sizeof(line), "OFF  CUPTI cannot be had (subscribe: %d): %s",
		 all[_i].code, all[_i].advice);
	ck_assert_msg(strstr(printed_text, line), "no '%s' in:\n%s", line, printed_text);
	answer.subscribe = 0;
	answer.enable = all[_i].code;
	ck_assert(machine_asked(""));
	snprintf(line, sizeof(line), "OFF  CUPTI does not record kernels (%d): %s",
		 all[_i].code, all[_i].advice);
	ck_assert_msg(strstr(printed_text, line), "no '%s' in:\n%s", line, printed_text);
	ck_not_printed("it may record");
}
END_TEST

START_TEST(sizes_that_are_not_told_are_no_zeros)
{
	memset(answer.stride, 0, sizeof(answer.stride));
	ck_assert(!machine_asked(""));
	ck_printed("note CUPTI: it does not tell the sizes of its records");
}
END_TEST

/* Whether MPS is there is asked before what is refused under it. */
START_TEST(what_is_not_used_under_mps)
{
	char dir[] = "/tmp/unit-XXXXXX", control[64], line[160];
	int fd;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(control, sizeof(control), "%s/control", dir);
	fd = open(control, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	setenv("CUDA_MPS_PIPE_DIRECTORY", dir, 1);
	answer.version = 130000;
	answer.driver = 13000;
	ck_assert(machine_asked(""));
	snprintf(line, sizeof(line),
		 "note MPS: %s is there: each process records its own work", control);
	ck_printed(line);
	ck_assert_ptr_nonnull(
		strstr(printed_text, "\nOFF  CUPTI is not used: under MPS"));
	setenv("CUDA_MPS_PIPE_DIRECTORY", "/nowhere", 1);
	ck_assert(!machine_asked(""));
	ck_assert_ptr_nonnull(
		strstr(printed_text, "\nnote CUPTI: CUPTI 13.0 without its"));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("doctor_cupti");

	tcase_add_checked_fixture(tc, machine_in_order, NULL);
	tcase_add_loop_test(tc, a_cupti_that_dies_or_hangs_is_named, 0, 6);
	tcase_add_test(tc, a_cupti_that_cannot_be_opened_says_why);
	tcase_add_loop_test(tc, a_cupti_that_is_not_there, 0, 4);
	tcase_add_loop_test(tc, each_refusal_of_cuptis_has_its_advice, 0, 7);
	tcase_add_test(tc, sizes_that_are_not_told_are_no_zeros);
	tcase_add_test(tc, what_is_not_used_under_mps);
	return unit_run(tc, "doctor_cupti");
}
