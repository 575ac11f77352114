/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find - where the agent's library is.
 *
 * Threads  one.
 * Memory   the caller's.
 * Errors   -ENOENT: it is at none of the places.
 * Units    none.
 */
#ifndef LAUNCHER_FIND_H
#define LAUNCHER_FIND_H

#include <stddef.h>

/* Beside the launcher, then in ../lib and ../lib64 from there. An absolute path. */
int find_agent(char *path, size_t size);
/* The launcher's own path, for lines that name a command to type. */
const char *find_self(void);

#endif
