/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_bench - the agent without its constructor: what agent.c wires, begun by a test.
 *
 * Threads  one.
 * Memory   static.
 * Errors   a failed Check assertion.
 * Units    none.
 */
#ifndef TESTS_AGENT_BENCH_H
#define TESTS_AGENT_BENCH_H

#include "agent/agent.h"
#include "agent/core/gate.h"
#include "agent/core/job.h"
#include "agent/core/names.h"
#include "agent/core/self.h"
#include "agent/cupti/cupti.h"
#include "agent/heap/heap.h"
#include "agent/hooks/enter.h"
#include "agent/sched/sched.h"
#include "agent/torch/torch.h"
#include "base/log.h"
#include "base/own_thread.h"
#include "base/sys.h"
#include "tests/unit/emit_bench.h"
#include "tests/unit/seam.h"
#include "writer/writer.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* agent.c's part: it would start in this program as well. */
struct agent agent;
static unsigned forgotten, left;

void agent_facts_forget(void)
{
	forgotten++;
}

void agent_leave(void)
{
	left++;
}

void agent_collect(unsigned what, bool on)
{
	(void)what;
	(void)on;
}

static char dir[64];
static bool before_4_14;

/* Linux before 4.14 does not wipe pages in a child. */
__attribute__((visibility("default"))) int madvise(void *at, size_t size, int advice)
{
	if (!before_4_14 || advice != MADV_WIPEONFORK)
		return (int)syscall(SYS_madvise, at, size, advice);
	errno = EINVAL;
	return -1;
}

static inline void configure(void)
{
	strcpy(dir, "/tmp/unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	unsetenv("RANK");
	config_defaults(&agent.config);
	strcpy(agent.config.logdir, dir);
	strcpy(agent.config.spool, dir);
	strcpy(agent.config.marker, "time:1000");
	agent.config.buffer_mb = 5;
	clock_start();
	self_look("test");
	agent.pid = self.pid;
}

static inline void place(void)
{
	static struct torch_listener none;

	sched_start(&agent.config, &(struct sched_actions){ .begin = agent_begin });
	torch_start(&agent.config, &none);
	hook_look_dlsym(NULL, NULL); /* as the hooks' start does */
	agent.on = agent_place();
}

/* All is there: a job, a spool, a window and a record in it. */
static inline void begin(void)
{
	configure();
	place();
	ck_assert(agent.on);
	ck_assert(agent_begin());
	bench_cycle(1);
	ck_assert(emit_one(1));
}

static inline bool has_fact(const char *line)
{
	return strstr(spool.head->facts, line);
}

/* Threads of ours and the program's, as the kernel counts them. */
static inline unsigned threads(void)
{
	struct stat st;

	ck_assert_int_eq(stat("/proc/self/task", &st), 0);
	return (unsigned)st.st_nlink - 2;
}

static inline void wait_for_threads(unsigned n)
{
	while (threads() != n)
		sched_yield();
}

#endif
