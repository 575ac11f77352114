/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step - a call one instruction at a time, so that something else happens between any two
 * of them: what another thread, or a signal's handler, may do at just that moment.
 *
 *	for (unsigned k = 0; step_run(call, k, meanwhile); k++)
 *		...what must hold whenever that came...
 *
 * Threads  one.
 * Memory   static.
 * Errors   a failed Check assertion where the processor's trap flag does nothing.
 * Units    instructions.
 */
#ifndef TESTS_STEP_H
#define TESTS_STEP_H

#include "tests/unit/unit.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <ucontext.h>

static struct {
	void (*meanwhile)(void);
	unsigned at; /* it comes behind so many instructions ... */
	bool each; /* ... or behind each */
	unsigned done, fences;
} step;

/* Does what comes next order stores before loads? Instructions that lock do. */
static inline bool step_is_fence(const unsigned char *code)
{
	return *code == 0xf0 || !memcmp(code, "\x0f\xae\xf0", 3) || *code == 0x87 ||
	       (*code == 0x48 && code[1] == 0x87);
}

static void step_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	(void)number;
	(void)info;
	step.fences += step_is_fence((const void *)u->uc_mcontext.gregs[REG_RIP]);
	if ((step.each || step.done == step.at) && step.meanwhile) {
		step.meanwhile();
		if (!step.each) /* the rest at once */
			u->uc_mcontext.gregs[REG_EFL] &= ~0x100;
	}
	step.done++;
}

/* What lies below the stack's end may be in use. */
static inline void step_flag(bool on)
{
	if (on)
		__asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\t"
				 "orq $0x100, (%%rsp)\n\tpopfq\n\t"
				 "leaq 128(%%rsp), %%rsp" ::
					 : "memory", "cc");
	else
		__asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\t"
				 "andq $~0x100, (%%rsp)\n\tpopfq\n\t"
				 "leaq 128(%%rsp), %%rsp" ::
					 : "memory", "cc");
}

/* True while there is an instruction number `at`. */
static inline bool step_run(void (*call)(void), unsigned at, void (*meanwhile)(void))
{
	struct sigaction trap = { .sa_sigaction = step_trap, .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &trap, NULL);
	step.meanwhile = meanwhile;
	step.at = at;
	step.done = step.fences = 0;
	step_flag(true);
	call();
	step_flag(false);
	ck_assert_uint_gt(step.done, 0);
	return step.done > at;
}

/* The same with `look` behind each instruction. */
static inline void step_each(void (*call)(void), void (*look)(void))
{
	step.each = true;
	step_run(call, 0, look);
	step.each = false;
}

#endif
