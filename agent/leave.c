/* SPDX-License-Identifier: Apache-2.0 */
/* The process ends, in whatever way: the spool keeps what is left. */
#include "agent/agent.h"
#include "agent/core/clock.h"
#include "agent/core/rare.h"
#include "agent/sched/sched.h"
#include "agent/wire_python.h"
#include "base/sys.h"

void agent_leave(void)
{
	struct spool_header *h = spool.head;

	/* Only its pid, asked of the kernel, tells a child of vfork from its parent. */
	if (!h || sys_confined || agent.pid != sys_pid())
		return;
	wire_python_leave();
	sched_leave();
	wire_gpu_leave();
	atomic_fetch_add(&h->rare_ns, rare_take());
	clock_edge(h);
	atomic_store(&h->exit_ticks, clock_ticks());
}
