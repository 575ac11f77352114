/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a bottleneck, and what makes them doubtful; tests/e2e/test_bottleneck.py
 * compares them with pstats and with other views. */
#include "report/view/bottleneck.h"
#include "tests/unit/report_trace.h"

#include <stdlib.h>

static char why[1024];
static struct bottleneck_order order;

static void call(unsigned tid, const char *name, double ts, double dur)
{
	slice(tid, "python_function", name, ts, dur, "");
}

/* Prints the trace, and ends it. */
static const char *tables(void)
{
	char path[] = "/tmp/report_bottleneck.XXXXXX";
	int fd = mkstemp(path);
	struct screen screen = { .width = 80, .utf8 = true };
	bool fine;

	fputs("{\"ph\":\"M\",\"name\":\"end\"}]}", file);
	fclose(file);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, text_len), text_len);
	close(fd);
	free(said);
	screen.out = open_memstream(&said, &said_len);
	order.limit = order.limit ?: 15;
	fine = bottleneck_print(path, &order, &screen, why, sizeof(why));
	fclose(screen.out);
	unlink(path);
	free(text);
	text = NULL;
	ck_assert_msg(fine, "%s", why);
	return said;
}

/* Where a line is broken is nothing that they say. */
static void has(const char *words)
{
	char *flat = strdup(said);
	bool there;

	for (char *at = flat; (at = strstr(at, "\n  "));)
		memmove(at, at + 2, strlen(at + 2) + 1), *at = ' ';
	there = strstr(said, words) || strstr(flat, words);
	free(flat);
	ck_assert_msg(there, "no \"%s\" in\n%s", words, said);
}

static void lacks(const char *words)
{
	ck_assert_msg(!strstr(said, words), "\"%s\" in\n%s", words, said);
}

static void clear(void)
{
	order = (struct bottleneck_order){ 0 };
	begin();
}

static void drop(void)
{
	free(said);
	free(text);
	said = text = NULL;
}

/* As Python's pstats prints these four. */
START_TEST(functions_are_as_pstats_prints_them)
{
	call(1, "a.py(1): f", 0, 4000000);
	call(1, "a.py(1): f", 1000000, 1000000);
	call(1, "<built-in method mm of Tensor object at 0x7f>", 1200000, 500000);
	call(1, "b.py(20): g", 5000000, 1500);
	tables();
	has("         4 function calls (3 primitive calls) in 4.002 seconds\n\n"
	    "   Ordered by: internal time\n\n"
	    "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n"
	    "      2/1    3.500    1.750    4.000    4.000 a.py:1(f)\n"
	    "        1    0.500    0.500    0.500    0.500 {built-in method mm of Tensor "
	    "object}\n"
	    "        1    0.002    0.002    0.002    0.002 b.py:20(g)\n");
	has("none: this process did not load PyTorch");
	lacks("CUDA time");
}
END_TEST

START_TEST(rows_are_limited_and_equal_ones_stay_in_order)
{
	call(1, "a.py(1): one", 0, 10);
	call(1, "a.py(2): two", 20, 10);
	call(1, "a.py(3): three", 40, 10);
	op("aten::one", 60, 1);
	op("aten::two", 70, 2);
	order.limit = 1;
	tables();
	has("List reduced from 3 to 1 due to restriction <1>\n");
	has("a.py:1(one)");
	lacks("a.py:2(two)");
	has("aten::two");
	lacks("aten::one");
}
END_TEST

/* An operator is not a function, nor the other way round. */
START_TEST(each_table_has_its_own)
{
	call(1, "a.py(1): f", 0, 1000);
	op("aten::mm", 100, 500);
	call(1, "a.py(2): inside", 200, 100);
	tables();
	has("2 function calls in 0.001 seconds");
	has("aten::mm       100.00%     400.000us       125.00%     500.000us");
	has("none: no work of a GPU is in the trace");
	lacks("a.py(1)");
}
END_TEST

START_TEST(work_of_a_gpu_has_a_table)
{
	const char *gpu;

	slice(1, "cpu_op", "aten::mm", 10, 5, "\"External id\":1");
	slice(1, "cpu_op", "aten::add", 20, 50, "\"External id\":2");
	slice(7, "kernel", "gemm", 20, 30, "\"External id\":1");
	slice(7, "kernel", "plus", 60, 10, "\"External id\":2");
	tables();
	gpu = strstr(said, "by CUDA time total");
	ck_assert(strstr(said, "aten::add") < strstr(said, "aten::mm"));
	ck_assert(strstr(gpu, "aten::mm") < strstr(gpu, "aten::add"));
	has("the CPU time of an operator is that of launching");
	clear();
	op("aten::mm", 10, 5);
	order.no_gpu = true;
	tables();
	has("none: the GPU was not recorded (--activities cpu)");
	lacks("that of launching");
}
END_TEST

