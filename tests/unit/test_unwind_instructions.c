/* SPDX-License-Identifier: Apache-2.0 */
/* Walks next to libunwind's from each instruction of functions of all kinds: of their
 * beginnings and ends, and where they have no frame. What differs is of a kind that has a
 * reason (tests/programs/unwind_peer.h). */
#include "tests/unit/peer_seen.h"

#include <alloca.h>
#include <fnmatch.h>
#include <regex.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <wchar.h>

static volatile bool stepping;

static void on_step(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info;
	here();
	if (!stepping || peer_before_system_call(context))
		peer_step(context, false);
}

/* From here to step_end, but no further than the next system call. */
static inline void step_begin(void)
{
	struct sigaction sa = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

	sigfillset(&sa.sa_mask);
	sigaction(SIGTRAP, &sa, NULL);
	stepping = true;
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | PEER_TRAP);
}

static inline void step_end(void)
{
	stepping = false;
}

static int plainly(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void use_c_library(const regex_t *regex)
{
	int numbers[64];
	char text[200];
	wchar_t wide[200];

	for (int i = 0; i < 64; i++)
		numbers[i] = i * 37 % 64;
	qsort(numbers, 64, sizeof(int), plainly);
	snprintf(text, sizeof(text), "%s %.17g %x", "text", strtod("1.7e-30", NULL), 1);
	regexec(regex, "abababab7", 0, NULL, 0);
	mbstowcs(wide, text, 200);
	fnmatch("*[a-f]?.c", "unwind/eh_frame.c", 0);
}

START_TEST(each_instruction_of_the_c_library)
{
	regex_t regex;

	ck_assert_int_eq(regcomp(&regex, "(a|b)+[[:digit:]]$", REG_EXTENDED), 0);
	use_c_library(&regex); /* binds its functions */
	step_begin();
	use_c_library(&regex);
	step_end();
	regfree(&regex);
	ck_assert_uint_ge(seen[PEER_SAME], walks - walks / 50);
	were(ONLY(SAME) | ONLY(ENDED) | ONLY(NOWHERE), 5000);
}
END_TEST

static int first_call(void);

/* The dynamic linker aligns the stack for a call's registers and finds it again by rbx.
 */
START_TEST(a_function_that_is_bound_when_it_is_called)
{
	step_begin();
	first_call();
	step_end();
	were(ONLY(SAME) | ONLY(REGISTER), 1);
}
END_TEST

static __attribute__((noinline)) int first_call(void)
{
	return wcscasecmp(L"a", L"b");
}

#define KIND(name) static __attribute__((noinline)) int name(int depth, int more)
static int any(int depth, int more);

KIND(plain)
{
	return any(depth, more) + 1;
}

KIND(with_a_frame_pointer)
{
	volatile const void *frame = __builtin_frame_address(0);

	return any(depth, more) + (frame != NULL);
}

KIND(large)
{
	volatile char room[5000];

	room[0] = 1;
	return any(depth, more) + room[0];
}

KIND(dynamic)
{
	volatile char *room = alloca((size_t)more % 333 + 1);

	room[0] = 1;
	return any(depth, more) + room[0];
}

KIND(aligned)
{
	_Alignas(128) volatile char room[256];

	room[0] = 1;
	return any(depth, more) + room[0];
}

KIND(many_registers)
{
	int a = any(depth - 1, more), b = any(depth - 1, a), c = a ^ b, d = c * 3 + more;

	return any(depth - 2, d) + a + b * 3 + c * 5 + d * 7 + depth;
}

/* The frame is made on one way only. */
KIND(shrink_wrapped)
{
	if (more % 3)
		return more;

	int a = any(depth - 1, more + 1), b = any(depth - 1, more + a);

	return a + b;
}

KIND(tail)
{
	return any(depth, more ^ 1);
}

static int any(int depth, int more)
{
	static int (*const kinds[])(
		int, int) = { plain,   with_a_frame_pointer, large, dynamic,
			      aligned, many_registers,       tail,  shrink_wrapped };

	return depth <= 0 ? more % 7
			  : kinds[(unsigned)(more + depth) % 8](depth - 1, more + 3);
}

START_TEST(each_instruction_of_all_kinds_of_functions)
{
	for (int more = 0; more < 16; more++) {
		step_begin();
		any(7, more);
		step_end();
	}
	were(ONLY(SAME), 3000);
}
END_TEST

/* Its arguments on the stack are found by a register that is neither rsp nor rbp, until
 * that one is saved, and again at the end. */
static __attribute__((noinline)) int realigned(int a, int b, int c, int d, int e, int f,
					       int g, int h)
{
	_Alignas(128) volatile int room[32];
	volatile char *more = alloca((size_t)a + 1);

	more[0] = 1;
	room[0] = a + b + c + d + e + f;
	return any(4, room[0]) + g + h + more[0];
}

/* Found by the rbp that is saved there. */
static __attribute__((noinline)) int calls_realigned(void)
{
	volatile const void *frame = __builtin_frame_address(0);
	volatile int result = realigned(1, 2, 3, 4, 5, 6, 7, 8);

	return result + (frame != NULL);
}

START_TEST(a_stack_that_is_being_realigned)
{
	step_begin();
	calls_realigned();
	step_end();
	ck_assert(SANITIZED || seen[PEER_REGISTER] <= 16);
	were(ONLY(SAME) | ONLY(REGISTER), 50);
}
END_TEST

START_TEST(vfork_has_its_return_address_in_a_register)
{
	pid_t pid = vfork(); /* binds it */

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	step_begin();
	pid = vfork();
	if (!pid)
		_exit(0);
	step_end();
	ck_assert_uint_ge(seen[PEER_REGISTER], 1);
	ck_assert(SANITIZED || seen[PEER_REGISTER] <= 8);
	were(ONLY(SAME) | ONLY(REGISTER), 3);
	waitpid(pid, NULL, 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("unwind instructions");

	unit_not_under_thread_sanitizer("signals wait there, and stacks are its own");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, each_instruction_of_the_c_library);
	tcase_add_test(tc, each_instruction_of_all_kinds_of_functions);
	tcase_add_test(tc, a_function_that_is_bound_when_it_is_called);
	tcase_add_test(tc, a_stack_that_is_being_realigned);
	tcase_add_test(tc, vfork_has_its_return_address_in_a_register);
	return unit_run(tc, "unwind_instructions");
}
