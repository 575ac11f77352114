/* SPDX-License-Identifier: Apache-2.0 */
/*
 * begin - what must be there before the first record: job, spool, threads, the writer;
 * and what is known of the process from the start.
 */
#include "agent/agent.h"

#include "agent/core/clock.h"
#include "agent/core/gate.h"
#include "agent/core/job.h"
#include "agent/core/rare.h"
#include "agent/core/script.h"
#include "agent/core/self.h"
#include "agent/core/spool.h"
#include "agent/core/thread.h"
#include "agent/heap/heap.h"
#include "agent/python/python.h"
#include "agent/turns.h"
#include "base/fmt.h"
#include "base/log.h"
#include "base/memory_group.h"
#include "base/own_thread.h"
#include "base/roomy.h"
#include "base/seldom.h"
#include "base/sys.h"
#include "base/sys_call.h"
#include "base/unseen.h"
#include "config/config_file.h"
#include "config/place.h"
#include "writer/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#define FOLLOWER_SHARE 8 /* a follower gets cap / 8 */
#define TOLD_NO_SPOOL  (1u << 11) /* a bit of job->told */

extern char **environ;

/* Most configurations fit into the rest of a page that is populated anyway; a longer one
 * is written whole only where the disk has room for it. */
static void note_config(struct spool_header *h)
{
	size_t here = 4096 - offsetof(struct spool_header, config) % 4096;

	if (config_print(&agent.config, h->config, here) >= here &&
	    spool_head_has(h->config, sizeof(h->config)))
		config_print(&agent.config, h->config, sizeof(h->config));
}

/* Notes what every trace of this process says, before readers find the spool. */
static void note_facts(void)
{
	char text[4096];
	struct spool_header *h = spool.head;

	h->base_ns = job ? job->base_ns : job_base_ns(sys_clock_ns(CLOCK_REALTIME));
	if (job)
		fmt(h->job, sizeof(h->job), "%s", job->id);
	note_config(h);
	script_fact();
	agent_ranks();
	agent_heap_fact();
	python_facts();
	writer_pattern(&agent.config, h, text, sizeof(text));
	spool_fact("file", text);
}

void agent_unrecorded(void)
{
	if (job)
		atomic_fetch_add(&job->unrecorded, 1);
}

/* ---- what has to be opened ---- */

bool agent_launched(void)
{
	return job && atomic_load(&job->launcher);
}

/* Of a thousand children on a full disk, one says that its records cannot be kept. */
static bool say_unkept(const char *dir, int err, const char *so)
{
	if (!job || !(atomic_fetch_or(&job->told, TOLD_NO_SPOOL) & TOLD_NO_SPOOL))
		log_warn("cannot keep records in %s: %s: %s", dir ? dir : "memory",
			 sys_error(err), so);
	return false;
}

/* With a launcher: a file, else memory that the launcher holds as well. A process that
 * cannot join the job (another user, another root) records nothing, and says nothing. */
static int place_launched_spool(uint64_t cap)
{
	bool memory = !strcmp(agent.config.spool, "memory");
	int err =
		memory ? spool_place_held(job->id, cap) : spool_place(job_folder(), cap);

	if (err && err != -EMFILE && !memory && !spool_place_held(job->id, cap))
		err = 0;
	return err;
}

/* Nothing can be written to logdir, so records are of no use: the process goes on without
 * them. told_logdir: that has been said. */
static bool closed_logdir, told_logdir;

static int judge_logdir(void)
{
	char path[CONFIG_TEXT + 2];
	int err;

	fmt(path, sizeof(path), "%s/.", agent.config.logdir);
	err = (int)SYS_CALL(SYS_access, path, W_OK | X_OK);
	return err == -ENOENT ? 0 : err;
}

/* Plain LD_PRELOAD: a file, else memory that dies with the process. */
static int place_alone(uint64_t cap)
{
	static SELDOM char dir[4096];
	const char *why = "";
	int err = place_spool(&agent.config, config_getenv(environ, "TMPDIR"), dir,
			      sizeof(dir), &why);
	bool placed = !err && dir[0];
	int closed = judge_logdir();

	closed_logdir = closed;
	if (closed)
		return closed;
	self_settle(0);
	if (placed && !job && job_join(NULL, dir))
		err = job_make(dir, 0);
	/* `dir` is logdir or below it: where no job can be made, no trace can. */
	closed_logdir = err && placed && !strcmp(agent.config.spool, "auto") &&
			!strncmp(dir, agent.config.logdir, strlen(agent.config.logdir));
	if (closed_logdir)
		return err;
	if (!err)
		err = spool_place(placed ? job_folder() : NULL, cap);
	if (err && err != -EMFILE) {
		say_unkept(dir, err, "traces will not survive a kill");
		err = spool_place(NULL, cap);
	}
	return err;
}

/* Places the spool, as large as the options ask for or as the limits on memory allow;
 * where it is smaller (sys_scarce), so are the other tables. The job's page says what the
 * control group leaves. */
static int place_within_limits(void *arg)
{
	uint64_t asked = (uint64_t)agent.config.buffer_mb << 20, group, cap;

	(void)arg;
	if (agent.out)
		return -ECANCELED;
	group = job ? job->memory : memory_group_left();
	cap = spool_room(asked, group);
	sys_scarce = cap < asked;
	self_settle(job ? atomic_load(&job->launcher) : 0);
	if (!cap)
		return -ENOMEM;
	return agent_launched() ? place_launched_spool(cap) : place_alone(cap);
}

/* Decided once, so that a fork child need not look at the options' page. */
static bool soon;

