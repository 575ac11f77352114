/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook - the C library's and torch's functions that we stand in front of.
 *
 * Threads  any; what is handed down is called on the program's threads.
 * Memory   static.
 * Errors   none: the real function always runs, with the caller's own arguments.
 * Units    none.
 *
 * Exported names are listed in *.def; the export map is made from them.
 */
#ifndef HOOKS_HOOK_H
#define HOOKS_HOOK_H

#include <stdbool.h>
#include <stdint.h>

#ifdef HOOK_NO_EXPORT /* unit tests keep their own C library */
#define HOOK_EXPORT(name) hook_test_##name
#define HOOK_VISIBLE
#else
#define HOOK_EXPORT(name) name
#define HOOK_VISIBLE      __attribute__((visibility("default")))
#endif

enum { HOOK_ACTIVITY_CPU = 1, HOOK_ACTIVITY_CUDA = 2 };

struct hook_listener {
	void (*symbol)(const char *name); /* dlsym is asked for it */
	void (*main)(void); /* main is about to run */
	void (*leave)(void); /* _exit: may only store */
	/* Engine::execute, LogAPIUsage are entered; both set where they jump to. */
	void (*backward)(void);
	void (*usage)(const char *event);
	/* The program's own profiler is told to collect some activities or not; sets
	 * hook_real_toggle. */
	void (*toggle)(unsigned activities, bool on);
	/* It begins (or prepares) to collect, or ends; sets the next three. */
	void (*profile)(unsigned activities, bool begins);
	void (*fork_prepare)(void), (*fork_parent)(void), (*fork_child)(void);
};

void hook_start(const struct hook_listener *listener);
/* The C library's own dlsym; ours would only look at the name and jump there. */
extern void *(*hook_real_dlsym)(void *handle, const char *name);
/* Where the jumping hooks of torch.def go. */
extern void *hook_real_execute, *hook_real_usage, *hook_real_toggle;
extern void *hook_real_enable, *hook_real_prepare, *hook_real_disable;

#endif
