/* SPDX-License-Identifier: Apache-2.0 */
/* Calls through the hooks of hooks/jump.S: who looks, where they go, and what the real
 * function and the caller find in each register. */
#include "agent/hooks/enter.h"
#include "tests/unit/registers.h"
#include "tests/unit/unit.h"

#include <string.h>

void *hook_real_execute, *hook_real_usage, *hook_real_toggle;
void *hook_real_enable, *hook_real_prepare, *hook_real_disable;
void *(*hook_real_dlsym)(void *, const char *);
struct hook_answer jump_dlsym(void *handle, const char *name);

/* ---- who looks ---- */

static char looked[64]; /* a word for each */

static void look(const char *who, bool aligned)
{
	ck_assert(aligned);
	strcat(looked, who);
	registers_clobber();
}
#define LOOK(who) look(who, (uintptr_t)__builtin_frame_address(0) % 16 == 0)

__attribute__((noinline)) void hook_look_execute(void)
{
	LOOK("execute");
}

__attribute__((noinline)) void hook_look_usage(const void *event)
{
	ck_assert_uint_eq((uintptr_t)event, registers_sent.reg[0]);
	LOOK("usage");
}

__attribute__((noinline)) void hook_look_toggle(bool on, const void *set)
{
	ck_assert(on);
	ck_assert_uint_eq((uintptr_t)set, registers_sent.reg[1]);
	LOOK("toggle");
}

__attribute__((noinline)) void hook_look_profile(const void *config, const void *set)
{
	ck_assert_uint_eq((uintptr_t)config, registers_sent.reg[0]);
	ck_assert_uint_eq((uintptr_t)set, registers_sent.reg[1]);
	LOOK("profile");
}

__attribute__((noinline)) void hook_look_profile_end(void)
{
	LOOK("end");
}

static struct hook_answer answer;

__attribute__((noinline)) struct hook_answer hook_answer_dlsym(void *handle,
							       const char *name,
							       const void *caller)
{
	ck_assert_uint_eq((uintptr_t)handle, registers_sent.reg[0]);
	ck_assert_uint_eq((uintptr_t)name, registers_sent.reg[1]);
	ck_assert_ptr_eq(caller, registers_returned);
	LOOK("dlsym");
	return answer;
}

/* ---- torch's functions ---- */

#define TORCH(at, symbol) extern const char at[] __asm__(symbol);
TORCH(at_execute,
      "_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_EEbbbS7_")
TORCH(at_usage,
      "_ZN3c1011LogAPIUsageERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE")
TORCH(at_usage_old, "_ZN3c1011LogAPIUsageERKSs")
TORCH(at_toggle,
      "_ZN5torch8autograd8profiler23toggleCollectionDynamicEbRKSt3setINS_8profiler4impl12ActivityTypeESt4lessIS5_ESaIS5_EE")
TORCH(at_enable,
      "_ZN5torch8autograd8profiler14enableProfilerERKNS_8profiler4impl14ProfilerConfigERKSt3setINS3_12ActivityTypeESt4lessIS8_ESaIS8_EERKSt13unordered_setIN2at11RecordScopeESt4hashISH_ESt8equal_toISH_ESaISH_EE")
TORCH(at_prepare,
      "_ZN5torch8autograd8profiler15prepareProfilerERKNS_8profiler4impl14ProfilerConfigERKSt3setINS3_12ActivityTypeESt4lessIS8_ESaIS8_EE")
TORCH(at_disable, "_ZN5torch8autograd8profiler15disableProfilerEv")

static const struct {
	const char *at, *look;
	void **real;
} hooks[] = {
	{ at_execute, "execute", &hook_real_execute },
	{ at_usage, "usage", &hook_real_usage },
	{ at_usage_old, "usage", &hook_real_usage },
	{ at_toggle, "toggle", &hook_real_toggle },
	{ at_enable, "profile", &hook_real_enable },
	{ at_prepare, "profile", &hook_real_prepare },
	{ at_disable, "end", &hook_real_disable },
};
#define HOOKS (sizeof(hooks) / sizeof(*hooks))

static void expect_caller_and_stack(void)
{
	ck_assert_mem_eq(registers_got.saved, registers_marks, sizeof(registers_marks));
	ck_assert_uint_eq(registers_got.left, 0);
}

/* As if there had been no hook: its caller, its stack and its arguments are its own. */
static void expect_jumped(unsigned arguments)
{
	expect_caller_and_stack();
	ck_assert_mem_eq(registers_seen.all.reg, registers_sent.reg,
			 arguments * sizeof(uint64_t));
	ck_assert_mem_eq(registers_seen.all.stack, registers_sent.stack,
			 sizeof(registers_sent.stack));
	ck_assert_ptr_eq(registers_seen.returns, registers_returned);
	ck_assert_uint_eq(registers_seen.rsp % 16, 8);
	ck_assert_mem_eq(registers_seen.saved, registers_marks, sizeof(registers_marks));
	ck_assert_mem_eq(&registers_got, &registers_result, sizeof(registers_result));
}

START_TEST(a_hook_looks_and_jumps)
{
	*hooks[_i].real = (void *)registers_real; /* and no other one */
	registers_mark();
	registers_sent.reg[0] = 1; /* a bool to one of them */
	registers_call(hooks[_i].at);
	ck_assert_str_eq(looked, hooks[_i].look);
	expect_jumped(6);
}
END_TEST

START_TEST(dlsym_that_is_not_answered_jumps)
{
	hook_real_dlsym = (void *(*)(void *, const char *))registers_real;
	answer = (struct hook_answer){ &answer, false };
	registers_mark();
	registers_call((const void *)jump_dlsym);
	ck_assert_str_eq(looked, "dlsym");
	expect_jumped(2);
}
END_TEST

START_TEST(dlsym_that_is_answered_returns)
{
	answer = (struct hook_answer){ _i ? &answer : NULL, true };
	registers_mark();
	registers_call((const void *)jump_dlsym);
	ck_assert_str_eq(looked, "dlsym");
	ck_assert_uint_eq(registers_got.rax, (uintptr_t)answer.value);
	ck_assert_ptr_null(registers_seen.returns);
	expect_caller_and_stack();
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("jump");

	tcase_add_loop_test(tc, a_hook_looks_and_jumps, 0, (int)HOOKS);
	tcase_add_test(tc, dlsym_that_is_not_answered_jumps);
	tcase_add_loop_test(tc, dlsym_that_is_answered_returns, 0, 2);
	return unit_run(tc, "jump");
}