/* A process that waits for torch, CUDA or its first sample has no file before they come:
 * most never do, and to make one costs as much as to start a program. When one of these
 * comes, the spool is made unseen. */
static bool begins_soon(void)
{
	return (agent.config.malloc && agent.config.malloc != MALLOC_SAMPLE) ||
	       config_marker_is(&agent.config, MARKER_BY_TIME);
}

/* Maps the job's page. Lines for the user go to the launcher from here on, where there is
 * one. */
static int join_job(void *arg)
{
	const char *named = config_getenv(environ, "PROF_JOB");
	int err = 0;

	(void)arg;
	if (!job && named && *named) {
		err = job_join(named, NULL);
		if (err)
			return err;
		if (job->launched)
			log_elsewhere = said_put;
	}
	clock_start_as(job ? job->clock_kind : CLOCK_UNKNOWN);
	return 0;
}

/* The program has no free descriptor number; a descriptor table of our own has some. */
static int place_aside(void *fn)
{
	sys_close_from(0);
	return (*(int (**)(void *))fn)(NULL);
}

struct placing {
	int (*fn)(void *);
	int err;
};

static void place_here(void *arg)
{
	struct placing *p = arg;

	p->err = p->fn(NULL);
}

enum place_on {
	ON_STACK, /* the caller's: in the constructor, the process's first one */
	ON_ROOMY, /* a stack of its own: a fork child's may be a coroutine's */
	ON_ASIDE, /* a task of its own; under valgrind, which knows none, as ON_ROOMY */
};

/* Calls fn where it is told, and where no descriptor is free, or other threads might see
 * one, in a task with its own descriptor table. true: fn has done its work, and a spool
 * that it made has its gate. */
static bool place_by(int (*fn)(void *), enum place_on on)
{
	struct placing p = { fn, -EMFILE };

	if (on == ON_STACK)
		place_here(&p);
	else if (on == ON_ROOMY || sys_under_valgrind())
		roomy_call(place_here, &p);
	if (p.err == -EMFILE)
		p.err = unseen_only(place_aside, &fn);
	if (agent.out)
		return false;
	if (p.err && job)
		say_unkept(job_folder(), p.err, "this process is not recorded");
	/* place_alone() cannot say it: where it runs, the program's descriptors may be
	 * closed. */
	if (p.err && closed_logdir && !told_logdir)
		log_warn(
			"%s: %s: no trace can be written, so this process is not recorded (PROF_LOGDIR names another directory)",
			agent.config.logdir, sys_error(p.err));
	told_logdir |= closed_logdir;
	if (!p.err && (!spool.base || !gate_start()))
		return true;
	agent_unrecorded();
	return false;
}

bool agent_place(void)
{
	bool ok;

	soon = begins_soon();
	ok = place_by(join_job, ON_STACK) &&
	     (!soon || place_by(place_within_limits, ON_ROOMY));
	own_thread_look();
	if (!log_elsewhere)
		log_watch();
	if (job)
		tally_add(&job->programs, self.exe, strlen(self.exe), 1);
	return ok;
}

/* Before fork returns, while the child has one thread. */
bool agent_place_child(void)
{
	self_fork_child();
	return !soon || place_by(place_within_limits, ON_ROOMY);
}

/* ---- what has to be written ---- */

/* Makes in this order: the spool's memory, the threads' key, a place on the job's page,
 * the spool's header with its facts, what makes others read it, and the writer. */
static bool start_parts(void)
{
	if (!spool.base && !place_by(place_within_limits, ON_ASIDE))
		return false;
	if (thread_start()) {
		agent_unrecorded();
		return false;
	}
	job_enlist();
	if (job_ancestor() && !agent.config.children)
		return false;
	if (agent.out)
		return false;
	if (spool_begin()) {
		agent_unrecorded();
		return say_unkept(job_folder(), ENOSPC, "this process is not recorded");
	}
	if (job_ancestor()) /* a follower, until it has steps of its own (steps.c) */
		spool_share(FOLLOWER_SHARE);
	atomic_fetch_add(&spool.head->rare_ns, rare_take());
	note_facts();
	spool_show();
	thread_wants = agent_heap_wants;
	return !writer_start(&agent.config,
			     &(struct writer_hooks){
				     .tick = agent_heap_tick,
				     .sample = heap_samples() ? agent_heap_sample : NULL,
				     .alone = !agent_launched() || !spool.kept,
			     });
}

static __thread bool begins_now __attribute__((tls_model("initial-exec")));

bool agent_begins_here(void)
{
	return begins_now;
}

/* What begins while the program locks its memory would be locked as well, or lie in a
 * spool that is small just then: a moment's wait is worth it. */
static void begin_once(void)
{
	uint32_t fresh = AGENT_FRESH;
	bool ok, mine;

	if (!atomic_compare_exchange_strong(&agent.state, &fresh, AGENT_STARTING))
		return;
	mine = turns_take_unlocked();
	ok = start_parts() && !agent.out;
	if (mine)
		turns_give();
	atomic_store_explicit(&agent.state, ok ? AGENT_READY : AGENT_ASIDE,
			      memory_order_release);
}

bool agent_begin(void)
{
	int saved = errno;

	if (atomic_load_explicit(&agent.state, memory_order_acquire) == AGENT_READY)
		return true;
	if (!agent.on || atomic_load(&agent.state) != AGENT_FRESH)
		return false;
	begins_now = true;
	begin_once();
	/* Cleared after the state is stored: a handler that forks in between finds
	 * agent_begin at work, or done. */
	atomic_signal_fence(memory_order_seq_cst);
	begins_now = false;
	errno = saved;
	return atomic_load(&agent.state) == AGENT_READY;
}
