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
#include <stddef.h>
#include <stdint.h>

#ifdef HOOK_NO_EXPORT /* unit tests keep their own C library */
#define HOOK_EXPORT(name) hook_test_##name
#define HOOK_VISIBLE
#else
#define HOOK_EXPORT(name) name
#define HOOK_VISIBLE      __attribute__((visibility("default")))
#endif

/* Is a function of libc_floor.h there, brought by this process's libraries? */
#ifdef BASE_LIBC_FLOOR_H
#define libc_has(function) (&(function) != NULL)
#else
#define libc_has(function) true
#endif

enum { HOOK_ACTIVITY_CPU = 1, HOOK_ACTIVITY_CUDA = 2 };

struct hook_listener {
	void (*symbol)(const char *name); /* dlsym is asked for it */
	void (*main)(void); /* main is about to run */
	void (*leave)(void); /* _exit is called: no destructor will run */
	/* Engine::execute, LogAPIUsage are entered; both set where they jump to. */
	void (*backward)(void);
	void (*usage)(const char *event);
	/* The program's own profiler is told to collect some activities or not; sets
	 * hook_real_toggle. */
	void (*toggle)(unsigned activities, bool on);
	/* The same profiler begins (or prepares) to collect, or ends; sets
	 * hook_real_enable, _prepare and _disable. */
	void (*profile)(unsigned activities, bool begins);
	void (*fork_prepare)(void), (*fork_parent)(void), (*fork_child)(void);
	/* A call that means one thread begins, or has ended (unshare, setns). */
	void (*alone)(bool begins);
	/* The program is about to forbid itself system calls: the last moment for ours.
	 * `clock`: the processor's counter as well, and that is certain. True: should the
	 * call fail, `unconfine` is called. */
	bool (*confine)(bool clock);
	void (*unconfine)(void);
	/* All memory is about to be locked; after the call `locked` is told the result,
	 * `done`: it is locked, `future`: and what is mapped later. Signals are blocked.
	 */
	bool (*lock)(void);
	bool (*lock_less)(void); /* ENOMEM: true = there is less to lock now */
	void (*locked)(bool result, bool done, bool future);
	/* RLIMIT_AS or RLIMIT_DATA is `bytes` now. Signals are blocked. */
	void (*limit)(int resource, uint64_t bytes);
};

void hook_start(const struct hook_listener *listener);
/* False: a C library before 2.34, and what it keeps in libdl and libpthread was not
 * loaded with the program. Hooks pass all calls on; nothing else of ours may run. Says so
 * to those who set LD_PRELOAD themselves; the launcher knows what to add. */
bool hook_libc_whole(void);
/* The C library's own dlsym; ours would only look at the name and jump there. */
extern void *(*hook_real_dlsym)(void *handle, const char *name);
/* torch.def: the symbol of each jumping hook, and where it goes. The listener puts the
 * address there when it is told for the first time: before that it is NULL. */
#define HOOK(id, symbol, look, real)        \
	extern const char hook_name_##id[]; \
	extern void *real;
#include "agent/hooks/torch.def"
#undef HOOK

#endif
