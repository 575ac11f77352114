/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dying - a process that was killed, and has not ended yet.
 *
 * Threads  one.
 * Memory   none.
 * Errors   dying_stop: false where nobody may be traced.
 * Units    none.
 */
#ifndef TESTS_DYING_H
#define TESTS_DYING_H

#include "tests/unit/unit.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child: it is killed, and stops on its way. */
static inline bool dying_stop(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXIT))
		return false;
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFSTOPPED(status) && status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8);
}

static inline void dying_end(pid_t pid)
{
	int status;

	ck_assert_int_eq(ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

#endif
