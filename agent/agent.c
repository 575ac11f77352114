/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent - starts, wires and stops the parts: this folder's files are the only ones that
 * see them all.  The functions they hand down are all that any part knows of another.
 */
#include "agent/agent.h"

#include "agent/core/clock.h"
#include "agent/core/job.h"
#include "agent/core/rare.h"
#include "agent/core/script.h"
#include "agent/core/self.h"
#include "agent/core/spool.h"
#include "agent/core/thread.h"
#include "agent/cupti/cupti.h"
#include "agent/heap/heap.h"
#include "agent/hooks/hook.h"
#include "agent/hooks/weak.h"
#include "agent/patch/patch.h"
#include "agent/proflaunch.h"
#include "agent/python/seek.h"
#include "agent/sched/sched.h"
#include "agent/torch/abi.h"
#include "agent/torch/torch.h"
#include "agent/unwind/unwind.h"
#include "agent/wire_python.h"
#include "base/elf.h"
#include "base/fmt.h"
#include "base/log.h"
#include "base/sys.h"
#include "config/config_file.h"
#include "writer/writer.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TOLD_ON_TRACE (1u << 13) /* a bit of job->told */
#define EXIT_SECONDS  2 /* at the exit, without a launcher; later: recover's, or lost */
extern char **environ;

/* ---- what the parts tell each other ---- */

static void window_sealed(void)
{
	agent_facts();
	agent_facts_cpus();
	agent_heap_wake();
}

static void window_near(void)
{
	agent_heap_wake();
	cupti_near();
}

static void window_opened(struct cycle_info *info)
{
	clock_edge(spool.head);
	heap_opened(info);
	wire_gpu_opened(info);
	wire_python_opened(info);
}

static void window_opened_now(void)
{
	agent_heap_opened_now();
	wire_python_opened_now();
}

static void window_ending(void)
{
	wire_python_ending();
	heap_mark();
}

static void window_ended(struct cycle_info *info, bool kept)
{
	clock_edge(spool.head);
	heap_ended(info, kept);
	wire_gpu_ended(info, kept);
	wire_python_ended(info, kept);
	unwind_settle(info);
}

/* The program's own libraries are initialised. */
static void on_main(void)
{
	if (!agent.on)
		return;
	library_main();
	sched_main(heap_wanted() && !heap_is_sample());
	agent_heap_main();
}

static void on_backward(void)
{
	if (!hook_real_execute) /* called before we found libtorch: find it now */
		hook_real_execute = abi_cpu_symbol(hook_name_execute);
	if (agent.on)
		sched_backward();
}

static void on_usage(const char *event)
{
	if (!hook_real_usage)
		hook_real_usage = abi_c10_symbol(hook_name_usage);
	if (!hook_real_usage)
		hook_real_usage = abi_c10_symbol(hook_name_usage_old);
	if (agent.on)
		sched_usage(event);
}

/* torch's own switch for parts of a profile is ours as well. */
static void on_toggle(unsigned activities, bool to)
{
	if (!hook_real_toggle)
		hook_real_toggle = abi_cpu_symbol(hook_name_toggle);
	if (agent.on)
		agent_collect(
			(activities & HOOK_ACTIVITY_CPU ? PROFLAUNCH_CPU : 0) |
				(activities & HOOK_ACTIVITY_CUDA ? PROFLAUNCH_CUDA : 0),
			to);
}

/* torch's own profiler begins or ends. */
static void on_profile(unsigned activities, bool begins)
{
	if (!hook_real_disable) {
		hook_real_enable = abi_cpu_symbol(hook_name_enable);
		hook_real_prepare = abi_cpu_symbol(hook_name_prepare);
		hook_real_disable = abi_cpu_symbol(hook_name_disable);
	}
	if (agent.on)
		wire_gpu_profile(begins && activities & HOOK_ACTIVITY_CUDA, begins);
}

/* ---- start and stop ---- */

static void bad_option(const char *where, const char *why, void *arg)
{
	(void)arg;
	log_warn("%s: %s", where, why);
}

/* op_begin is left out, as it costs each operator a call: wire_parts() sets it where the
 * marker may mean operators. */
static const struct torch_listener torch_to = {
	.begin = sched_begin,
	.end = sched_end,
	.follow = sched_follow_changed,
	.follow_word = &sched_follow,
	.follow_seen = &sched_followed,
};

/* A later chdir() of the program must not move its traces: logdir becomes absolute. */
static void fix_logdir(void)
{
	char here[CONFIG_TEXT];

	if (agent.config.logdir[0] == '/' ||
	    syscall(SYS_getcwd, here, sizeof(here)) <= 0 ||
	    strlen(here) + strlen(agent.config.logdir) + 2 > sizeof(here))
		return;
	fmt(here + strlen(here), sizeof(here) - strlen(here), "/%s",
	    strncmp(agent.config.logdir, "./", 2) ? agent.config.logdir
						  : agent.config.logdir + 2);
	memcpy(agent.config.logdir, here, sizeof(here));
}

/* What the scheduler and the observer may cause in the parts above them. */
static void wire_parts(void)
{
	static struct torch_listener listener;

	sched_start(&agent.config, &(struct sched_actions){
					   .observe = torch_observe,
					   .arm = window_near,
					   .sealed = window_sealed,
					   .opened = window_opened,
					   .ending = window_ending,
					   .ended = window_ended,
					   .opened_now = window_opened_now,
					   .begin = agent_begin,
					   .patch = patch_symbol,
					   .missing = seek_missing,
				   });
	listener = torch_to;
	if (sched_wants_ops())
		listener.op_begin = sched_op_begin;
	torch_start(&agent.config, &listener);
}

