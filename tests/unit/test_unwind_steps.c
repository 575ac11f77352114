/* SPDX-License-Identifier: Apache-2.0 */
/* Steps by rules that are wrong, on a stack behind which nothing is mapped; and what is
 * taken for the thread's own stack. */
#include "agent/unwind/walk.h"
#include "base/sys.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum { A = 0x1001, B = 0x2001, C = 0x3001 }; /* addresses in functions */

static uint8_t *end;
static uintptr_t pc[100];

static void setup(void)
{
	uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(page, MAP_FAILED);
	munmap(page + 4096, 4096);
	end = page + 4096;
	for (uintptr_t *word = (uintptr_t *)page; (uint8_t *)word < end; word++)
		*word = A; /* wherever a return address is read, it is this one */
	unwind_own = (struct unwind_bounds){ (uintptr_t)page, (uintptr_t)end };
	ck_assert(unwind_rules_start(false));
	unwind_rule_keep(B - 1, unwind_epoch, RULE_OUTERMOST);
}

/* From A, whose rule that is; sp and bp are so far below the end. */
static struct unwind_result walk_by(uint64_t rule, unsigned sp, unsigned bp)
{
	struct unwind_regs regs = { A, (uintptr_t)end - sp, (uintptr_t)end - bp };

	unwind_rule_keep(A - 1, unwind_epoch, rule);
	return unwind_frames(regs, pc, 100);
}

static void ends_at_once(struct unwind_result u)
{
	ck_assert_uint_eq(u.depth, 1);
	ck_assert_uint_eq(u.flags, STACK_ENDED);
	ck_assert(!u.whole);
}

START_TEST(a_frame_pointer_leads_to_the_caller)
{
	struct unwind_result u;

	memcpy(end - 8, &(uintptr_t){ B }, 8);
	u = walk_by(RULE_FRAME_POINTER, 64, 16);
	ck_assert_uint_eq(u.depth, 2);
	ck_assert_uint_eq(pc[1], B);
	ck_assert_uint_eq(u.flags, 0);
	ck_assert(u.whole);
}
END_TEST

START_TEST(a_frame_pointer_at_the_end_is_none)
{
	for (unsigned bp = 0; bp < 16; bp++)
		ends_at_once(walk_by(RULE_FRAME_POINTER, 64, bp));
	for (unsigned bp = 73; bp < 64 + 160;
	     bp++) /* it leads to below the stack pointer */
		ends_at_once(walk_by(RULE_FRAME_POINTER, 64, bp));
}
END_TEST

START_TEST(nothing_is_loaded_across_the_end)
{
	for (int at = 1; at < 8; at++) {
		ends_at_once(walk_by(RULE(RULE_LOAD_SP, 64 - at, 0, BP_SAME, 0), 64, 0));
		ends_at_once(walk_by(RULE(RULE_LOAD_BP, 8 - at, 0, BP_SAME, 0), 64, 8));
		ends_at_once(walk_by(RULE(RULE_SP, 64, 0, BP_AT_CFA, -at), 64, 0));
	}
	ends_at_once(walk_by(RULE(RULE_LOAD_SP, -8, 0, BP_SAME, 0), 64, 0));
}
END_TEST

START_TEST(each_step_goes_up)
{
	for (int offset = -64; offset < 8; offset++)
		ends_at_once(walk_by(RULE(RULE_SP, offset, 0, BP_SAME, 0), 128, 0));
	ends_at_once(walk_by(RULE(RULE_SP, 129, 0, BP_SAME, 0), 128, 0));
	ck_assert_uint_eq(walk_by(RULE(RULE_SP, 8, 0, BP_SAME, 0), 128, 0).depth, 17);
}
END_TEST

START_TEST(no_more_frames_are_told_than_asked_for)
{
	struct unwind_regs regs = { A, (uintptr_t)end - 1024, 0 };
	struct unwind_result u;

	unwind_rule_keep(A - 1, unwind_epoch, RULE(RULE_SP, 8, 0, BP_SAME, 0));
	pc[10] = 77;
	u = unwind_frames(regs, pc, 10);
	ck_assert_uint_eq(u.depth, 10);
	ck_assert_uint_eq(u.flags, STACK_CUT);
	ck_assert_uint_eq(pc[10], 77);
}
END_TEST

