/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_thread_bench - threads of ours that stay until they are told to end.
 *
 * Threads  the test's own.
 * Memory   static.
 * Errors   a failed Check assertion.
 * Units    none.
 */
#ifndef TESTS_OWN_THREAD_BENCH_H
#define TESTS_OWN_THREAD_BENCH_H

#include "base/own_thread.h"
#include "tests/unit/unit.h"

#include <sched.h>
#include <semaphore.h>

static struct own_thread one, two;
static sem_t up, leave;
static void (*is_there)(void); /* called in each, once it is there */

static inline void begin(void)
{
	sem_init(&up, 0, 0);
	sem_init(&leave, 0, 0);
}

static inline void *stay(void *arg)
{
	(void)arg;
	if (is_there)
		is_there();
	sem_post(&up);
	while (sem_wait(&leave))
		;
	return NULL;
}

static inline void start(struct own_thread *t)
{
	ck_assert_int_eq(own_thread_start(t, stay), 0);
	sem_wait(&up);
}

/* Ends one, and waits for the kernel to know. */
static inline void end(const struct own_thread *t)
{
	sem_post(&leave);
	while (!own_thread_gone(atomic_load(&t->last)))
		sched_yield();
}

#endif
