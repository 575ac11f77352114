/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock - a lock between the consumer and callers, which nobody waits for for ever.
 *
 * Threads  any, but no signal handler.
 * Memory   the caller's word.
 * Errors   false: not ours.
 * Units    ns.
 */
#ifndef CUPTI_LIB_LOCK_H
#define CUPTI_LIB_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Waits 2 s at most; false: CUPTI hangs in the thread that has the lock, go on all the
 * same. */
bool lock_take(_Atomic uint32_t *lock);
bool lock_take_for(_Atomic uint32_t *lock, int64_t ns);
void lock_give(_Atomic uint32_t *lock, bool taken);

#endif
