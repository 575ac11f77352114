/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_gpu - CUPTI and the CUDA hooks between the other parts: who records what, and
 * when.
 *
 * While CUPTI records, the hooks write no calls: they only tell of markers, stacks and
 * collectives. Where CUPTI cannot be had the hooks give host times, if that was asked
 * for.
 */
#include "agent/agent.h"

#include "agent/core/gate.h"
#include "agent/core/job.h"
#include "agent/core/spool.h"
#include "agent/cuda/cuda.h"
#include "agent/cupti/cupti.h"
#include "agent/sched/sched.h"
#include "agent/unwind/unwind.h"
#include "agent/wire_python.h"
#include "base/elf.h"
#include "base/log.h"
#include "base/sys.h"
#include "writer/writer.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#define TOLD_NO_GPU (1u << 10) /* a bit of job->told */

static _Atomic bool estimating; /* CUPTI cannot be had: hooks measure */
static _Atomic bool cuda_off; /* the running program switched CUDA off */

/* The hooks tell of markers at any time; stacks, times and collectives are written only
 * while a window is open. */
static unsigned needed_from_hooks(bool open)
{
	unsigned what = 0;

	if (sched_wants_calls())
		what |= CUDA_WANT_MARKS;
	if (!cupti_active() && !atomic_load(&estimating))
		what |= CUDA_WANT_READY;
	if (!open || atomic_load(&cuda_off))
		return what;
	what |= CUDA_WANT_COLLECTIVES;
	if (CONFIG_HAS(agent.config.native_stacks, NATIVE_CUDA))
		what |= CUDA_WANT_STACKS;
	if (agent.config.python_stack != PYTHON_OFF)
		what |= CUDA_WANT_LINES;
	if (atomic_load(&estimating) && agent.config.cuda_estimate)
		what |= CUDA_WANT_TIMES;
	return what;
}

static void adjust_hooks(void)
{
	if (agent.config.activities != ACTIVITIES_CPU || sched_wants_calls())
		cuda_hooks_want(needed_from_hooks(gate_cycle() != 0));
}

void wire_gpu_opened(struct cycle_info *info)
{
	cupti_opened(info);
	if (agent.config.activities != ACTIVITIES_CPU || sched_wants_calls())
		cuda_hooks_want(needed_from_hooks(true));
}

void wire_gpu_ended(struct cycle_info *info, bool kept)
{
	cupti_sealed(info, kept);
	adjust_hooks();
}

static void note_cuda_used(void)
{
	writer_need();
	sched_used();
	adjust_hooks();
}

/* While CUPTI cannot be had the hooks measure host times, if the options want those. */
static void switch_estimates(bool on)
{
	atomic_store(&estimating, on);
	adjust_hooks();
}

static void note_driver_ready(void)
{
	cupti_driver_ready();
	adjust_hooks();
}

void wire_gpu_collect(bool on)
{
	atomic_store(&cuda_off, !on);
	cupti_collect(on);
	if (on)
		cupti_now(); /* what is launched next is recorded */
	adjust_hooks();
}

/* A program that looks up a name of CUPTI's second generation (cupti..._v2) has a
 * profiler with which we cannot share CUPTI. */
void wire_gpu_symbol(const char *name)
{
	size_t len = strlen(name);

	if (!strncmp(name, "cupti", 5) && len > 3 && !strcmp(name + len - 3, "_v2"))
		cupti_asked_for(name);
}

void wire_gpu_leave(void)
{
	cupti_exit();
}

/* CUDA does not work in the child of a process that uses it. A child whose parent had not
 * met CUPTI begins as a new process does. */
void wire_gpu_fork_child(void)
{
	bool met = cupti_met();

	cupti_fork_child();
	if (!met && agent.on) { /* the child may use CUDA itself */
		adjust_hooks();
		return;
	}
	cuda_hooks_fork_child();
	atomic_store(&estimating, false);
}

struct mapped {
	bool runtime, driver;
	bool bundled; /* a runtime renamed by a wheel that has a CUPTI of its own inside
		       */
};

static int is_cuda(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *base = strrchr(info->dlpi_name ? info->dlpi_name : "", '/');
	struct mapped *m = arg;

	(void)size;
	m->runtime |= base && !strncmp(base, "/libcudart", 10);
	m->bundled |= base && !strncmp(base, "/libcudart-", 11);
	m->driver |= base && !strncmp(base, "/libcuda.so", 11);
	return 0;
}

/* The program brings a CUDA runtime, the machine has no driver: one process of a job says
 * so. */
void wire_gpu_look(void)
{
	struct mapped m = { false, false, false };
	struct sys_stat st;

	if (agent.config.activities == ACTIVITIES_CPU ||
	    !sys_stat("/dev/nvidiactl", &st) || !sys_stat("/dev/dxg", &st) || !job)
		return;
	dl_iterate_phdr(is_cuda, &m);
	if (!m.runtime || m.driver)
		return;
	if (!(atomic_fetch_or(&job->told, TOLD_NO_GPU) & TOLD_NO_GPU))
		log_note(
			"no GPU is recorded: this PyTorch could use one, but there is no "
			"NVIDIA driver here");
}

/* A CUPTI inside libtorch cannot be shared: while torch's profiler runs, the GPU is that
 * profiler's. */
void wire_gpu_profile(bool cuda, bool begins)
{
	struct mapped m = { false, false, false };

	if (begins && !cuda)
		return;
	if (begins)
		dl_iterate_phdr(is_cuda, &m);
	if (!begins || m.bundled)
		cupti_other(begins);
}

void wire_gpu_start(bool (*begin)(void))
{
	const struct cuda_listener calls = {
		.begin = sched_call_begin,
		.end = sched_end,
		.ready = note_driver_ready,
		.driver = cuda_hooks_driver,
		.line = wire_python_call,
	};
	const struct cupti_actions actions = {
		.begin = begin,
		.used = note_cuda_used,
		.settled = writer_wake,
		.estimate = switch_estimates,
	};
	const struct link_map *self = elf_our_object();

	if (CONFIG_HAS(agent.config.native_stacks, NATIVE_CUDA))
		unwind_start(agent.config.stack_depth, false);
	cuda_hooks_start(&calls);
	/* Driver functions that the program looks up are seen only if something was
	 * wanted before, be it for this moment. */
	if (CONFIG_HAS(agent.config.native_stacks, NATIVE_CUDA) ||
	    agent.config.cuda_estimate || agent.config.python_stack != PYTHON_OFF)
		cuda_hooks_want(CUDA_WANT_STACKS);
	if (self && self->l_name[0])
		cupti_start(&agent.config, &actions, self->l_name);
	adjust_hooks();
}

__attribute__((visibility("default"))) int InitializeInjection(void);

/* The driver calls this function from cuInit (CUDA_INJECTION64_PATH). */
int InitializeInjection(void)
{
	int saved = errno, result = 1;

	if (agent.on)
		result = cupti_injected();
	errno = saved;
	return result;
}
