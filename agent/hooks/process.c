/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's beginning and end. vfork and the exec family are left alone: a
 * vfork child writes nothing (its pid differs), and after exec the environment
 * carries the agent into the new image while `recover` finishes the old spool.
 */
#include "agent/hooks/look.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
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

HOOK_VISIBLE int HOOK_EXPORT(__libc_start_main)(main_fn, int, char **, void (*)(void),
						void (*)(void), void (*)(void), void *);

int HOOK_EXPORT(__libc_start_main)(main_fn program, int argc, char **argv,
				   void (*init)(void), void (*fini)(void),
				   void (*rtld_fini)(void), void *stack_end)
{
	start_fn start;

	hook_look_dlsym(NULL, NULL);
	start = (start_fn)hook_real_dlsym(RTLD_NEXT, "__libc_start_main");
	real_main = program;
	return start(before_main, argc, argv, init, fini, rtld_fini, stack_end);
}

/* The same system call as the C library's, which has no name that we could find
 * safely from every context that ends a process. */
static void __attribute__((noreturn)) leave(int status)
{
	if (hook_to.leave)
		hook_to.leave();
	for (;;)
		syscall(SYS_exit_group, status);
}

HOOK_VISIBLE void HOOK_EXPORT(_exit)(int status) __attribute__((noreturn));
HOOK_VISIBLE void HOOK_EXPORT(_Exit)(int status) __attribute__((noreturn));

void HOOK_EXPORT(_exit)(int status)
{
	leave(status);
}

void HOOK_EXPORT(_Exit)(int status)
{
	leave(status);
}

static void prepare(void)
{
	if (hook_to.fork_prepare)
		hook_to.fork_prepare();
}

static void parent(void)
{
	if (hook_to.fork_parent)
		hook_to.fork_parent();
}

static void child(void)
{
	if (hook_to.fork_child)
		hook_to.fork_child();
}

void hook_watch_process(void)
{
	static bool once;

	if (!once)
		pthread_atfork(prepare, parent, child);
	once = true;
}
