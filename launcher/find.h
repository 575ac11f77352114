/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find - where the agent's library is.
 *
 * Threads  one.
 * Memory   the caller's.
 * Errors   -ENOENT: the library is at none of the places.
 * Units    none.
 */
#ifndef LAUNCHER_FIND_H
#define LAUNCHER_FIND_H

#include <stdbool.h>
#include <stddef.h>

/* Looks beside the launcher, then in ../lib/proflaunch, ../lib and ../lib64 from there.
 * The path is absolute. */
int find_agent(char *path, size_t size);
/* The nth path at which a library `name` of ours may lie, the likeliest first: beside the
 * launcher, then where an installation has it. False: there are no more. */
bool find_place(unsigned n, const char *name, char *path, size_t size);
/* The launcher's own path, static; "proflaunch" where the system does not tell it. */
const char *find_self(void);

#endif
