/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's beginning and end. vfork is left alone: its child writes nothing (its
 * pid differs). After exec the environment carries the agent into the new image (exec.c)
 * while the finisher, or `recover`, has the old spool.
 */
#include "agent/hooks/enter.h"
#include "agent/hooks/libc.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef int (*main_fn)(int, char **, char **);
typedef int (*start_fn)(main_fn, int, char **, void (*)(void), void (*)(void),
			void (*)(void), void *);

static main_fn real_main;

/* All constructors have run, main has not. Ends in a tail call: no frame of ours. */
static int before_main(int argc, char **argv, char **envp)
{
	if (hook_to.main)
		hook_to.main();
	return real_main(argc, argv, envp);
}

/* The program's own first function calls this, before any of its constructors and after
 * those of its libraries, among them ours. */
int HOOK_EXPORT(__libc_start_main)(main_fn program, int argc, char **argv,
				   void (*init)(void), void (*fini)(void),
				   void (*rtld_fini)(void), void *stack_end)
{
	start_fn start = (start_fn)hook_next("__libc_start_main");

	real_main = program;
	return start(before_main, argc, argv, init, fini, rtld_fini, stack_end);
}

/* The same system call as the C library's, which has no name that we could find
 * safely from every context that ends a process. */
static void __attribute__((noreturn)) leave_process(int status)
{
	if (hook_to.leave)
		hook_to.leave();
	for (;;)
		syscall(SYS_exit_group, status);
}

void HOOK_EXPORT(_exit)(int status)
{
	leave_process(status);
}

void HOOK_EXPORT(_Exit)(int status)
{
	leave_process(status);
}

/* The C library takes NULL for no handler. A forked child inherits them all: so they are
 * registered once, however often hooks begin. */
void hook_watch_process(void)
{
	static bool once;

	if (!once)
		pthread_atfork(hook_to.fork_prepare, hook_to.fork_parent,
			       hook_to.fork_child);
	once = true;
}
