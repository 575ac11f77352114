/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent - starts, wires and stops the parts: the only file that sees them all.
 * What it hands down is all that any part knows of another.
 */
#include "agent/core/clock.h"
#include "agent/core/config.h"
#include "agent/core/config_file.h"
#include "agent/core/fmt.h"
#include "agent/core/gate.h"
#include "agent/core/job.h"
#include "agent/core/log.h"
#include "agent/core/place.h"
#include "agent/core/spool.h"
#include "agent/core/sys.h"
#include "agent/core/thread.h"
#include "agent/hooks/hook.h"
#include "agent/hooks/loader.h"
#include "agent/hooks/patch.h"
#include "agent/sched/sched.h"
#include "agent/torch/abi.h"
#include "agent/torch/torch.h"
#include "writer/writer.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FOLLOWER_SHARE 8 /* a follower gets cap / 8 */
#define FIRST_BYTES    (1 << 20) /* touched before the first record */
#define EXIT_WAIT_NS   2000000000ll

enum { FRESH, STARTING, READY, ASIDE };

static struct config config;
static _Atomic uint32_t state;
static uint32_t own_pid;
static bool on; /* the constructor ran and found nothing against it */
static bool facts_settled;

extern char **environ;

/* ---- begin: when something is to be recorded for the first time ---- */

static void join_job(const char *dir)
{
	if (job_join(config_getenv(environ, "PROF_JOB"), dir) && dir)
		job_make(dir, 0);
	job_enlist();
}

static void fact_text(const char *key, const char *name)
{
	const char *value = config_getenv(environ, name);
	char json[256];

	/* Only plain words: these are ranks and sizes that launchers set. */
	if (!value || !*value || strlen(value) > 200 || strpbrk(value, "\"\\\n\r\t"))
		return;
	fmt(json, sizeof(json), "\"%s\"", value);
	spool_fact(key, json);
}

/* torchrun sets them before the program starts, a program that spawns its own ranks
 * later: so they are looked at again when the first window ends. */
static void rank_facts(void)
{
	fact_text("rank", "RANK");
	fact_text("local_rank", "LOCAL_RANK");
	fact_text("world_size", "WORLD_SIZE");
}

static void note_facts(void)
{
	char text[4096];
	struct spool_header *h = spool.head;
	ssize_t n = sys_read_file("/proc/self/cmdline", text, sizeof(text));
	const char *base = n > 0 ? strrchr(text, '/') : NULL;

	fmt(h->exe, sizeof(h->exe), "%s", base ? base + 1 : n > 0 ? text : "");
	h->exe[strcspn(h->exe, " \t\n")] = '\0';
	h->base_ns = job ? job->base_ns : job_base_ns(clock_get_ns(CLOCK_REALTIME));
	if (job)
		fmt(h->job, sizeof(h->job), "%s", job->id);
	config_print(&config, h->config, sizeof(h->config));
	rank_facts();
	writer_pattern(&config, h, text, sizeof(text));
	spool_fact("file", text);
}

/* A file with room for a beginning, else private memory. */
static bool open_spool(const char *dir, uint64_t cap)
{
	int err = spool_open(dir, cap);

	if (spool.fd >= 0 && (err = spool_prepare(FIRST_BYTES))) {
		unlink(spool.path);
		spool_forget();
		spool_open(NULL, cap);
	}
	if (!spool.head)
		return false;
	if (err)
		log_warn("cannot keep records in %s: %s: traces will not survive a kill",
			 dir, sys_error(err));
	spool_prepare(FIRST_BYTES);
	return true;
}

static bool start_parts(void)
{
	static char dir[4096];
	const char *why = "";
	uint64_t cap = (uint64_t)config.buffer_mb << 20;
	bool placed = !place_spool(&config, config_getenv(environ, "TMPDIR"), dir,
				   sizeof(dir), &why) &&
		      dir[0];

	if (gate_start() || thread_start())
		return false;
	join_job(placed ? dir : NULL);
	if (job_ancestor() && !config.children)
		return false;
	if (!open_spool(placed ? dir : NULL, cap))
		return false;
	if (job_ancestor()) /* until it has steps of its own (sched.c) */
		spool_share(FOLLOWER_SHARE);
	note_facts();
	thread_wants = writer_wanted;
	return !writer_start(&config, &(struct writer_hooks){ .tick = sched_tick });
}

static bool begin(void)
{
	uint32_t fresh = FRESH;
	int saved = errno;
	bool ok;

	if (atomic_load_explicit(&state, memory_order_acquire) == READY)
		return true;
	if (!on || !atomic_compare_exchange_strong(&state, &fresh, STARTING))
		return false;
	own_pid = sys_pid();
	ok = start_parts();
	atomic_store_explicit(&state, ok ? READY : ASIDE, memory_order_release);
	errno = saved;
	return ok;
}

