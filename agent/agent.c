/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent - starts, wires and stops the parts: this folder's files are the only ones that
 * see them all.  What they hand down is all that any part knows of another.
 */
#include "agent/parts.h"

#include "agent/core/clock.h"
#include "agent/core/config_file.h"
#include "agent/core/fmt.h"
#include "agent/core/gate.h"
#include "agent/core/job.h"
#include "agent/core/log.h"
#include "agent/core/spool.h"
#include "agent/core/sys.h"
#include "agent/core/thread.h"
#include "agent/cupti/cupti.h"
#include "agent/hooks/heap.h"
#include "agent/hooks/hook.h"
#include "agent/hooks/loader.h"
#include "agent/hooks/patch.h"
#include "agent/hooks/unwind.h"
#include "agent/proflaunch.h"
#include "agent/sched/sched.h"
#include "agent/torch/abi.h"
#include "agent/torch/torch.h"
#include "writer/writer.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXIT_WAIT_NS 2000000000ll /* for what recover can finish, too ... */
#define LAST_WAIT_NS 30000000000ll /* ... and for what nobody else ever sees */

struct agent agent;
static _Atomic bool facts_settled;
static _Atomic bool facts_busy; /* any thread may end a window */

extern char **environ;

/* ---- what the parts tell each other ---- */

static void torch_facts(void)
{
	static char json[2048];

	if (!torch_found() || facts_settled || !spool.head ||
	    atomic_exchange(&facts_busy, true))
		return;
	facts_settled = abi_settled(agent.config.record_shapes);
	agent_ranks();
	abi_facts(json, sizeof(json));
	spool_fact("torch", json);
	atomic_store(&facts_busy, false);
}

static void sealed(void)
{
	torch_facts();
	agent_heap_wake();
}

static void arm(void)
{
	agent_heap_wake();
	cupti_near();
}

static void opened(struct cycle_info *info)
{
	heap_opened(info);
	gpu_opened(info);
}

static void ended(struct cycle_info *info, bool kept)
{
	heap_ended(info, kept);
	gpu_ended(info, kept);
	unwind_settle(info);
}

static void look_for_torch(void)
{
	static _Atomic bool once;

	if (atomic_load_explicit(&once, memory_order_relaxed) || !torch_found() ||
	    atomic_exchange(&once, true))
		return;
	if (!hook_real_execute)
		hook_real_execute = abi.engine_execute;
	if (!agent_begin())
		return;
	gpu_look();
	torch_facts();
	sched_torch_found();
}

static bool is_python(void)
{
	return hook_real_dlsym(RTLD_DEFAULT, "Py_IsInitialized");
}

/* dlsym is how a library just opened gets used, so it is the moment to look. Python's
 * importer asks for PyInit_* right after dlopen returned. Any other name may come from a
 * constructor in the middle of dlopen, where libtorch is mapped but not initialised. */
static void on_symbol(const char *name)
{
	static _Atomic unsigned long long seen;
	unsigned long long adds;

	if (!agent.on)
		return;
	gpu_symbol(name);
	agent_heap_symbol(name);
	adds = loader_adds();
	if (atomic_load_explicit(&seen, memory_order_relaxed) == adds ||
	    (strncmp(name, "PyInit_", 7) && (is_python() || loader_busy())))
		return;
	atomic_store_explicit(&seen, adds, memory_order_relaxed);
	look_for_torch();
	sched_library();
}

static void on_main(void)
{
	if (!agent.on)
		return;
	look_for_torch();
	sched_main();
	agent_heap_main();
}

static void on_leave(void)
{
	struct spool_header *h = spool.head;

	if (!h || agent.pid != sys_pid())
		return;
	sched_leave();
	gpu_leave();
	atomic_store(&h->exit_ticks, clock_ticks());
	spool_close();
}

static void on_backward(void)
{
	if (!hook_real_execute) /* called before we found libtorch: find it now */
		hook_real_execute = abi_engine();
	if (agent.on)
		sched_backward();
}

/* libtorch logs, for those who ask, that an optimizer is made: steps will come. */
static void on_usage(const char *event)
{
	if (!hook_real_usage)
		hook_real_usage = abi_usage();
	if (agent.on && !strcmp(event, "python.optimizer"))
		sched_optimizer_made();
}

/* torch's own switch for parts of a profile is ours as well. */
static void on_toggle(unsigned activities, bool to)
{
	if (!hook_real_toggle)
		hook_real_toggle = abi_toggle();
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
		hook_real_enable = abi_profiler(ABI_ENABLE);
		hook_real_prepare = abi_profiler(ABI_PREPARE);
		hook_real_disable = abi_profiler(ABI_DISABLE);
	}
	if (agent.on)
		gpu_profile(begins && activities & HOOK_ACTIVITY_CUDA, begins);
}

