/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a process: what CUPTI still holds is fetched, for two seconds at most. */
#include "agent/cupti/exit.h"
#include "agent/core/rare.h"
#include "agent/cupti/client/copies.h"
#include "agent/cupti/cupti.h"
#include "agent/cupti/flow/consumer.h"
#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>

/*
 * CUDA takes itself down in handlers of exit, registered when it starts and with its
 * first context; ours must run before: so we register at the same moments. The first
 * handler to run fetches what CUPTI holds; later ones find that done.
 */
#define MOMENTS   8u
#define EXIT_WAIT 2000000000ll

static _Atomic uint32_t moments;
static _Atomic uint32_t owner; /* process id */
static int64_t until; /* CLOCK_MONOTONIC ns: all waits at the end, together */

static int64_t time_left(void)
{
	int64_t now = sys_clock_ns(CLOCK_MONOTONIC);

	if (!until)
		until = now + EXIT_WAIT;
	return until > now ? until - now : 0;
}

static void fetch_at_exit(bool settle)
{
	struct rare cost;
	int saved = errno;

	/* A child of vfork must not end what is its parent's. */
	if (atomic_load(&owner) == sys_pid()) {
		rare_begin(&cost);
		copies_end();
		consumer_finish(time_left(), settle);
		rare_end(&cost);
	}
	errno = saved;
}

static void at_exit(void)
{
	fetch_at_exit(false);
}

void exit_register(void)
{
	atomic_store(&owner, sys_pid());
	if (atomic_fetch_add(&moments, 1) < MOMENTS)
		atexit(at_exit);
}

void cupti_exit(void)
{
	fetch_at_exit(true);
}

void exit_fork_child(void)
{
	atomic_store(&moments, 0);
	atomic_store(&owner, 0);
	until = 0;
}
