/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part - a file while it grows: under a name that was free, and locked by its writer.
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

/* Makes "<name>.part" in a directory. Removes one that a dead writer of ours left; lets a
 * living writer's, another user's, and a link alone: then the new file is
 * "<name>.2.part", and so on. No file that was there is opened for writing, or cut. */
int part_make(int dir, const char *name, char *part, size_t size);

#endif
