/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ahead - what the keeper does before anybody needs it: pages are populated, and moments
 * of the clock taken.
 *
 * Threads  the keeper, or a program's only one; ahead_forget: a fork child's only one.
 * Memory   static.
 * Errors   a full disk gives one line in the log.
 * Units    bytes; ns.
 */
#ifndef WRITER_AHEAD_H
#define WRITER_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#define AHEAD_MOST (32ull << 20) /* bytes, for a program in a hurry */

/* Both return ns to the next call. ahead_memory calls reserve() where pages cannot be
 * populated before the file has room for them (spool_reserve). */
int64_t ahead_memory(void (*reserve)(void));
int64_t ahead_time(bool now_please); /* now_please: a window is about to be written */
void ahead_of_one(void); /* both, for the next chunk of a program without a keeper */
void ahead_forget(void);

#endif
