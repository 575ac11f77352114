/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_group - the memory that control groups leave to this process.
 *
 * A limit holds for all groups below it: so each group on the way to the root is asked,
 * and the one that leaves least counts.  Groups of both hierarchies are asked
 * (memory.max, memory.limit_in_bytes); one with 1 GiB or more limits nobody here.
 *
 * Threads  any.
 * Memory   17 KiB of stack.  Opens files, one at a time.
 * Errors   UINT64_MAX, as if there were no limit.
 * Units    bytes.
 */
#ifndef BASE_MEMORY_GROUP_H
#define BASE_MEMORY_GROUP_H

#include <stdint.h>

/* The limit less all that counts as used, files that could be dropped as well. */
uint64_t memory_group_left(void);
/* The limit less what the kernel cannot drop: anonymous and shared memory, locked pages,
 * the kernel's own. The rest holds pages of files, the program's code among them. */
uint64_t memory_group_room(void);

#endif
