/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor says of the program, the agent, PyTorch, the directories and the kernel. */
#include "tests/unit/doctor_bench.h"

/* ---- the program and the agent ---- */

START_TEST(a_program_in_order)
{
	ck_assert_int_eq(doctor(), 0);
	ck_printed("ok   program: /bin/train");
	ck_printed("ok   agent: " AGENT " can be preloaded");
	ck_not_printed("kernel:");
	ck_printed(
		"Nothing is off: what is recorded depends on what the program loads or starts.");
	ck_printed("ok   records lie in /spool (as the test says)");
	ck_assert_uint_eq(mallocs, 1);
}
END_TEST

START_TEST(a_program_that_is_not_there)
{
	target_error = -ENOENT;
	ck_assert_int_eq(doctor(), 1);
	ck_printed("OFF  program: train: command not found");
	ck_not_printed("agent:");
	target_error = -EACCES;
	ck_assert_int_eq(doctor(), 1);
	ck_printed("OFF  program: train: Permission denied");
}
END_TEST

START_TEST(a_program_that_cannot_be_preloaded)
{
	strcpy(target.why, "is static");
	target.advice = "link it";
	ck_assert_int_eq(doctor(), 1);
	ck_printed("OFF  program: /bin/train is static; link it");
	ck_not_printed("agent:");
	*target.why = '\0';
	strcpy(target.path, "/bin/script");
	ck_assert_int_eq(doctor(), 0);
	ck_printed("ok   program: /bin/script, run by /bin/train");
}
END_TEST

START_TEST(an_agent_that_cannot_be_preloaded)
{
	agent = "";
	ck_assert_int_eq(doctor(), 1);
	ck_assert_ptr_nonnull(
		strstr(printed_text, "OFF  agent: libproflaunch.so is neither"));
	agent = _i ? "/a b/libproflaunch.so" : "/a:b/libproflaunch.so";
	loaded = agent;
	ck_assert_int_eq(doctor(), 1);
	ck_assert_ptr_nonnull(
		strstr(printed_text, "a blank or a colon cannot be preloaded"));
	ck_assert_uint_eq(mallocs, 0);
}
END_TEST

START_TEST(what_the_loader_says_of_the_agent)
{
	loaded = AGENT ": version `GLIBC_2.28' not found\nmore\n";
	ck_assert_int_eq(doctor(), 1);
	ck_printed(
		"OFF  agent: " AGENT
		" cannot be preloaded: version `GLIBC_2.28' not found; the C library must be glibc 2.28 or newer");
	loaded = AGENT "\nERROR: ld.so: object cannot be preloaded\nmore\n";
	ck_assert_int_eq(doctor(), 1);
	ck_printed(
		"OFF  agent: " AGENT
		" cannot be preloaded: ERROR: ld.so: object cannot be preloaded; the C library must be glibc 2.28 or newer");
	loaded = "libc.so.6\n";
	ck_assert_int_eq(doctor(), 1);
	ck_printed(
		"OFF  agent: " AGENT
		" cannot be preloaded: the loader does not take it; the C library must be glibc 2.28 or newer");
	loaded = AGENT "\n";
	loader_error = -EAGAIN;
	ck_assert_int_eq(doctor(), 1);
	ck_printed(
		"OFF  agent: " AGENT
		" cannot be preloaded: Resource temporarily unavailable; the C library must be glibc 2.28 or newer");
}
END_TEST

START_TEST(what_is_preloaded_already)
{
	setenv("LD_PRELOAD", "/x/libjemalloc.so", 1);
	ck_assert_int_eq(doctor(), 0);
	ck_printed(
		"note LD_PRELOAD has /x/libjemalloc.so already: the agent comes first");
	setenv("LD_PRELOAD", "", 1);
	ck_assert_int_eq(doctor(), 0);
	ck_not_printed("LD_PRELOAD");
}
END_TEST

/* ---- PyTorch ---- */