/* ---- what the parts tell each other ---- */

static void torch_facts(void)
{
	static char json[2048];

	if (!torch_found() || facts_settled || !spool.head)
		return;
	facts_settled = abi_settled(config.record_shapes);
	rank_facts();
	abi_facts(json, sizeof(json));
	spool_fact("torch", json);
}

static void sealed(void)
{
	torch_facts();
	writer_wake();
}

static void look_for_torch(void)
{
	static _Atomic bool once;

	if (atomic_load_explicit(&once, memory_order_relaxed) || !torch_found() ||
	    atomic_exchange(&once, true))
		return;
	if (!hook_real_execute)
		hook_real_execute = abi.engine_execute;
	if (!begin())
		return;
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

	if (!on)
		return;
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
	if (!on)
		return;
	look_for_torch();
	sched_main();
}

static void on_leave(void)
{
	struct spool_header *h = spool.head;

	if (!h || own_pid != sys_pid())
		return;
	sched_leave();
	atomic_store(&h->exit_ticks, clock_ticks());
}

static void on_backward(void)
{
	if (!hook_real_execute) /* called before we found libtorch: find it now */
		hook_real_execute = abi_engine();
	if (on)
		sched_backward();
}

/* libtorch logs, for those who ask, that an optimizer is made: steps will come. */
static void on_usage(const char *event)
{
	if (!hook_real_usage)
		hook_real_usage = abi_usage();
	if (on && !strcmp(event, "python.optimizer"))
		sched_optimizer_made();
}

static void on_fork_child(void)
{
	if (!on)
		return;
	writer_forget();
	spool_forget();
	thread_forget();
	job_forget();
	gate_set(0, 0);
	sched_fork_child();
	torch_fork_child();
	facts_settled = false;
	atomic_store(&state, config.children ? FRESH : ASIDE);
}

static void on_fork_prepare(void)
{
	if (!on)
		return;
	writer_pause();
	torch_fork_prepare();
}

static void on_fork_parent(void)
{
	if (!on)
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

	if (config.logdir[0] == '/' || syscall(SYS_getcwd, here, sizeof(here)) <= 0 ||
	    strlen(here) + strlen(config.logdir) + 2 > sizeof(here))
		return;
	fmt(here + strlen(here), sizeof(here) - strlen(here), "/%s",
	    strncmp(config.logdir, "./", 2) ? config.logdir : config.logdir + 2);
	memcpy(config.logdir, here, sizeof(here));
}

static void wire(void)
{
	static struct torch_listener listener;

	sched_start(&config, &(struct sched_actions){
				     .observe = torch_observe,
				     .arm = writer_wake,
				     .sealed = sealed,
				     .begin = begin,
				     .patch = patch_symbol,
			     });
	listener = torch_to;
	if (sched_wants_ops())
		listener.op_begin = sched_op_begin;
	torch_start(&config, &listener);
}

static void __attribute__((constructor)) start(void)
{
	int saved = errno;

	/* Even where we stay out of it, the jumping hooks must know where to jump. */
	hook_start(&(struct hook_listener){
		.symbol = on_symbol,
		.main = on_main,
		.leave = on_leave,
		.backward = on_backward,
		.usage = on_usage,
		.fork_prepare = on_fork_prepare,
		.fork_parent = on_fork_parent,
		.fork_child = on_fork_child,
	});
	if (!getauxval(AT_SECURE)) {
		config_load(&config, NULL, environ, bad_option, NULL);
		log_quiet = config.quiet;
		fix_logdir();
		clock_start();
		own_pid = sys_pid();
		wire();
		on = true;
	}
	errno = saved;
}

/* Without a launcher nobody else finishes our files: wait a little, then say how. */
static void finish_alone(void)
{
	if (writer_drain(EXIT_WAIT_NS)) {
		if (spool.path[0])
			unlink(spool.path);
		job_unmake();
		return;
	}
	if (spool.path[0])
		log_warn("traces are not finished yet; run: proflaunch recover %s",
			 config.logdir);
	else
		log_warn("traces could not be finished in time; the rest is lost");
}

static void __attribute__((destructor)) stop(void)
{
	int saved = errno;

	if (!on || own_pid != sys_pid())
		return;
	if (atomic_load(&state) == FRESH) {
		/* Nothing was ever recorded: a marker that is not there must be told. */
		job_join(config_getenv(environ, "PROF_JOB"), NULL);
		sched_exit();
		errno = saved;
		return;
	}
	if (atomic_load(&state) != READY)
		return;
	sched_exit();
	torch_facts();
	on_leave();
	if (!job || !atomic_load(&job->launcher))
		finish_alone();
	errno = saved;
}

__attribute__((visibility("default"))) void proflaunch_step(void);

void proflaunch_step(void)
{
	int saved = errno;

	if (on)
		sched_step();
	errno = saved;
}
