/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part - a file while it grows: a name that was free, and a lock that says who is at it.
 *
 * Threads  one at a time; any number of processes.
 * Memory   the caller's.
 * Errors   a descriptor, or -errno; -EEXIST when a thousand names are taken.
 * Units    bytes.
 */
#ifndef WRITER_PART_H
#define WRITER_PART_H

#include <stddef.h>

#define PART_NAME 288

/* Makes "<name>.part" in a directory. One that a dead writer of ours left is removed; a
 * living one's, another user's, and a link are let alone: then it is "<name>.2.part",
 * and so on. No file that was there is opened for writing, or cut. */
int part_make(int dir, const char *name, char *part, size_t size);

#endif