START_TEST(what_is_known_of_the_place_is_said)
{
	ours("\"facts\":{\"script\":\"a.py\",\"python\":{\"version\":\"3.11.7\",\"x\":[1],\"y\":\"z\"},"
	     "\"torch\":{\"torch\":\"2.9.0+cu128\"},\"cpu\":{\"cpus\":4,\"torch threads\":1}},"
	     "\"process\":{\"pid\":7,\"name\":\"python\"}},"
	     "\"cuda_runtime_version\":12080,\"cuda_driver_version\":13010,"
	     "\"deviceProperties\":[{\"id\":1,\"name\":\"Big GPU\",\"totalGlobalMem\":"
	     "1073741824,\"computeMajor\":9,\"computeMinor\":0}],\"x\":{");
	op("aten::mm", 0, 1500);
	op("aten::mm", 1500, 10);
	order.setting = (struct setting){
		.command = "python a.py", .cpu = "Fast", .system = "Linux", .cpus = 99
	};
	tables();
	has("  command   python a.py\n"
	    "  process   python a.py (pid 7)\n"
	    "  Python    3.11.7\n"
	    "  PyTorch   2.9.0+cu128\n"
	    "  CUDA      runtime 12.8, driver 13.1\n"
	    "  GPU       1: Big GPU, 1.0 GiB, compute capability 9.0\n"
	    "  CPU       Fast, 4 of the process, 1 thread of an operator\n"
	    "  system    Linux\n");
	has("1.50 ms from the first event to the last\n");
}
END_TEST

START_TEST(what_nobody_knows_has_no_line)
{
	op("aten::mm", 0, 1500);
	tables();
	lacks("command");
	lacks("  Python ");
	lacks("CUDA  ");
	lacks("  GPU ");
	lacks("  CPU  ");
	lacks("system");
}
END_TEST

START_TEST(costs_are_told_of_functions_that_they_inflate)
{
	ours("\"cost\":{\"ns per function\":1000,\"estimated overhead us\":5}");
	call(1, "a.py(1): busy", 0, 100);
	for (unsigned i = 0; i < 10; i++)
		call(1, "a.py(2): tiny", 10 + 5 * i, 0.5);
	call(1, "a.py(3): calm", 200, 1000);
	tables();
	/* 11 us of 95 us; 10 us of 5 us; 1 us of 1 ms. */
	has("our own code took about 1000 ns of each call of a function, ");
	has("12.0 us");
	has("these look slower by it:");
	ck_assert(!strstr(strstr(said, "slower by it:"), "a.py:3(calm)"));
	ck_assert(strstr(strstr(said, "slower by it:"), "a.py:1(busy), a.py:2(tiny)"));
	clear();
	ours("\"cost\":{\"ns per function\":10}");
	call(1, "a.py(3): calm", 200, 1000);
	tables();
	has("hardly slower by it");
}
END_TEST

/* A call of C costs less, and is in its caller's time as well. */
START_TEST(calls_of_c_have_a_cost_of_their_own)
{
	ours("\"cost\":{\"ns per function\":1000,\"ns per C call\":100}");
	call(1, "a.py(1): busy", 0, 100);
	for (unsigned i = 0; i < 9; i++)
		call(1, "builtins.len", 10 + 5 * i, 1);
	call(1, "a.py(3): calm", 200, 41);
	tables();
	/* 1.9 us of 91 us, 0.9 us of 9 us, and 1 us of 41 us. */
	has("about 264 ns of each call of a function, 2.90 us of all 11,");
	ck_assert(strstr(said, "slower by it: builtins.len\n"));
}
END_TEST

/* Nobody reads a list of fifteen. */
START_TEST(a_few_of_many_functions_are_named)
{
	char name[32];

	ours("\"cost\":{\"ns per function\":1000}");
	for (unsigned i = 0; i < 9; i++) {
		snprintf(name, sizeof(name), "a.py(%u): f", i + 1);
		call(1, name, 100 * i, 20 - i);
	}
	order.limit = 8;
	tables();
	has("a.py:5(f), and\n  3 more");
}
END_TEST

