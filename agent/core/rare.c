/* SPDX-License-Identifier: Apache-2.0 */
/* Seldom and long work of ours on the program's threads. The only clock without a system
 * call is the wall's, so what other programs do meanwhile counts, too. Sums lie here, and
 * not in the spool, which may be gone in a child that a signal's handler forks. */
#include "agent/core/rare.h"
#include "agent/core/clock.h"
#include "base/own_thread.h"
#include "base/sys.h"

#include <stdatomic.h>

__thread uint64_t rare_ticks __attribute__((tls_model("initial-exec")));
static __thread uint32_t depth_now __attribute__((tls_model("initial-exec")));
static _Atomic uint64_t untold_ns;

void rare_begin(struct rare *r)
{
	if (own_thread_mine)
		return;
	depth_now++;
	r->begin = clock_ticks();
	r->clock_ns = sys_clock_ns(CLOCK_MONOTONIC);
}

void rare_end(const struct rare *r)
{
	int64_t ns;

	if (own_thread_mine || --depth_now)
		return;
	ns = sys_clock_ns(CLOCK_MONOTONIC) - r->clock_ns;
	rare_ticks += clock_ticks() - r->begin;
	if (ns > 0)
		atomic_fetch_add(&untold_ns, (uint64_t)ns);
}

uint64_t rare_take(void)
{
	return atomic_exchange(&untold_ns, 0);
}