/* A library may come to where code was made at run time. */
START_TEST(a_rule_of_nobodys_code_is_not_kept)
{
	uintptr_t at = (uintptr_t)end - 100;
	uint64_t epoch = unwind_epoch;
	const struct unwind_rule *r = unwind_rule_slot(at);

	unwind_find_start();
	ck_assert_uint_eq(unwind_rule_learn(at, epoch), RULE_NONE);
	ck_assert_uint_ne(r->key ^ r->rule, at | epoch << UNWIND_PC_BITS);
}
END_TEST

/* What is in the first table need not be learned again, whatever the code says. */
START_TEST(a_rule_of_before_the_table_grew_is_known)
{
	uintptr_t at = (uintptr_t)unwind_frames;
	uint64_t rule = RULE(RULE_SP, 4711, 0, BP_SAME, 0), epoch = unwind_epoch;
	uint32_t shift = unwind_rules_shift;

	unwind_find_start();
	unwind_rule_keep(at, epoch, rule);
	for (unsigned i = 0; i < 2000; i++)
		unwind_rule_keep(A, epoch, rule);
	ck_assert_uint_lt(unwind_rules_shift, shift);
	ck_assert_uint_eq(unwind_rule_at(at, epoch), rule);
	ck_assert_uint_eq(unwind_rule_at(A, epoch), rule);
	unwind_rules_clear();
	ck_assert_uint_ne(unwind_rule_at(at, epoch), rule);
}
END_TEST

/* The second table has 2 MiB. */
START_TEST(where_memory_is_scarce_the_table_does_not_grow)
{
	uint32_t shift = unwind_rules_shift;

	sys_scarce = true;
	for (unsigned i = 0; i < 2000; i++)
		unwind_rule_keep(A, unwind_epoch, RULE_OUTERMOST);
	ck_assert_uint_eq(unwind_rules_shift, shift);
	ck_assert_uint_eq(unwind_rule_at(A, unwind_epoch), RULE_OUTERMOST);
}
END_TEST

/* ---- the thread's own stack ---- */

START_TEST(an_unlimited_stack_is_the_main_threads)
{
	struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
	bool foreign = true;
	struct unwind_bounds b;

	unwind_own = (struct unwind_bounds){ 0 };
	if (setrlimit(RLIMIT_STACK, &none)) {
		puts("unlimited stacks are not allowed here");
		return;
	}
	unwind_bounds_start();
	b = unwind_bounds((uintptr_t)__builtin_frame_address(0), &foreign);
	ck_assert(!foreign);
	ck_assert_uint_gt((uintptr_t)__builtin_frame_address(0), b.lo);
	ck_assert_uint_lt((uintptr_t)__builtin_frame_address(0), b.end);
}
END_TEST

START_TEST(on_an_unknown_stack_its_page_is_certain_and_errno_stays)
{
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sigaltstack, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(rows) / sizeof(*rows), rows };
	struct unwind_bounds b;
	bool foreign = false;

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
	unwind_own = (struct unwind_bounds){ 4096, 8192 };
	errno = 77;
	b = unwind_bounds((uintptr_t)end - 100, &foreign);
	ck_assert_int_eq(errno, 77);
	ck_assert(foreign);
	ck_assert_uint_eq(b.lo, (uintptr_t)end - 100);
	ck_assert_uint_eq(b.end, (uintptr_t)end);
	b = unwind_bounds((uintptr_t)end, &foreign); /* empty: nothing is behind it */
	ck_assert_uint_eq(b.end, (uintptr_t)end);
}
END_TEST

START_TEST(a_frame_pointer_that_is_lost_leads_nowhere)
{
	struct unwind_result u;

	memcpy(end - 56, &(uintptr_t){ B }, 8);
	unwind_rule_keep(B - 1, unwind_epoch, RULE_FRAME_POINTER);
	u = walk_by(RULE(RULE_SP, 16, 0, BP_LOST, 0), 64, 32);
	ck_assert_uint_eq(u.depth, 2);
	ck_assert_uint_eq(u.flags, STACK_ENDED);
}
END_TEST

