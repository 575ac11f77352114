/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader - whether the constructors of what is just being opened may be running.
 *
 * Threads  any.
 * Memory   none.
 * Errors   none: when in doubt the loader counts as busy.
 * Units    none.
 */
#ifndef HOOKS_LOADER_H
#define HOOKS_LOADER_H

#include <stdbool.h>

/* True when this thread may be inside dlopen, where a library is mapped but not yet
 * initialised: to open it again there would run its constructors too early. */
bool loader_busy(void);

#endif
