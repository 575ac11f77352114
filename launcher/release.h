/* SPDX-License-Identifier: Apache-2.0 */
/*
 * release - the caller's descriptors: the program's alone, once it runs.
 *
 * Held by us, too, a pipe has no end when the program closes it, a writer is not told
 * that nobody reads, a lock stays.
 *
 * Threads  one.
 * Memory   the stack.
 * Errors   none: what cannot be closed stays.
 * Units    none.
 */
#ifndef LAUNCHER_RELEASE_H
#define LAUNCHER_RELEASE_H

/* All go that would outlive an exec: ours would not. stderr stays, for what is to be
 * said, and what a POSIX lock hangs on, which is this process's and would go with it. */
void release_descriptors(void);

#endif
