/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock - a lock between the consumer and callers, which nobody waits for longer than 2 s.
 *
 * Threads  any, but no signal handler.
 * Memory   the caller's word.
 * Errors   false: not ours, go on all the same.
 * Units    none.
 */
#ifndef CUPTI_LIB_LOCK_H
#define CUPTI_LIB_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

bool lock_take(_Atomic uint32_t *lock);
void lock_give(_Atomic uint32_t *lock, bool taken);

#endif
