/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork - a child begins afresh: what its parent recorded is its parent's, and what it
 * will need itself is opened before fork returns, while it has one thread.
 */
#include "agent/agent.h"
#include "agent/core/gate.h"
#include "agent/core/job.h"
#include "agent/core/rare.h"
#include "agent/core/self.h"
#include "agent/core/spool.h"
#include "agent/core/thread.h"
#include "agent/cupti/cupti.h"
#include "agent/python/pending.h"
#include "agent/sched/sched.h"
#include "agent/torch/torch.h"
#include "agent/wire_python.h"
#include "base/log.h"
#include "base/own_thread.h"
#include "base/sys.h"
#include "writer/writer.h"

/* Did anything begin in the parent, or in the parent's parent? Else the child has nothing
 * to forget, and each page that is not written to is one that the kernel does not have to
 * copy. */
static bool has_begun(void)
{
	return atomic_load(&agent.state) != AGENT_FRESH || spool.base || thread_mine ||
	       cupti_met();
}

static void forget_records(void)
{
	writer_forget();
	spool_forget();
	thread_forget();
	job_forget();
	gate_set(0, 0);
	agent_facts_forget();
	rare_take(); /* its parent's */
}

/* The child of a handler that forked in the middle of something of ours, or of a process
 * that may ask the kernel for nothing. What was interrupted goes on when the handler
 * returns: all that it knows stays where it is, and nothing else is recorded in this
 * child. */
static void stay_out(void)
{
	agent.out = true;
	log_silence();
	if (!sys_confined)
		spool_leave();
	agent_stay_out();
	if (agent.config.children && sys_confined && job)
		atomic_fetch_add(&job->confined, 1);
	else if (agent.config.children)
		agent_unrecorded();
	torch_fork_child();
}

void fork_child(void)
{
	bool begun = has_begun();

	if (!agent.on)
		return;
	if (sys_confined || agent_midway()) {
		stay_out();
		return;
	}
	if (begun)
		forget_records();
	if (!agent.config.children || !agent_place_child())
		agent.on = false;
	agent.pid = self.pid;
	limits_fork_child();
	agent_heap_fork_child();
	wire_python_fork_child();
	sched_fork_child();
	if (begun || !agent.on) {
		torch_fork_child();
		/* look_for_torch() has found torch once, and does not look again. */
		if (agent.on && torch_known())
			writer_need();
		wire_gpu_fork_child();
		atomic_store(&agent.state, agent.on ? AGENT_FRESH : AGENT_ASIDE);
	}
}

/* The agent's threads end before the memory is copied, unless one is writing a file: the
 * child would have their memory without them, in the middle of something. */
void fork_prepare(void)
{
	if (!agent.on)
		return;
	writer_pause();
	torch_fork_prepare();
}

static int wake_writer(void *arg)
{
	(void)arg;
	writer_wake();
	return 0;
}

/* Python counts the threads at the end of its os.fork, and warns of a second one. A
 * program that has several is warned without us. */
void fork_parent(void)
{
	if (!agent.on)
		return;
	torch_fork_parent();
	if (!writer_unpause())
		return;
	if (!pending_counts_threads() || own_thread_others() != 1 ||
	    !pending_after(wake_writer))
		writer_wake();
}