static void on_fork_child(void)
{
	if (!agent.on)
		return;
	writer_forget();
	spool_forget();
	thread_forget();
	agent_heap_fork_child();
	job_forget();
	gate_set(0, 0);
	sched_fork_child();
	torch_fork_child();
	gpu_fork_child();
	facts_settled = false;
	atomic_store(&facts_busy, false);
	atomic_store(&agent.state, agent.config.children ? AGENT_FRESH : AGENT_ASIDE);
}

static void on_fork_prepare(void)
{
	if (!agent.on)
		return;
	writer_pause();
	torch_fork_prepare();
}

static void on_fork_parent(void)
{
	if (!agent.on)
		return;
	torch_fork_parent();
	writer_resume();
}

/* ---- start and stop ---- */

static void bad_option(const char *where, const char *why, void *arg)
{
	(void)arg;
	log_warn("%s: %s", where, why);
}

static const struct torch_listener torch_to = {
	.begin = sched_begin,
	.end = sched_end,
	.follow = sched_follow_changed,
	.follow_word = &sched_follow,
	.follow_seen = &sched_followed,
};

/* Where the program goes later must not move its traces. */
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

static void wire(void)
{
	static struct torch_listener listener;

	sched_start(&agent.config, &(struct sched_actions){
					   .observe = torch_observe,
					   .arm = arm,
					   .sealed = sealed,
					   .opened = opened,
					   .ending = heap_mark,
					   .ended = ended,
					   .opened_now = agent_heap_opened_now,
					   .begin = agent_begin,
					   .patch = patch_symbol,
				   });
	listener = torch_to;
	if (sched_wants_ops())
		listener.op_begin = sched_op_begin;
	torch_start(&agent.config, &listener);
}

static void on_exit_now(void);

static void __attribute__((constructor)) start(void)
{
	int saved = errno;

	/* Even where we stay out of it, the jumping hooks must know where to jump. */
	hook_start(&(struct hook_listener){
		.symbol = on_symbol,
		.main = on_main,
		.leave = on_exit_now,
		.backward = on_backward,
		.usage = on_usage,
		.toggle = on_toggle,
		.profile = on_profile,
		.fork_prepare = on_fork_prepare,
		.fork_parent = on_fork_parent,
		.fork_child = on_fork_child,
	});
	if (!getauxval(AT_SECURE)) {
		config_load(&agent.config, NULL, environ, bad_option, NULL);
		log_quiet = agent.config.quiet;
		fix_logdir();
		clock_start();
		agent.pid = sys_pid();
		wire();
		gpu_start();
		agent.on = true;
		agent_heap_start();
	}
	errno = saved;
}

/* Without a launcher, and of what lies in memory alone, nobody else makes files. */
static bool is_alone(void)
{
	return !job || !atomic_load(&job->launcher) || !spool.head->kept;
}

/* Wait a little, then say how. */
static void finish_alone(void)
{
	if (writer_drain(spool.path[0] ? EXIT_WAIT_NS : LAST_WAIT_NS)) {
		if (spool.path[0])
			unlink(spool.path);
		job_unmake();
		return;
	}
	if (spool.path[0])
		log_warn("traces are not finished yet; run: proflaunch recover %s",
			 agent.config.logdir);
	else
		log_warn("traces could not be finished in time; the rest is lost");
}

static void __attribute__((destructor)) stop(void)
{
	int saved = errno;

	if (!agent.on || agent.pid != sys_pid())
		return;
	if (atomic_load(&agent.state) == AGENT_FRESH) {
		/* Nothing was ever recorded: a marker that is not there must be told. */
		job_join(config_getenv(environ, "PROF_JOB"), NULL);
		sched_exit();
		errno = saved;
		return;
	}
	if (atomic_load(&agent.state) != AGENT_READY)
		return;
	if (is_alone())
		writer_hurry();
	sched_exit();
	gpu_leave();
	torch_facts();
	on_leave();
	if (is_alone())
		finish_alone();
	errno = saved;
}

/* _exit: no destructor comes. What lies in this process's memory alone is written now; a
 * spool that is kept is the launcher's, or recover's. */
static void on_exit_now(void)
{
	if (agent.on && agent.pid == sys_pid() && spool.head && !spool.head->kept)
		stop();
	else
		on_leave();
}

/* ---- what programs may call ---- */

void agent_collect(unsigned what, bool on)
{
	if (what & PROFLAUNCH_CPU) {
		torch_collect(on);
		sched_collect(on);
	}
	if (what & PROFLAUNCH_CUDA)
		gpu_collect(on);
}

__attribute__((visibility("default"))) void proflaunch_step(void);

void proflaunch_step(void)
{
	int saved = errno;

	if (agent.on)
		sched_step();
	errno = saved;
}

__attribute__((visibility("default"))) void proflaunch_collect(unsigned what, int on);

void proflaunch_collect(unsigned what, int on)
{
	int saved = errno;

	if (agent.on)
		agent_collect(what, on != 0);
	errno = saved;
}