/* No launcher, or a spool in memory alone: nobody else makes this process's files. */
static bool is_alone(void)
{
	return !agent_launched() || !spool.head->kept;
}

/* The agent starts no process in the program, so on_trace is only named to the user. */
static void say_unrun_command(void)
{
	if (agent.config.on_trace[0] && atomic_load(&spool.head->totals.files) &&
	    (!job || !(atomic_fetch_or(&job->told, TOLD_ON_TRACE) & TOLD_ON_TRACE)))
		log_warn("on_trace is not run from within the program: run: "
			 "proflaunch recover --on-trace <command> %s",
			 agent.config.logdir);
}

/* Waits for the files, EXIT_SECONDS at most, then says what becomes of the others. */
static void finish_alone(void)
{
	bool done = writer_drain(EXIT_SECONDS * 1000000000ll);
	unsigned long files = atomic_load(&spool.head->totals.files);

	say_unrun_command();
	if (done) {
		if (spool_path[0])
			unlink(spool_path);
		job_unmake();
		return;
	}
	if (spool_path[0])
		log_warn("%s ended with %lu trace files written and others not (%d s are "
			 "waited for them): for those run: proflaunch recover %s",
			 self.exe, files, EXIT_SECONDS, agent.config.logdir);
	else
		log_warn("%s ended with %lu trace files written to %s and others not "
			 "(%d s are waited for them): those lay in memory alone, and are "
			 "lost",
			 self.exe, files, agent.config.logdir, EXIT_SECONDS);
}

/* Nothing was ever recorded; sched_exit() still says that a marker was never found. */
static void stop_fresh(void)
{
	sched_exit();
	if (agent_launched())
		return;
	spool_unplace();
	job_unmake();
}

/* exit(), or main has returned. A child of vfork or of a raw clone that comes here has
 * its parent's pid in `agent`, and the parent goes on: the child ends nothing. A seccomp
 * filter forbids all that comes after the last window has been sealed. */
static void __attribute__((destructor)) stop_agent(void)
{
	struct rare cost;
	int saved = errno;

	if (!agent.on || agent.pid != sys_pid())
		return;
	if (atomic_load(&agent.state) == AGENT_FRESH) {
		stop_fresh();
		errno = saved;
		return;
	}
	if (atomic_load(&agent.state) != AGENT_READY)
		return;
	rare_begin(&cost);
	writer_last(is_alone());
	sched_exit();
	rare_end(&cost);
	if (sys_confined)
		goto out;
	wire_gpu_leave();
	agent_facts();
	agent_leave();
	if (is_alone())
		finish_alone();
out:
	errno = saved;
}

/* _exit runs no destructor, so a spool in this process's memory alone is written now. A
 * spool that is kept is left to the launcher, or to recover. */
static void on_exit_now(void)
{
	if (agent.on && agent.pid == sys_pid() && spool.head && !spool.head->kept)
		stop_agent();
	else
		agent_leave();
}

/* The loader hands main's arguments to constructors as well. */
static void __attribute__((constructor)) start_agent(int argc, char **argv)
{
	struct rare cost;
	int saved = errno;

	weak_undo();
	/* Even in a process not recorded the jumping hooks must know where to jump. */
	hook_start(&(struct hook_listener){
		.symbol = library_symbol,
		.main = on_main,
		.leave = on_exit_now,
		.backward = on_backward,
		.usage = on_usage,
		.toggle = on_toggle,
		.profile = on_profile,
		.fork_prepare = fork_prepare,
		.fork_parent = fork_parent,
		.fork_child = fork_child,
		.alone = limits_alone,
		.confine = limits_confine,
		.unconfine = limits_unconfine,
		.lock = limits_lock,
		.lock_less = limits_lock_less,
		.locked = limits_locked,
		.limit = limits_limit,
	});
	/* A copy of us that the program opens in a namespace of its own is not in the
	 * list: the first one records. */
	if (!getauxval(AT_SECURE) && hook_libc_whole() && elf_our_object()) {
		config_load(&agent.config, NULL, environ, bad_option, NULL);
		log_quiet = agent.config.quiet;
		fix_logdir();
		self_look(argc > 0 ? argv[0] : NULL);
		script_look(self.exe, argc, argv);
		agent.pid = self.pid;
		agent.on = agent_place();
	}
	if (agent.on) {
		rare_begin(&cost);
		wire_parts();
		wire_gpu_start(agent_begin);
		agent_heap_start(agent_begin);
		wire_python_start();
		rare_end(&cost);
	}
	errno = saved;
}

/* ---- what programs may call ---- */

void agent_collect(unsigned what, bool on)
{
	if (what & PROFLAUNCH_CPU) {
		torch_collect(on);
		sched_collect(on);
	}
	if (what & PROFLAUNCH_CUDA)
		wire_gpu_collect(on);
}

__attribute__((visibility("default"))) void proflaunch_step(void);
__attribute__((visibility("default"))) void proflaunch_collect(unsigned what, int on);

void proflaunch_step(void)
{
	int saved = errno;

	if (agent.on)
		sched_step();
	errno = saved;
}

void proflaunch_collect(unsigned what, int on)
{
	int saved = errno;

	if (agent.on)
		agent_collect(what, on != 0);
	errno = saved;
}