/* As libffi's calls: rsp is above what rbp leads to when rbp is loaded. */
START_TEST(a_frame_that_was_left_lies_below_the_stack_pointer)
{
	struct unwind_result u;

	memcpy(end - 72, &(uintptr_t){ (uintptr_t)end - 16 }, 8);
	memcpy(end - 64, &(uintptr_t){ C }, 8);
	memcpy(end - 8, &(uintptr_t){ B }, 8);
	unwind_rule_keep(C - 1, unwind_epoch, RULE_FRAME_POINTER);
	u = walk_by(RULE(RULE_BP, 32, 0, BP_AT_CFA, -16), 64, 88);
	ck_assert_uint_eq(u.depth, 3);
	ck_assert(u.whole && !u.flags);
}
END_TEST

/* Where a signal comes between `pop %rbp` and `ret`: the rule still says where rbp was
 * saved, and no signal's frame has overwritten it. */
START_TEST(a_frame_pointer_that_was_popped_lies_below_the_stack_pointer)
{
	struct unwind_result u;

	memcpy(end - 8, &(uintptr_t){ B }, 8); /* behind the caller's frame */
	unwind_rule_keep(B - 1, unwind_epoch, RULE_OUTERMOST);
	for (int below = 8; below <= 128; below += 8) {
		memcpy(end - 64 - below, &(uintptr_t){ (uintptr_t)end - 16 }, 8);
		unwind_rule_keep(C - 1, unwind_epoch, RULE_FRAME_POINTER);
		memcpy(end - 64, &(uintptr_t){ C }, 8);
		u = walk_by(RULE(RULE_SP, 8, 0, BP_AT_CFA, -8 - below), 64, 0);
		ck_assert_uint_eq(u.depth, 3);
		ck_assert_uint_eq(pc[2], B);
		ck_assert(u.whole && !u.flags);
	}
}
END_TEST

START_TEST(nothing_further_below_is_loaded)
{
	ends_at_once(walk_by(RULE(RULE_SP, 8, 0, BP_AT_CFA, -8 - 129), 64, 0));
	ends_at_once(walk_by(RULE(RULE_BP, 8, 0, BP_AT_BP, -129), 1024, 1024));
	ends_at_once(walk_by(RULE(RULE_LOAD_SP, -8, 0, BP_SAME, 0), 64, 0));
	for (unsigned above = 0; above < 128; above += 8) { /* nor below the stack */
		unsigned sp = 4096 - above;
		int first = -8 - (int)above;

		ends_at_once(walk_by(RULE(RULE_SP, 8, 0, BP_AT_CFA, first - 1), sp, 0));
		ck_assert_uint_gt(
			walk_by(RULE(RULE_SP, 8, 0, BP_AT_CFA, first), sp, 0).depth, 1);
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("unwind steps");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_frame_pointer_leads_to_the_caller);
	tcase_add_test(tc, a_frame_pointer_at_the_end_is_none);
	tcase_add_test(tc, nothing_is_loaded_across_the_end);
	tcase_add_test(tc, each_step_goes_up);
	tcase_add_test(tc, no_more_frames_are_told_than_asked_for);
	tcase_add_test(tc, a_rule_of_nobodys_code_is_not_kept);
	tcase_add_test(tc, a_rule_of_before_the_table_grew_is_known);
	tcase_add_test(tc, where_memory_is_scarce_the_table_does_not_grow);
	tcase_add_test(tc, an_unlimited_stack_is_the_main_threads);
	tcase_add_test(tc, on_an_unknown_stack_its_page_is_certain_and_errno_stays);
	tcase_add_test(tc, a_frame_pointer_that_is_lost_leads_nowhere);
	tcase_add_test(tc, a_frame_pointer_that_was_popped_lies_below_the_stack_pointer);
	tcase_add_test(tc, a_frame_that_was_left_lies_below_the_stack_pointer);
	tcase_add_test(tc, nothing_further_below_is_loaded);
	return unit_run(tc, "unwind_steps");
}
