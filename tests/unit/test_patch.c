/* SPDX-License-Identifier: Apache-2.0 */
/* Each test patches one function for good, so each runs in a process of its own. */
#include "agent/patch/patch.h"
#include "agent/patch/steps.h"
#include "tests/unit/patch_shapes.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <search.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wchar.h>

static volatile unsigned hits;

/* Treads on everything that a callee may, and on errno. */
static void hit(void)
{
	hits++;
	errno = 77;
	__asm__ volatile(
		"xor %%eax, %%eax; mov %%rax, %%rcx; mov %%rax, %%rdx; mov %%rax, %%rsi\n"
		"mov %%rax, %%rdi; mov %%rax, %%r8; mov %%rax, %%r9; mov %%rax, %%r10\n"
		"mov %%rax, %%r11; pxor %%xmm0, %%xmm0; pxor %%xmm1, %%xmm1\n"
		"pxor %%xmm7, %%xmm7; pxor %%xmm9, %%xmm9; pxor %%xmm15, %%xmm15\n"
		"std; cld; cmp %%rax, %%rax\n" ::
			: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
			  "xmm0", "xmm1", "xmm7", "xmm9", "xmm15", "cc");
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vzeroupper");
}

/* What patch_symbol said on stderr. */
static char said[2048];

static bool patch(const char *spec)
{
	int keep = dup(2), both[2];
	bool done;
	ssize_t n;

	ck_assert_int_eq(pipe(both), 0);
	fcntl(both[0], F_SETFL, O_NONBLOCK);
	dup2(both[1], 2);
	done = patch_symbol(spec, hit);
	dup2(keep, 2);
	n = read(both[0], said, sizeof(said) - 1);
	said[n > 0 ? n : 0] = 0;
	close(both[0]);
	close(both[1]);
	close(keep);
	return done;
}

static void refuses(const char *spec, const char *why)
{
	ck_assert(patch(spec));
	ck_assert_msg(strstr(said, why), "%s: said \"%s\", not \"%s\"", spec, said, why);
	ck_assert_int_eq(strchr(said, '\n') - said, strlen(said) - 1);
}

static __attribute__((noipa)) int only_in_symtab(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 5 + (x ^ 0x1234567) - 0x1234562;
}

static __attribute__((noipa)) double sum_of(int n, ...)
{
	double sum = 0;
	va_list args;

	va_start(args, n);
	for (int i = 0; i < n; i++)
		sum += va_arg(args, double);
	va_end(args);
	return sum;
}

static __attribute__((noipa)) int depth_of(void)
{
	void *frames[64];

	return backtrace(frames, 64);
}

/* Good ones: what is called, with what, what it gives, how often it is entered. */
static const struct {
	const char *name;
	int (*fn)(int);
	int arg, want;
	unsigned hits;
} good[] = {
	{ "only_in_symtab", only_in_symtab, 4, 20 + (4 ^ 0x1234567) - 0x1234562, 1 },
	{ "shape_rip", shape_rip, 3, 10, 1 },
	{ "shape_cmp_rip", shape_cmp_rip, 0, 2, 1 },
	{ "shape_branch", shape_branch, 0, 9, 1 },
	{ "shape_branch", shape_branch, 2, 7, 1 },
	{ "shape_branch_not", shape_branch_not, 0, 5, 1 },
	{ "shape_branch_not", shape_branch_not, 2, 9, 1 },
	{ "shape_loop_inside", shape_loop_inside, 4, 8, 1 },
	{ "shape_recursive", shape_recursive, 4, 12, 5 },
	{ "shape_endbr", shape_endbr, 5, 11, 1 },
	{ "shape_tail", shape_tail, 5, 15, 1 },
	{ "shape_shift", shape_shift, 5, 13, 1 },
	{ "shape_shift_far", shape_shift_far, 5, 13, 1 },
	{ "shape_shift_farthest", shape_shift_farthest, 5, 13, 1 },
	{ "shape_push_call", shape_push_call, 5, 11, 1 },
	{ "shape_got_call", shape_got_call, 5, 6, 1 },
	{ "shape_reg_call", shape_reg_call, 5, 6, 1 },
	{ "shape_call", shape_call, 5, 1, 1 },
};