START_TEST(a_python_with_torch)
{
	a_python();
	ck_assert_int_eq(doctor(), 0);
	ck_printed("ok   PyTorch: torch 2.9 in /site/torch");
	/* What was said last of torch. */
	ck_printed(
		"ok   PyTorch: names, times and shapes of its operators can be recorded");
	ck_printed("All is well: the operators of PyTorch would be recorded.");
	ck_not_printed("this PyTorch");
	strcpy(python.out, "cuda None hip None\ntorch 2.9+cpu in /site/torch\n");
	ck_assert_int_eq(doctor(), 0);
	ck_printed(
		"note this PyTorch is built without CUDA: its operators run on the CPU");
	strcpy(python.out, "cuda None hip 6.2\ntorch 2.9 in /site/torch\n");
	ck_assert_int_eq(doctor(), 0);
	ck_printed("note this PyTorch is built for ROCm: AMD's GPUs are not recorded");
	ck_not_printed("without CUDA");
}
END_TEST

/* The path where that is one, as pyenv has a shell script for it; else what runs it. */
START_TEST(which_python_is_asked)
{
	a_python();
	strcpy(target.path, "/shims/python3");
	strcpy(target.image, "/bin/sh");
	ck_assert_int_eq(doctor(), 0);
	ck_assert_str_eq(ran, "/shims/python3");
	strcpy(target.path, "/bin/torchrun");
	strcpy(target.image, "/venv/bin/python");
	ck_assert_int_eq(doctor(), 0);
	ck_assert_str_eq(ran, "/venv/bin/python");
	strcpy(target.path, "/job/python_train.py"); /* that would be started */
	ck_assert_int_eq(doctor(), 0);
	ck_assert_str_eq(ran, "/venv/bin/python");
	strcpy(target.path, "/bin/torchrun");
	strcpy(target.image, "/opt/python/bin/perl");
	*ran = '\0';
	ck_assert_int_eq(doctor(), 0);
	ck_assert_str_eq(ran, "");
}
END_TEST

START_TEST(a_layout_that_is_not_known)
{
	a_python();
	strcpy(python.facts, "torch = {\"record\": \"good\", \"values\": \"bad\"}\n");
	ck_assert_int_eq(doctor(), 0);
	ck_printed(
		"note PyTorch: proflaunch does not know this build: names and times of its operators are recorded, shapes and memory are not; a newer proflaunch may know it");
	*(_i ? &args.config.record_shapes : &args.config.profile_memory) = 1;
	ck_assert_int_eq(doctor(), 1);
	ck_printed(
		"OFF  PyTorch: proflaunch does not know this build: names and times of its operators are recorded, shapes and memory are not; a newer proflaunch may know it");
	strcpy(python.facts, "pytorch = {\"record\": \"good\", \"values\": \"good\"}\n");
	ck_assert_int_eq(doctor(), 1);
	ck_printed(
		"OFF  PyTorch: proflaunch does not know this build: names and times of its operators may be recorded, nothing else; a newer proflaunch may know it");
	strcpy(python.facts,
	       "torch = {\"record\": \"good\", \"forward_thread\": 0, \"values\": \"good\"}\n");
	ck_assert_int_eq(doctor(), 0);
	ck_printed(
		"ok   PyTorch: names, times and shapes of its operators can be recorded, but not which backward belongs to which forward");
}
END_TEST

