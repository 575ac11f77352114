/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spin - a lock for a few stores: whoever waits lets others run meanwhile.
 *
 * Threads  any. Who has it may still be interrupted, and must not be by itself.
 * Memory   the caller's.
 * Errors   none.
 * Units    none.
 */
#ifndef BASE_SPIN_H
#define BASE_SPIN_H

#include "base/sys.h"

#include <sched.h>
#include <stdatomic.h>

static inline void spin_lock(atomic_flag *lock)
{
	while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire))
		if (sys_confined)
			__builtin_ia32_pause();
		else
			sched_yield();
}

static inline void spin_unlock(atomic_flag *lock)
{
	atomic_flag_clear_explicit(lock, memory_order_release);
}

#endif