START_TEST(functions_do_the_same_and_are_seen)
{
	int (*volatile fn)(int) = good[_i].fn;

	ck_assert_int_eq(fn(good[_i].arg), good[_i].want);
	ck_assert_msg(patch(good[_i].name), "%s: %s", good[_i].name, said);
	ck_assert_str_eq(said, "");
	ck_assert_int_eq(patch_prot((uintptr_t)fn), PROT_READ | PROT_EXEC);
	errno = 5;
	for (unsigned i = 1; i <= 3; i++) {
		ck_assert_int_eq(fn(good[_i].arg), good[_i].want);
		ck_assert_uint_eq(hits, i * good[_i].hits);
	}
	ck_assert_int_eq(errno, 5);
}
END_TEST

static const struct {
	const char *name, *why;
} bad[] = {
	{ "shape_loop", "branches back to its first instructions" },
	{ "shape_into", "branches back to its first instructions" },
	{ "shape_tiny", "it is too short" },
	{ "shape_early_call", "it begins with a call" },
	{ "shape_unknown", "unknown" },
	{ "shape_across", "across an aligned" },
	{ "shape_across_by_one", "across an aligned" },
};

START_TEST(what_cannot_be_safe_is_refused_with_the_reason)
{
	uint8_t *code = (uint8_t *)shape_loop;
	uint8_t before[32];

	memcpy(before, code, sizeof(before));
	refuses(bad[_i].name, bad[_i].why);
	ck_assert_int_eq(memcmp(before, code, sizeof(before)), 0);
	ck_assert_int_eq(shape_loop(5), 0);
	ck_assert_uint_eq(hits, 0);
}
END_TEST

START_TEST(every_register_arrives)
{
	uint64_t sum;

	ck_assert(patch("shape_registers"));
	__asm__ volatile(
		"mov $1, %%eax; mov $2, %%r10; mov $4, %%r11; mov $8, %%ecx\n"
		"mov $16, %%edx; mov $32, %%esi; mov $64, %%edi; mov $128, %%r8d\n"
		"mov $256, %%r9d; mov $512, %%ebx; movq %%rbx, %%xmm9\n"
		"mov $1024, %%ebx; movq %%rbx, %%xmm15\n"
		"sub $256, %%rsp; call shape_registers; add $256, %%rsp\n"
		: "=a"(sum)
		:
		: "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm9",
		  "xmm15", "memory", "cc");
	ck_assert_uint_eq(sum, 2047);
	ck_assert_uint_eq(hits, 1);
}
END_TEST

START_TEST(flags_arrive)
{
	uint64_t sum;

	ck_assert(patch("shape_carry"));
	__asm__ volatile("sub $256, %%rsp; stc; call shape_carry; lea 256(%%rsp), %%rsp\n"
			 : "=a"(sum)
			 :
			 : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory",
			   "cc");
	ck_assert_uint_eq(sum, 41);
}
END_TEST

START_TEST(upper_halves_of_vectors_arrive)
{
	uint64_t got, both[4] = { 1, 2, 3, 4 };

	if (!__builtin_cpu_supports("avx"))
		return;
	ck_assert(patch("shape_upper"));
	__asm__ volatile("sub $256, %%rsp; vmovdqu (%%rbx), %%ymm0\n"
			 "call shape_upper; add $256, %%rsp; vzeroupper\n"
			 : "=a"(got)
			 : "b"(both)
			 : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0",
			   "memory", "cc");
	ck_assert_uint_eq(got, 3);
	ck_assert_uint_eq(hits, 1);
}
END_TEST

START_TEST(variable_arguments_arrive)
{
	ck_assert_msg(patch("sum_of"), "%s", said);
	ck_assert(sum_of(9, 1., 2., 4., 8., 16., 32., 64., 128., 256.) == 511.);
	ck_assert_uint_eq(hits, 1);
}
END_TEST