/* A hostile file's numbers make no sentence. */
START_TEST(costs_that_make_no_sense_are_not_told)
{
	static const char *const costs[] = { "-5", "1e999", "\"x\"", "[]", "0" };
	char member[64];

	snprintf(member, sizeof(member), "\"cost\":{\"ns per function\":%s}", costs[_i]);
	ours(member);
	call(1, "a.py(3): calm", 200, 1000);
	tables();
	lacks("our own code");
	has("none\n");
}
END_TEST

START_TEST(calls_that_are_missing_are_told)
{
	ours("\"facts\":{\"python\":{\"version\":\"3.12.1\"}},\"python functions\":"
	     "{\"calls\":3,\"late_us\":500,\"too deep\":12,\"threads of another tool\":1}");
	call(1, "a.py(1): f", 0, 10000);
	call(1, "a.py(1): f", 10000, 1);
	tables();
	has("calls of Python are recorded from 500 us after the begin on");
	has("12 calls of Python lay more than 4,096 deep");
	has("had the profile function of 1\n  thread:");
	clear();
	ours("\"python functions\":{\"calls\":3,\"late_us\":50,\"too deep\":0}");
	call(1, "a.py(1): f", 0, 10000);
	call(1, "a.py(1): f", 10000, 1);
	tables();
	has("Warnings\n\nnone\n");
}
END_TEST

static const struct {
	const char *functions, *want;
} empty[] = {
	{ "\"x\":1", "none: no Python ran in this process" },
	{ "\"facts\":{\"python\":{\"version\":\"3\"}},\"python functions\":null",
	  "none: calls of this Python could not be recorded" },
	{ "\"python functions\":{\"calls\":0,\"threads of another tool\":2}",
	  "none: another tool (cProfile, coverage, a debugger)" },
	{ "\"python functions\":{\"calls\":0}", "none: no function was called" },
};

START_TEST(no_functions_have_a_reason)
{
	ours(empty[_i].functions);
	op("aten::mm", 0, 5);
	tables();
	has(empty[_i].want);
}
END_TEST

START_TEST(threads_and_processes_are_told)
{
	call(1, "a.py(1): f", 0, 10);
	call(2, "a.py(1): f", 0, 10);
	slice(3, "cpu_op", "aten::mm", 0, 5, "");
	slice(1, "cpu_op", "aten::mm", 1, 5, "");
	call(1, "multiprocessing/popen_fork.py(62): _launch", 20, 1);
	order.choice = "b.json: window 2";
	tables();
	has("the functions are those of 2 threads, added up");
	has("1 of the 2 threads with operators runs no Python");
	has("the program has several processes (multiprocessing)");
	has("there are several traces, and proflaunch report shows the others, too: "
	    "b.json:\n"
	    "  window 2");
}
END_TEST

START_TEST(no_trace_is_said)
{
	struct screen screen = { .out = stdout, .width = 80 };

	ck_assert(!bottleneck_print("/nowhere", &order, &screen, why, sizeof(why)));
	ck_assert_ptr_nonnull(strstr(why, "/nowhere"));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("bottleneck");

	tcase_add_checked_fixture(tc, clear, drop);
	tcase_add_test(tc, functions_are_as_pstats_prints_them);
	tcase_add_test(tc, rows_are_limited_and_equal_ones_stay_in_order);
	tcase_add_test(tc, each_table_has_its_own);
	tcase_add_test(tc, work_of_a_gpu_has_a_table);
	tcase_add_test(tc, what_is_known_of_the_place_is_said);
	tcase_add_test(tc, what_nobody_knows_has_no_line);
	tcase_add_test(tc, costs_are_told_of_functions_that_they_inflate);
	tcase_add_test(tc, calls_of_c_have_a_cost_of_their_own);
	tcase_add_test(tc, a_few_of_many_functions_are_named);
	tcase_add_loop_test(tc, costs_that_make_no_sense_are_not_told, 0, 5);
	tcase_add_test(tc, calls_that_are_missing_are_told);
	tcase_add_loop_test(tc, no_functions_have_a_reason, 0,
			    sizeof(empty) / sizeof(*empty));
	tcase_add_test(tc, threads_and_processes_are_told);
	tcase_add_test(tc, no_trace_is_said);
	return unit_run(tc, "report bottleneck");
}
