/* SPDX-License-Identifier: Apache-2.0 */
/* The function is not exported by us: a hook without a version would be taken for the
 * one of glibc 2.2.5, whose conditions are others, and each program would come by. */
#include "agent/python/lock_wait.h"
#include "agent/core/clock.h"
#include "agent/core/gate.h"
#include "agent/core/spool.h"
#include "agent/hooks/bound.h"
#include "agent/hooks/hook.h"
#include "agent/python/interpreter.h"
#include "agent/python/pause.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#define NAME     "pthread_cond_timedwait"
#define SINCE    "GLIBC_2.3.2" /* of x86-64 */
#define LEAST_US 50 /* a shorter wait is no row */
/* Between two rounds the thread looks whether the lock is free. After one that ran out of
 * time it may not have been given a processor. */
#define SOON_US  10
#define LATER_US 1000

typedef int wait_call(pthread_cond_t *condition, pthread_mutex_t *mutex,
		      const struct timespec *until);

static wait_call *real;

/* Of a thread: its last wait. */
static __thread struct {
	uint64_t begin, end;
	bool expired; /* its last round ran out of time */
	struct pause row;
} mine __attribute__((tls_model("initial-exec")));

/* In ticks; what comes first fills them in. */
static _Atomic uint64_t least, soon, later;

static __attribute__((noinline)) void find_ticks(void)
{
	double us = clock_rate(spool.head) / 1e6;

	atomic_store(&soon, (uint64_t)(us * SOON_US));
	atomic_store(&later, (uint64_t)(us * LATER_US));
	atomic_store(&least, (uint64_t)(us * LEAST_US));
}

/* Another round, or a wait of its own? */
static bool goes_on(uint64_t begin)
{
	return mine.end && begin - mine.end < (mine.expired ? later : soon);
}

static void note_round(uint64_t begin, uint64_t end, bool expired)
{
	struct pause_cost cost = pause_cost_begin();

	if (!goes_on(begin)) {
		mine.begin = begin;
		mine.row = (struct pause){ 0 };
	}
	mine.end = end;
	mine.expired = expired;
	if (mine.row.record)
		pause_end(&mine.row, end, NULL);
	else if (end - mine.begin > least)
		pause_whole(&mine.row, PAUSE_GIL, mine.begin, end);
	pause_cost_end(&cost, &mine.row);
	mine.row.timed = false;
}

static __attribute__((noinline)) int watch_wait(pthread_cond_t *condition,
						pthread_mutex_t *mutex,
						const struct timespec *until)
{
	uint64_t begin = clock_ticks();
	int result = real(condition, mutex, until);
	uint64_t end = clock_ticks();
	int saved = errno;

	if (__builtin_expect(!least, 0) && spool.head)
		find_ticks();
	if (gate_cycle())
		note_round(begin, end, result == ETIMEDOUT);
	errno = saved;
	return result;
}

/* The interpreter's pointer alone leads here. */
static int on_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
		   const struct timespec *until)
{
	if (__builtin_expect(!gate_cycle(), 1))
		return real(condition, mutex, until);
	return watch_wait(condition, mutex, until);
}

/* What a slot that is not bound yet would be bound to. */
static void *find_real(void)
{
	void *found = dlvsym(RTLD_DEFAULT, NAME, SINCE);

	return found ? found : hook_real_dlsym(RTLD_DEFAULT, NAME);
}

const char *lock_wait_start(void)
{
	void *was = find_real();

	real = (wait_call *)was;
	if (!bound_exchange((const void *)interpreter.finalizing, NAME, (void *)on_wait,
			    &was))
		return "this interpreter waits for it in another way";
	real = (wait_call *)was;
	return NULL;
}

void lock_wait_fork_child(void)
{
	mine.end = 0;
	mine.row = (struct pause){ 0 };
}