START_TEST(a_python_that_does_not_come_to_its_end)
{
	a_python();
	strcpy(python.out, "Traceback:\n  x\nModuleNotFoundError: No module\n");
	python.status = 1 << 8;
	python.spooled = false;
	ck_assert_int_eq(doctor(), 1);
	ck_printed(
		"OFF  PyTorch: /usr/bin/python3 cannot import torch: ModuleNotFoundError: No module; activate the environment that has it (without PyTorch: --malloc all records the heap)");
	args.config.malloc = MALLOC_ALL;
	strcpy(args.config.marker, "none");
	ck_assert_int_eq(doctor(), 0);
	ck_printed("All is well: the program's heap would be recorded.");
	config_defaults(&args.config);
	python.status = SIGSEGV;
	ck_assert_int_eq(doctor(), 1);
	ck_printed(
		"OFF  PyTorch: /usr/bin/python3 died by signal 11 (Segmentation fault) under the agent, and not in a try without; if it does so again, please report it; last words: ModuleNotFoundError: No module");
	fails_bare = true;
	ck_assert_int_eq(doctor(), 1);
	ck_printed(
		"OFF  PyTorch: /usr/bin/python3 died by signal 11 (Segmentation fault) when torch was tried, and fails without proflaunch, too; last words: ModuleNotFoundError: No module");
	args.config.malloc = MALLOC_ALL;
	strcpy(args.config.marker, "none");
	ck_assert_int_eq(doctor(), 0);
	ck_printed("All is well: the program's heap would be recorded.");
	config_defaults(&args.config);
	fails_bare = false;
	python.status = 0;
	ck_assert_int_eq(doctor(), 1);
	ck_printed(
		"OFF  PyTorch: ModuleNotFoundError: No module, but the agent did not see it; please report this");
	run_error = -ENOSPC;
	ck_assert_int_eq(doctor(), 1);
	ck_printed("OFF  PyTorch: cannot try it: No space left on device");
	python.homeless = true;
	ck_assert_int_eq(doctor(), 1);
	ck_printed(
		"OFF  PyTorch: cannot try it: No space left on device; name a folder for its files in TMPDIR");
	run_error = 0;
	python.silent = true;
	python.status = SIGKILL;
	ck_assert_int_eq(doctor(), 1);
	ck_printed(
		"OFF  PyTorch: /usr/bin/python3 did not end in 120 seconds under the agent, and not in a try without; if it does so again, please report it; last words: ModuleNotFoundError: No module");
	strcpy(python.out, "");
	fails_bare = true;
	ck_assert_int_eq(doctor(), 1);
	ck_printed(
		"OFF  PyTorch: /usr/bin/python3 did not end in 120 seconds when torch was tried, and fails without proflaunch, too; last words: none");
	python.mute_torch = true;
	ck_assert_int_eq(doctor(), 1);
	ck_printed(
		"OFF  PyTorch: this one lacks functions by which it is observed (1.7 and older do): nothing of it would be recorded (the heap: --marker none --malloc all)");
}
END_TEST

START_TEST(a_program_that_links_libtorch)
{
	loaded = AGENT "\n\tlibtorch.so => /t/libtorch.so (0x1)\n"
		       "\tlibtorch_cpu.so => /t/libtorch_cpu.so (0x2)\n\tlibc.so.6\n";
	ck_assert_int_eq(doctor(), 0);
	ck_printed("ok   PyTorch: libtorch_cpu.so => /t/libtorch_cpu.so (0x2)");
	loaded = AGENT "\n\tlibtorch.so => /t/libtorch.so (0x1)\n\tlibc.so.6\n";
	ck_assert_int_eq(doctor(), 0);
	ck_printed("ok   PyTorch: libtorch.so => /t/libtorch.so (0x1)");
	loaded = AGENT "\n";
	ck_assert_int_eq(doctor(), 0);
	ck_assert_ptr_nonnull(
		strstr(printed_text, "note PyTorch: /bin/train does not link libtorch"));
	loaded = AGENT "\n\tlibcudart.so.12 => /c/libcudart.so.12 (0x1)\n";
	ck_assert_int_eq(doctor(), 0);
	ck_printed(
		"All is well: the program's CUDA calls and what runs on the GPU would be recorded.");
}
END_TEST

/* ---- directories, the kernel ---- */

START_TEST(a_log_directory_is_as_it_was)
{
	char file[CONFIG_TEXT + 8], line[2 * CONFIG_TEXT];
	const char *dir = args.config.logdir;

	ck_assert_int_eq(doctor(), 0);
	snprintf(line, sizeof(line), "ok   log directory: %s, 4096 MiB free", dir);
	ck_printed(line);
	ck_assert_int_ne(access(dir, F_OK), 0);
	ck_assert_int_eq(mkdir(dir, 0700), 0);
	snprintf(file, sizeof(file), "%s/a", dir);
	ck_assert_int_eq(mkdir(file, 0700), 0);
	ck_assert_int_eq(doctor(), 0);
	ck_assert_int_eq(rmdir(file), 0);
	ck_assert_int_eq(rmdir(dir), 0); /* nothing else is there */
}
END_TEST

