/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder - directories by descriptor, so that nobody puts a link of theirs in the way.
 *
 * Threads  any.
 * Memory   some 5 KiB of stack, 9 where a link is followed.
 * Errors   a descriptor, or -errno: -EPERM, without a system call, once the program has
 *          confined itself (sys_confined). The global errno is left alone.
 * Units    none.
 *
 * A directory is private when we, root, or whoever owns "/" (in a user namespace that
 * is not root) own it, and nobody else can write it.
 */
#ifndef BASE_FOLDER_H
#define BASE_FOLDER_H

#include "base/sys.h"

/* openat(2), O_CLOEXEC added. */
int folder_file(int at, const char *name, int flags, unsigned mode);
/* The directory `path` (O_PATH), walked by us. A link counts in a private directory;
 * elsewhere it must be ours or root's: -ELOOP. With a mode, what is missing is made. */
int folder_open(const char *path, unsigned mode);
/* The same below a directory: no link counts there (-ELOOP), and no way up (-EINVAL). */
int folder_below(int at, const char *path, unsigned mode);
/* Is a directory private, as said above? `st`: what sys_fstat told of it. */
bool folder_is_private(const struct sys_stat *st);

#endif
