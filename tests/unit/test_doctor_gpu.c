/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor says of each answer of the driver, and of what stands beside it. */
#include "tests/unit/doctor_machine.h"

/* ---- the driver ---- */

START_TEST(a_machine_in_order)
{
	ck_assert(!machine_asked(""));
	ck_printed("ok   CUDA runtime: /cuda/libcudart.so.13");
	ck_printed("ok   GPU: driver for CUDA 13.4 and older, 1 device");
	ck_printed("ok   GPU 0: NVIDIA H100, compute capability 9.0");
	ck_printed("ok   CUPTI: /cuda/libcupti.so.13, version 130001");
	ck_not_printed("its records");
	ck_printed("ok   CUPTI: nobody else has it, and it may record");
}
END_TEST

START_TEST(operators_alone_ask_nobody)
{
	struct config c;

	config_defaults(&c);
	ck_assert_ptr_null(config_set(&c, "activities", "cpu"));
	printed_begin();
	doctor_gpu(&c, "/program", "");
	ck_assert_str_eq(printed(), "note GPU: not recorded (activities = cpu)\n");
	ck_assert_ptr_null(config_set(&c, "activities", "cuda"));
	printed_begin();
	doctor_gpu(&c, "/program", "");
	ck_printed("ok   GPU 0: NVIDIA H100, compute capability 9.0");
}
END_TEST

/* More of them than there is room for, and each as it is. */
START_TEST(devices_are_told_each)
{
	answer.count = 20;
	for (unsigned i = 0; i < ASK_GPUS; i++)
		snprintf(answer.gpu[i].name, sizeof(answer.gpu[i].name), "Card %u", i);
	strcpy(answer.gpu[1].name, "NVIDIA H100 MIG 1g.10gb");
	answer.gpu[1].minor = 7;
	answer.gpu[2].mode = 2;
	answer.gpu[3].mode = 3;
	ck_assert(machine_asked(""));
	ck_printed("ok   GPU: driver for CUDA 13.4 and older, 20 devices");
	ck_printed(
		"ok   GPU 1: NVIDIA H100 MIG 1g.10gb, compute capability 0.7, a MIG instance");
	ck_printed("OFF  GPU 2: Card 2: its compute mode is prohibited; nvidia-smi -c 0");
	ck_printed(
		"ok   GPU 3: Card 3, compute capability 0.0, for one process at a time");
	ck_printed("ok   GPU 15: Card 15, compute capability 0.0");
	ck_not_printed("GPU 16");
}
END_TEST

START_TEST(no_driver_is_off_where_there_is_a_card)
{
	static const char *const nodes[] = { "/proc/driver/nvidia/version",
					     "/dev/nvidiactl", "/dev/dxg" };

	answer.stage = ASK_OPEN_DRIVER;
	strcpy(answer.error, "libcuda.so.1: no such file");
	node = nodes[_i];
	ck_assert(machine_asked(""));
	ck_printed(
		"OFF  GPU: there is a card, but no driver library (libcuda.so.1: no such file); a container needs --gpus all");
	ck_printed("ok   CUPTI: /cuda/libcupti.so.13 (not tried without a driver)");
	node = "";
	cupti = "";
	ck_assert(!machine_asked(""));
	ck_printed(
		"note GPU: no NVIDIA driver (libcuda.so.1: no such file): only what the CPU does is recorded");
	ck_not_printed("CUPTI");
	gpu_only = true;
	ck_assert(machine_asked(""));
	gpu_only = false;
	ck_printed(
		"OFF  GPU: no NVIDIA driver (libcuda.so.1: no such file): nothing would be recorded with activities = cuda");
}
END_TEST

START_TEST(a_driver_that_refuses_has_its_number_and_advice)
{
	static const struct {
		int code;
		const char *advice;
	} all[] = { { 34, "a stub library" },
		    { 100, "look at CUDA_VISIBLE_DEVICES" },
		    { 802, "the fabric manager" },
		    { 803, "the driver and its library" },
		    { 804, "the compatibility lib" },
		    { 999, "nvidia-smi may say more" },
		    { 101, "nvidia-smi may say more" } };
	char line[200];

	answer.stage = ASK_DEVICES;
	answer.init = all[_i].code;
	strcpy(answer.init_text, "its words");
	ck_assert(machine_asked(""));
	snprintf(line, sizeof(line),
		 "OFF  GPU: the driver refuses (cuInit: %d, its words); %s", all[_i].code,
		 all[_i].advice);
	ck_assert_msg(strstr(printed_text, line), "no '%s' in:\n%s", line, printed_text);
	*answer.init_text = '\0';
	ck_assert(machine_asked(""));
	ck_not_printed(", )");
	/* A driver that does not work is none to CUPTI. */
	ck_printed("ok   CUPTI: /cuda/libcupti.so.13 (not tried without a driver)");
}
END_TEST

