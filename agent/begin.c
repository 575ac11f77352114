/* SPDX-License-Identifier: Apache-2.0 */
/*
 * begin - what must be there before the first record: job, spool, threads, the writer;
 * and what is known of the process from the start.
 */
#include "agent/parts.h"

#include "agent/core/clock.h"
#include "agent/core/config_file.h"
#include "agent/core/fmt.h"
#include "agent/core/gate.h"
#include "agent/core/job.h"
#include "agent/core/log.h"
#include "agent/core/place.h"
#include "agent/core/spool.h"
#include "agent/core/sys.h"
#include "agent/core/thread.h"
#include "agent/sched/sched.h"
#include "writer/writer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define FOLLOWER_SHARE 8 /* a follower gets cap / 8 */
#define FIRST_BYTES    (1 << 20) /* touched before the first record */
#define TOLD_NO_SPOOL  (1u << 11) /* on the job page */

extern char **environ;

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
void agent_ranks(void)
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
	config_print(&agent.config, h->config, sizeof(h->config));
	agent_ranks();
	agent_heap_fact();
	writer_pattern(&agent.config, h, text, sizeof(text));
	spool_fact("file", text);
}

/* A file with room for a beginning, or memory that the launcher holds as well; else
 * private memory. */
static bool open_spool(const char *dir, uint64_t cap)
{
	bool held = !dir && job && atomic_load(&job->launcher) &&
		    !spool_open_held(job->id, cap);
	int err = held ? 0 : spool_open(dir, cap);

	if (spool.fd >= 0 && (err = spool_prepare(FIRST_BYTES))) {
		if (spool.path[0])
			unlink(spool.path);
		spool_forget();
		spool_open(NULL, cap);
	}
	if (!spool.head)
		return false;
	/* On a full disk each of a thousand children would say it. */
	if (err &&
	    (!job || !(atomic_fetch_or(&job->told, TOLD_NO_SPOOL) & TOLD_NO_SPOOL)))
		log_warn("cannot keep records in %s: %s: traces will not survive a kill",
			 dir ? dir : "memory", sys_error(err));
	else if (!err && !dir && job && atomic_load(&job->launcher) && !held)
		log_note("records lie in memory of this process alone: traces will not "
			 "survive a kill");
	spool_prepare(FIRST_BYTES);
	return true;
}

static bool start_parts(void)
{
	static char dir[4096];
	const char *why = "";
	uint64_t cap = (uint64_t)agent.config.buffer_mb << 20;
	bool placed = !place_spool(&agent.config, config_getenv(environ, "TMPDIR"), dir,
				   sizeof(dir), &why) &&
		      dir[0];

	if (gate_start() || thread_start())
		return false;
	join_job(placed ? dir : NULL);
	if (job_ancestor() && !agent.config.children)
		return false;
	if (!open_spool(placed ? dir : NULL, cap))
		return false;
	if (job_ancestor()) /* until it has steps of its own (sched.c) */
		spool_share(FOLLOWER_SHARE);
	note_facts();
	thread_wants = agent_heap_wants;
	return !writer_start(&agent.config,
			     &(struct writer_hooks){ .tick = agent_heap_tick });
}

bool agent_begin(void)
{
	uint32_t fresh = AGENT_FRESH;
	int saved = errno;
	bool ok;

	if (atomic_load_explicit(&agent.state, memory_order_acquire) == AGENT_READY)
		return true;
	if (!agent.on ||
	    !atomic_compare_exchange_strong(&agent.state, &fresh, AGENT_STARTING))
		return false;
	agent.pid = sys_pid();
	ok = start_parts();
	atomic_store_explicit(&agent.state, ok ? AGENT_READY : AGENT_ASIDE,
			      memory_order_release);
	errno = saved;
	return ok;
}
