/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target - which program a command starts, and whether the agent can go with it.
 *
 * Threads  one.
 * Memory   inside the struct.
 * Errors   target_find: 0, or -ENOENT / -EACCES as execvp would say.
 * Units    none.
 */
#ifndef LAUNCHER_TARGET_H
#define LAUNCHER_TARGET_H

#include "base/image.h"

#include <limits.h>
#include <stdbool.h>

struct target {
	char path[PATH_MAX]; /* the path for execve */
	char image[PATH_MAX]; /* the file that really runs: a script's interpreter */
	bool text; /* no program and no #! line: /bin/sh reads it */
	char why[256]; /* why preloading would fail, or break it; "" = it works */
	char lacks[IMAGE_LINE]; /* a missing interpreter: nothing starts */
	const char *advice; /* what the user can do about `why` */
};

/* Looks up the command in PATH, follows #! lines, and reads the ELF file. */
int target_find(struct target *t, const char *command);

#endif
