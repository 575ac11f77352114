/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace says of torch: its ABI, once that is settled; CPUs and threads, once. */
#include "agent/agent.h"
#include "agent/core/job.h"
#include "agent/core/spool.h"
#include "agent/torch/abi.h"
#include "agent/torch/torch.h"
#include "base/cpu_group.h"
#include "base/fmt.h"
#include "base/own_thread.h"
#include "base/seldom.h"
#include "base/sys.h"

#include <errno.h>
#include <sched.h>

static _Atomic bool facts_settled;
static _Atomic bool cpus_told;
static _Atomic bool facts_busy; /* any thread may end a window */

/* How many CPUs the process may use, and how many threads OpenMP would give an operator
 * of this thread, which has ended a step: a thread of ours, or torch's library as it
 * loads, would say another number. Both are asked only: torch's own question may change
 * the answer. */
void agent_facts_cpus(void)
{
	cpu_set_t cpus;
	char json[64];
	int saved = errno;

	/* A filter of the program's own may forbid the call. */
	if (torch_found() && abi.threads && spool.head && !own_thread_mine &&
	    !sys_confined && !atomic_load_explicit(&cpus_told, memory_order_relaxed) &&
	    !atomic_exchange(&cpus_told, true) &&
	    !sched_getaffinity(0, sizeof(cpus), &cpus)) {
		fmt(json, sizeof(json), "{\"cpus\": %u, \"torch threads\": %d}",
		    cpu_group_usable((unsigned)CPU_COUNT(&cpus),
				     job ? job->cpus : UINT64_MAX),
		    abi.threads());
		spool_fact("cpu", json);
	}
	errno = saved;
}

/* The facts are written anew at each window's end until torch's layout is settled; of two
 * threads that come together one does it. */
void agent_facts(void)
{
	static SELDOM char json[2048];

	if (!torch_found() || facts_settled || !spool.head ||
	    atomic_exchange(&facts_busy, true))
		return;
	facts_settled = abi_settled(config_wants_inputs(&agent.config));
	agent_ranks();
	abi_facts(json, sizeof(json));
	spool_fact("torch", json);
	atomic_store(&facts_busy, false);
}

void agent_facts_forget(void)
{
	facts_settled = false;
	atomic_store(&cpus_told, false);
	atomic_store(&facts_busy, false);
}
