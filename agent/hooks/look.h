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
void hook_look_execute(void);
void hook_look_usage(const void *event);
void hook_watch_process(void); /* process.c */

#endif
