/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/clock.h"
#include "agent/core/sys.h"
#include "agent/cupti/parts.h"
#include "agent/cupti/tee.h"

#include <errno.h>
#include <stdlib.h>

/*
 * CUDA takes itself down in handlers of exit, registered when it starts and with its
 * first context; ours must run before: so we register at the same moments. The first to
 * run fetches what CUPTI holds; who comes later finds that done.
 */
#define MOMENTS   8u
#define EXIT_WAIT 2000000000ll

static _Atomic uint32_t moments;
static _Atomic uint32_t owner; /* process id */
static int64_t until; /* CLOCK_MONOTONIC ns: all waits at the end, together */

static int64_t left(void)
{
	int64_t now = clock_get_ns(CLOCK_MONOTONIC);

	if (!until)
		until = now + EXIT_WAIT;
	return until > now ? until - now : 0;
}

static void leave(bool settle)
{
	int saved = errno;

	/* A child of vfork must not end what is its parent's. */
	if (atomic_load(&owner) == sys_pid()) {
		tee_end();
		consumer_finish(left(), settle);
	}
	errno = saved;
}

static void handler(void)
{
	leave(false);
}

void exit_register(void)
{
	atomic_store(&owner, sys_pid());
	if (atomic_fetch_add(&moments, 1) < MOMENTS)
		atexit(handler);
}

void cupti_exit(void)
{
	leave(true);
}

void exit_fork_child(void)
{
	atomic_store(&moments, 0);
	atomic_store(&owner, 0);
	until = 0;
}