START_TEST(a_log_directory_that_cannot_be)
{
	char line[2 * CONFIG_TEXT];

	strcpy(args.config.logdir, "/proc/self/none");
	ck_assert_int_eq(doctor(), 1);
	snprintf(
		line, sizeof(line),
		"OFF  log directory: %s: No such file or directory; choose another one with --logdir",
		args.config.logdir);
	ck_printed(line);
	ck_not_printed("records lie");
	absolute_error = -ENAMETOOLONG;
	ck_assert_int_eq(doctor(), 1);
	ck_printed("OFF  log directory: File name too long");
}
END_TEST

START_TEST(where_records_lie)
{
	spool_dir = "";
	free_blocks = 256;
	ck_assert_int_eq(doctor(), 0);
	ck_printed(
		"note records lie in memory (as the test says): they are lost when proflaunch itself is killed");
	ck_not_printed("less room");
	place_error = -EACCES;
	ck_assert_int_eq(doctor(), 1);
	ck_printed("OFF  records: Permission denied");
	ck_not_printed("records lie");
}
END_TEST

START_TEST(less_room_than_is_asked_for)
{
	struct rlimit most = { 64 << 20, RLIM_INFINITY };

	args.config.buffer_mb = 100;
	free_blocks = 100 * 256 - 1;
	ck_assert_int_eq(doctor(), 0);
	ck_printed("note less room than buffer_mb = 100 asks for");
	free_blocks++;
	ck_assert_int_eq(doctor(), 0);
	ck_not_printed("less room");
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &most), 0);
	ck_assert_int_eq(doctor(), 1);
	ck_printed(
		"OFF  file size limit: 64 MiB, buffer_mb = 100; raise ulimit -f, or lower buffer_mb");
	args.config.buffer_mb = 64;
	ck_assert_int_eq(doctor(), 0);
	ck_not_printed("file size limit");
}
END_TEST

START_TEST(a_kernel_without_membarrier)
{
	membarrier = -ENOSYS;
	ck_assert_int_eq(doctor(), 0);
	ck_printed(
		"note kernel: no membarrier (Function not implemented): recording costs a few nanoseconds more");
	membarrier = MEMBARRIER_CMD_GLOBAL;
	ck_assert_int_eq(doctor(), 0);
	ck_printed(
		"note kernel: no membarrier (too old): recording costs a few nanoseconds more");
}
END_TEST

/* What it tries, a driver say, may end doctor itself. */
START_TEST(a_line_is_out_before_the_next_thing_is_tried)
{
	char text[64] = "";

	printed_begin();
	setvbuf(stdout, NULL, _IOFBF, 4096);
	verdict_note("first %d", 1);
	ck_assert_int_eq(pread(1, text, sizeof(text) - 1, 0), 13);
	ck_assert_str_eq(text, "note first 1\n");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("doctor_says");

	tcase_add_checked_fixture(tc, doctor_setup, NULL);
	tcase_add_test(tc, a_program_in_order);
	tcase_add_test(tc, a_program_that_is_not_there);
	tcase_add_test(tc, a_program_that_cannot_be_preloaded);
	tcase_add_loop_test(tc, an_agent_that_cannot_be_preloaded, 0, 2);
	tcase_add_test(tc, what_the_loader_says_of_the_agent);
	tcase_add_test(tc, what_is_preloaded_already);
	tcase_add_test(tc, a_python_with_torch);
	tcase_add_test(tc, which_python_is_asked);
	tcase_add_loop_test(tc, a_layout_that_is_not_known, 0, 2);
	tcase_add_test(tc, a_python_that_does_not_come_to_its_end);
	tcase_add_test(tc, a_program_that_links_libtorch);
	tcase_add_test(tc, a_log_directory_is_as_it_was);
	tcase_add_test(tc, a_log_directory_that_cannot_be);
	tcase_add_test(tc, where_records_lie);
	tcase_add_test(tc, less_room_than_is_asked_for);
	tcase_add_test(tc, a_kernel_without_membarrier);
	tcase_add_test(tc, a_line_is_out_before_the_next_thing_is_tried);
	return unit_run(tc, "doctor_says");
}