START_TEST(no_frame_is_left)
{
	int (*volatile fn)(void) = depth_of;
	int before = fn();

	ck_assert_msg(patch("depth_of"), "%s", said);
	ck_assert_int_eq(fn(), before);
	ck_assert_uint_eq(hits, 1);
}
END_TEST

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* lfind is called by way of our PLT; qsort calls qsort_r within the C library. */
START_TEST(functions_of_a_library_are_seen)
{
	int list[] = { 3, 1, 2 };
	size_t n = 3;

	if (_i == 0) {
		ck_assert_msg(patch("libc.so.6!lfind"), "%s", said);
		ck_assert_ptr_eq(lfind(&list[2], list, &n, sizeof(int), compare),
				 &list[2]);
	} else {
		ck_assert_msg(patch("libc.so*!qsort_r"), "%s", said);
		qsort(list, 3, sizeof(int), compare);
		ck_assert_int_eq(list[0] * 100 + list[1] * 10 + list[2], 123);
	}
	ck_assert_uint_eq(hits, 1);
}
END_TEST

START_TEST(calls_are_seen_where_the_entry_cannot_be_patched)
{
	wchar_t *volatile text = L"abc";

	ck_assert_msg(patch("libc.so.6!wcsnlen"), "%s", said);
	ck_assert_msg(strstr(said, "IFUNC") && strstr(said, "through the dynamic linker"),
		      "%s", said);
	ck_assert_uint_eq(wcsnlen(text, 10), 3);
	ck_assert_uint_eq(hits, 1);
}
END_TEST

START_TEST(a_name_that_is_nowhere_is_not_found)
{
	ck_assert(!patch("no_such_function_here"));
	ck_assert_str_eq(said, "");
	ck_assert(!patch("libm.so*!only_in_symtab"));
	ck_assert_str_eq(said, "");
}
END_TEST

static void *wait_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

START_TEST(other_threads_may_be_inside_a_short_instruction)
{
	pthread_t t;

	pthread_create(&t, NULL, wait_for_ever, NULL);
	if (_i == 0) {
		refuses("shape_branch", "other threads may be just inside");
		return;
	}
	ck_assert_msg(patch("shape_rip"), "%s", said); /* its first one is long enough */
	ck_assert_int_eq(shape_rip(3), 10);
	ck_assert_uint_eq(hits, 1);
}
END_TEST

static _Atomic bool stop;

static void *call_on(void *arg)
{
	long bad_results = 0;

	while (!stop)
		bad_results += shape_rip(3) != 10;
	*(long *)arg = bad_results;
	return NULL;
}

START_TEST(a_function_that_runs_can_be_patched)
{
	pthread_t t;
	long wrong = -1;

	pthread_create(&t, NULL, call_on, &wrong);
	usleep(20000);
	ck_assert_msg(patch("shape_rip"), "%s", said);
	for (unsigned i = 0; i < 100000 && hits < 1000; i++)
		usleep(10);
	stop = true;
	pthread_join(t, NULL);
	ck_assert_int_eq(wrong, 0);
	ck_assert_uint_ge(hits, 1000);
}
END_TEST

START_TEST(one_function_is_marked_and_no_more)
{
	ck_assert(patch("shape_rip"));
	ck_assert(patch("shape_branch"));
	ck_assert_int_eq(shape_branch(2), 7);
	ck_assert_uint_eq(hits, 0);
	ck_assert_int_eq(shape_rip(3), 10);
	ck_assert_uint_eq(hits, 1);
}
END_TEST

int main(void)
{
	unit_not_under_thread_sanitizer("its code is in the functions patched");
	TCase *tc = tcase_create("patch");

	tcase_add_loop_test(tc, functions_do_the_same_and_are_seen, 0,
			    sizeof(good) / sizeof(good[0]));
	tcase_add_loop_test(tc, what_cannot_be_safe_is_refused_with_the_reason, 0,
			    sizeof(bad) / sizeof(bad[0]));
	tcase_add_test(tc, every_register_arrives);
	tcase_add_test(tc, flags_arrive);
	tcase_add_test(tc, upper_halves_of_vectors_arrive);
	tcase_add_test(tc, variable_arguments_arrive);
	tcase_add_test(tc, no_frame_is_left);
	tcase_add_loop_test(tc, functions_of_a_library_are_seen, 0, 2);
	tcase_add_test(tc, calls_are_seen_where_the_entry_cannot_be_patched);
	tcase_add_test(tc, a_name_that_is_nowhere_is_not_found);
	tcase_add_loop_test(tc, other_threads_may_be_inside_a_short_instruction, 0, 2);
	tcase_add_test(tc, a_function_that_runs_can_be_patched);
	tcase_add_test(tc, one_function_is_marked_and_no_more);
	return unit_run(tc, "patch");
}