START_TEST(a_driver_that_dies_or_hangs_is_off)
{
	answer.stage = ASK_INIT;
	answer.end = ASK_DIED;
	answer.signal = SIGSEGV;
	ck_assert(machine_asked(""));
	ck_printed(
		"OFF  GPU: a process died by signal 11 (Segmentation fault) while cuInit ran: the driver is damaged");
	answer.end = ASK_HUNG;
	answer.stage = ASK_DEVICES;
	ck_assert(machine_asked(""));
	ck_printed(
		"OFF  GPU: no answer in 40 s while devices were asked for; nvidia-smi may say more");
	answer.end = ASK_NOT_RUN;
	answer.stage = ASK_OPEN_DRIVER;
	ck_assert(!machine_asked(""));
	ck_printed("note GPU: not looked at: no process could be started");
}
END_TEST

/* ---- what else stands beside it ---- */

START_TEST(an_injected_tool_is_off_where_there_is_a_card)
{
	setenv("CUDA_INJECTION64_PATH", "/opt/other/libtool.so", 1);
	ck_assert(machine_asked(""));
	ck_printed(
		"OFF  CUDA_INJECTION64_PATH names /opt/other/libtool.so: CUPTI is left to that tool; unset it to record the GPU");
	/* What answers is a card, too. */
	node = "";
	ck_assert(machine_asked(""));
	answer.stage = ASK_OPEN_DRIVER;
	ck_assert(!machine_asked(""));
	ck_printed(
		"note CUDA_INJECTION64_PATH names /opt/other/libtool.so: it is left alone");
	setenv("CUDA_INJECTION64_PATH", "libtool.so", 1);
	ck_assert(!machine_asked(""));
	ck_printed("note CUDA_INJECTION64_PATH names libtool.so: it is left alone");
}
END_TEST

START_TEST(an_injected_agent_is_ours)
{
	setenv("CUDA_INJECTION64_PATH", "/opt/x/libproflaunch.so", 1);
	setenv("NVTX_INJECTION64_PATH", "/opt/x/libnvtx.so", 1);
	ck_assert(!machine_asked(""));
	ck_not_printed("INJECTION64_PATH");
	setenv("CUDA_INJECTION64_PATH", "", 1);
	setenv("NVTX_INJECTION64_PATH", "/x/libcupti.so.13", 1);
	ck_assert(!machine_asked(""));
	ck_not_printed("CUDA_INJECTION64_PATH");
	ck_printed(
		"note NVTX_INJECTION64_PATH names /x/libcupti.so.13: it may take CUPTI's only place; unset it if so");
}
END_TEST

START_TEST(counters_for_administrators_are_told)
{
	static const char sentence[] =
		"note counters of the GPU are for administrators only (RmProfilingAdminOnly = 1); tracing does not need them";

	params = "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\nLast: 0\n";
	ck_assert(!machine_asked(""));
	ck_printed(sentence);
	params = "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 0\nLast: 1\n";
	ck_assert(!machine_asked(""));
	ck_not_printed("counters of the GPU");
}
END_TEST

START_TEST(a_torch_with_cupti_inside_is_told)
{
	runtime = "/torch/lib/libcudart-e409450e.so.11.0";
	ck_assert(!machine_asked("/torch/lib/libtorch_cuda.so\n"));
	ck_printed(
		"note this PyTorch has a CUPTI of its own inside: while its profiler records, ours pauses");
	ck_assert(!machine_asked("/torch/lib/libcupti.so.12\n"));
	ck_not_printed("of its own inside");
	runtime = "";
	ck_assert(!machine_asked(""));
	ck_not_printed("CUDA runtime");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("doctor_gpu");

	tcase_add_checked_fixture(tc, machine_in_order, NULL);
	tcase_add_test(tc, a_machine_in_order);
	tcase_add_test(tc, operators_alone_ask_nobody);
	tcase_add_test(tc, devices_are_told_each);
	tcase_add_loop_test(tc, no_driver_is_off_where_there_is_a_card, 0, 3);
	tcase_add_loop_test(tc, a_driver_that_refuses_has_its_number_and_advice, 0, 7);
	tcase_add_test(tc, a_driver_that_dies_or_hangs_is_off);
	tcase_add_test(tc, an_injected_tool_is_off_where_there_is_a_card);
	tcase_add_test(tc, an_injected_agent_is_ours);
	tcase_add_test(tc, counters_for_administrators_are_told);
	tcase_add_test(tc, a_torch_with_cupti_inside_is_told);
	return unit_run(tc, "doctor_gpu");
}
