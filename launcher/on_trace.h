/* SPDX-License-Identifier: Apache-2.0 */
/*
 * on_trace - the launcher's part of on_trace: it starts the command for each file that
 * the finisher tells of, while the program runs and after it.
 *
 * Threads  one.
 * Memory   static.
 * Errors   lines; a file that it did not come to is left without a mark, for recover.
 * Units    ns of CLOCK_MONOTONIC.
 */
#ifndef LAUNCHER_ON_TRACE_H
#define LAUNCHER_ON_TRACE_H

#include "config/config.h"

#include <signal.h>
#include <sys/types.h>

/* The finisher's end of a pipe of paths; -1 = none, or no command was asked for. */
int on_trace_start(const struct config *c);
/* Starts the commands that may run now. */
void on_trace_look(void);
/* Waits until all commands have ended, or until `until`, or until the user presses ^C.
 * `ended` takes each child that ends; goes_on: the finisher runs the command for the
 * rest. */
void on_trace_await(int64_t until, const volatile sig_atomic_t *interrupted,
		    void (*ended)(pid_t pid, int status), bool goes_on);

#endif
