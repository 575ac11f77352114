/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look - what the jumping hooks call, and the table they hand it to.
 *
 * Threads  any.  Memory  static.  Errors  none.  Units  none.
 */
#ifndef HOOKS_LOOK_H
#define HOOKS_LOOK_H

#include "agent/hooks/hook.h"

extern struct hook_listener hook_to;

void hook_look_dlsym(void *handle, const char *name);

struct hook_answer { /* in rax and rdx */
	void *value;
	bool given; /* else the real dlsym is asked */
};

/* dlsym(handle, name) of the code at `caller`. */
struct hook_answer hook_answer_dlsym(void *handle, const char *name, const void *caller);
struct hook_answer cuda_dlsym(void *handle, const char *name, const void *caller);
void hook_look_execute(void);
void hook_look_usage(const void *event);
void hook_look_toggle(bool on, const void *set); /* toggle.c */
void hook_look_profile(const void *config, const void *set);
void hook_look_profile_end(void);
void hook_watch_process(void); /* process.c */

#endif
