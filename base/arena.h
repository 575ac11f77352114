/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena - memory while malloc is not there, and for all the agent owns.
 *
 * Threads  any; lock-free.
 * Memory   a static first block, then anonymous maps of 1 MiB; never given back.
 * Errors   NULL when the kernel has no memory left.
 * Units    bytes; blocks are zeroed and 16-byte aligned.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

void *arena_alloc(size_t size);

#endif
