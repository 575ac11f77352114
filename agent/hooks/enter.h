/* SPDX-License-Identifier: Apache-2.0 */
/*
 * enter - what the jumping hooks call, and the table they hand it to.
 *
 * Threads  any.  Memory  static.  Errors  none.  Units  none.
 */
#ifndef HOOKS_ENTER_H
#define HOOKS_ENTER_H

#include "agent/hooks/hook.h"

extern struct hook_listener hook_to;

/* Finds the real dlsym, and tells the listener of `name` unless that is NULL. Keeps
 * errno, as do all functions here that begin with hook_look. */
void hook_look_dlsym(void *handle, const char *name);
/* The function behind ours; NULL: there is none. */
void *hook_next(const char *name);

struct hook_answer { /* in rax and rdx */
	void *value;
	bool given; /* else the real dlsym is asked */
};

/* dlsym(handle, name) of the code at `caller`. */
struct hook_answer hook_answer_dlsym(void *handle, const char *name, const void *caller);
/* cuda/lookup.c; why it is no member of the listener is said in dlsym.c. */
struct hook_answer cuda_dlsym(void *handle, const char *name, const void *caller);
void hook_look_execute(void);
void hook_look_usage(const void *event);
void hook_look_toggle(bool on, const void *set); /* torch.c */
void hook_look_profile(const void *config, const void *set);
void hook_look_profile_end(void);
void hook_watch_process(void); /* process.c */
void hook_start_exec(void); /* exec.c */

#endif
