/* SPDX-License-Identifier: Apache-2.0 */
/* One thread stays in the loop of finish_main: it looks at the launcher, then at the
 * spools, and sleeps on the job's page until a window is handed over or the time for the
 * next look has come. The worker's thread makes files. Data of both changes under the
 * worker's lock. The launcher sets the phase; where it has gone without a word (getppid
 * changes) the finisher goes on alone. */
#include "finisher/finish.h"
#include "agent/core/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "finisher/apart.h"
#include "finisher/command.h"
#include "finisher/held.h"
#include "finisher/known.h"
#include "finisher/ready.h"
#include "finisher/share.h"
#include "finisher/small.h"
#include "finisher/spares.h"
#include "finisher/worker.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define LOOK_NS   100000000ll /* from one look at the spools to the next ... */
#define SAMPLE_NS 20000000ll /* ... where memory is looked at ... */
#define END_NS    2000000ll /* ... and after the command's end */
#define GRACE_NS \
	300000000ll /* helpers of a program notice a little later that it is gone */
#define GONE_NS                                                                        \
	1000000000ll /* none is there for so long: between two images a process is not \
		      */
#define LOCK_NS 60000000000ll /* how long the finisher before may keep its lock */
#define KILLS   8 /* finishers killed from outside in one window */

static struct {
	const struct finish *f;
	struct known_all all;
	struct small_rows rows;
	struct page page;
	struct worker worker;
	struct share share;
	enum shared_phase phase;
	_Atomic bool alone; /* the launcher has gone */
	int64_t ended_ns, alive_ns; /* when the command ended; when a process was seen */
	uint32_t handed;
	uint64_t cpu_before;
} me;

/* ---- files ---- */

/* Sends the path at once: a path that waits here dies with the finisher. */
static void file_is_done(const char *path, void *arg)
{
	const struct finish *f = arg;

	if (!f->config->on_trace[0])
		return;
	ready_add(path);
	ready_send(f->traces, f->launcher);
}

/* The launcher runs on_trace's command as long as there is a launcher: it has the
 * caller's stderr for the command's output. */
static unsigned hand_files(void)
{
	const struct finish *f = me.f;
	bool alone = atomic_load(&me.alone);
	int status;
	pid_t pid;

	if (!f->config->on_trace[0])
		return 0;
	while (command_running() && (pid = waitpid(-1, &status, WNOHANG)) > 0)
		command_ended(pid, status);
	if (f->traces < 0 || (alone && getppid() != f->launcher))
		ready_run(f->config->on_trace);
	else
		ready_send(f->traces, f->launcher);
	return ready_left() + command_running();
}

/* Notes the file that is begun: where this finisher dies in it the next one removes what
 * there is (shared_tidy). */
static void file_begins(const char *path)
{
	snprintf(me.f->shared->now.path, sizeof(me.f->shared->now.path), "%s", path);
}

/* ---- what the finisher before this one left ---- */

static void leave_spool(const char *name)
{
	struct shared *s = me.f->shared;

	if (known_in_memory(name)) {
		log_warn("%s: finishers ended while they read this", name);
		s->totals.lost++;
	} else {
		log_warn("%s/%s: a finisher ended while it read this: left to recover",
			 me.f->dir, name);
		s->totals.failed++;
	}
	shared_set_done(s, name, SHARED_WHOLE - 1);
}

/* How many finishers may end in one window. SIGKILL and SIGTERM were meant for the
 * finisher. Else reading the window kills: it is left to recover at once, in memory after
 * one more. */
static uint32_t lives_of(uint32_t died, const char *name)
{
	if (died == SIGKILL || died == SIGTERM)
		return KILLS;
	return known_in_memory(name) ? 2 : 1;
}

/* Begins the window anew in which the last finisher died, unless too many have. A file
 * that has its name already stays as it is (writer/twin.h). */
static void look_back(void)
{
	struct shared *s = me.f->shared;
	uint32_t died = atomic_exchange(&s->died, 0);

	if (!atomic_load(&s->now.on))
		return;
	shared_tidy(s);
	s->now.kills = s->now.killed == s->now.key ? s->now.kills + 1 : 1;
	s->now.killed = s->now.key;
	if (s->now.kills >= lives_of(died, s->now.spool))
		leave_spool(s->now.spool);
	atomic_store(&s->now.on, 0);
}

/* ---- the end ---- */

static void write_rows(void)
{
	const struct finish *f = me.f;
	char path[PATH_MAX] = "";
	uint64_t rows = 0;
	int err = small_write(&me.rows, f->config->logdir, f->job,
			      f->config->format == FORMAT_JSON_GZ, &rows, path,
			      sizeof(path));

	if (err) {
		log_warn("cannot write what is known of small processes: %s",
			 sys_error(err));
		f->shared->totals.failed++;
	}
	if (err || !rows)
		return;
	f->shared->totals.files++;
	f->shared->totals.made++;
	if (!*f->shared->totals.last_file)
		memcpy(f->shared->totals.last_file, path, sizeof(path));
	file_is_done(path, (void *)f);
}

/* Did we leave spools as files? Then the job's page stays: recover reads there which
 * process led which, and how many have files of their own. */
static bool has_left_files(void)
{
	for (size_t i = 0; i < me.all.n; i++)
		if (me.all.at[i]->state == KNOWN_LEFT && me.all.at[i]->held < 0)
			return true;
	return false;
}

/* Wakes the launcher, which sleeps on this futex in memory that it shares with us. */
static void answer_with(enum shared_phase phase)
{
	shared_tell_cpu(me.f->shared, me.cpu_before);
	atomic_store(&me.f->shared->answer, phase);
	sys_futex_wake_all(&me.f->shared->answer);
}

static void enter_phase(enum shared_phase phase)
{
	me.phase = phase;
	if (phase == PHASE_END) {
		me.ended_ns = sys_clock_ns(CLOCK_MONOTONIC);
		worker_hurry(&me.worker);
	} else if (phase == PHASE_LINGER) {
		atomic_store(&me.alone, true);
		ready_again();
		apart_linger(me.f);
		log_note("other processes of this job go on: %u",
			 atomic_load(&me.f->shared->living));
		answer_with(PHASE_LINGER);
	} else if (phase == PHASE_STOP) {
		/* Processes may go on writing there, and only recover finishes it. */
		spares_remove(me.all.folder);
		page_leave(&me.page);
		answer_with(PHASE_STOP);
		_exit(0);
	}
}

static void look_at_launcher(void)
{
	uint32_t phase = atomic_load(&me.f->shared->phase);

	if (getppid() != me.f->launcher && phase < PHASE_LINGER)
		atomic_store(&me.f->shared->phase, phase = PHASE_LINGER);
	if (phase != me.phase)
		enter_phase(phase);
}

/* Ends once the launcher knows of all files, or the last command has ended. The page and
 * the folder go with the last spool. A folder into which others have put something stays,
 * marked as one that nobody finishes. */
static void finish_and_exit(void)
{
	const struct finish *f = me.f;
	char above[PATH_MAX];
	size_t n;

	if (hand_files())
		return;
	write_rows();
	while (hand_files()) {
		worker_beat(&me.worker);
		nanosleep(&(struct timespec){ .tv_nsec = END_NS }, NULL);
		look_at_launcher();
	}
	command_sum();
	if (atomic_load(&me.alone))
		lines_say(&me.page, &f->shared->lines, NULL, true);
	if (!has_left_files())
		unlink(f->page);
	spares_remove(me.all.folder);
	if (rmdir(f->dir) && (errno == ENOTEMPTY || errno == EEXIST))
		page_leave(&me.page);
	n = (size_t)(strrchr(f->dir, '/') - f->dir);
	snprintf(above, sizeof(above), "%.*s", (int)n, f->dir);
	if (n > 12 && !strcmp(above + n - 12, "/.proflaunch"))
		rmdir(above);
	answer_with(PHASE_STOP);
	_exit(0);
}

/* ---- watching ---- */

/* Reads the folder once more: nobody after us would find a spool that was missed. */
static bool is_over(void)
{
	unsigned n = 0;

	worker_lock(&me.worker);
	me.all.lost = true;
	known_find(&me.all);
	for (size_t i = 0; i < me.all.n; i++)
		n += me.all.at[i]->state != KNOWN_LEFT;
	worker_unlock(&me.worker);
	return !n;
}

/* After the command's end: does a process of the job go on? */
static bool has_living(int64_t now)
{
	unsigned n;

	if (me.phase == PHASE_RUN)
		return true;
	n = known_living(&me.all, now, me.phase == PHASE_END);
	atomic_store(&me.f->shared->living, n);
	if (n)
		me.alive_ns = now;
	return n || (me.phase == PHASE_LINGER && now - me.alive_ns < GONE_NS);
}

/* Returns ns to the next look. */
static int64_t look_at_spools(void)
{
	int64_t now = sys_clock_ns(CLOCK_MONOTONIC);
	bool late = me.phase == PHASE_END && now - me.ended_ns >= GRACE_NS, open, living;
	uint32_t handed = page_handed(&me.page);
	unsigned left;

	worker_lock(&me.worker);
	if (!atomic_load(&me.alone))
		held_receive(&me.all, me.f);
	known_find(&me.all);
	known_judge(&me.all, now, me.phase == PHASE_END);
	if (handed != me.handed)
		worker_look(&me.worker);
	me.handed = handed;
	living = has_living(now);
	if (atomic_load(&me.alone))
		lines_say(&me.page, &me.f->shared->lines, NULL, false);
	open = sample_all(&me.all);
	share_tend(&me.share, &me.all, now);
	/* Once the command has ended its memory is there. */
	me.worker.waits = me.phase == PHASE_RUN && me.share.little;
	left = worker_left(&me.worker);
	known_sweep(&me.all);
	worker_unlock(&me.worker);
	worker_beat(&me.worker);
	hand_files();
	shared_tell_cpu(me.f->shared, me.cpu_before);
	if (me.phase == PHASE_RUN)
		worker_keep_up(&me.worker, left);
	if (me.phase == PHASE_RUN)
		return open || (me.all.n && me.f->config->malloc) ||
				       me.f->config->profile_memory
			       ? SAMPLE_NS
			       : LOOK_NS;
	if (!left && !living && is_over())
		finish_and_exit();
	if (!left && late)
		answer_with(PHASE_END);
	return me.phase == PHASE_END ? END_NS : open ? SAMPLE_NS : LOOK_NS;
}

/* Where somebody has removed the folder the next finisher has nothing to do either. */
static void open_job(void)
{
	const struct finish *f = me.f;
	int err = page_open(&me.page, f->page, JOB_LOCK_FINISHER, LOCK_NS);

	if (!err)
		err = known_start(&me.all, f->dir);
	if (!err)
		return;
	log_warn("%s: %s", f->dir, sys_error(err));
	if (err == -ENOENT)
		answer_with(PHASE_STOP);
	_exit(1);
}

_Noreturn void finish_main(const struct finish *f)
{
	struct task_how how = { .logdir = f->config->logdir,
				.totals = &f->shared->totals,
				.own = &f->shared->own,
				.shared = f->shared,
				.page = &me.page,
				.launcher = (uint32_t)f->launcher,
				.file = file_is_done,
				.arg = (void *)f };

	me.f = f;
	if (f->config->on_trace[0])
		command_start(environ, f->cwd);
	me.cpu_before = atomic_load(&f->shared->cpu_ns);
	apart_start(f);
	writer_begins = file_begins;
	me.all.shared = f->shared;
	me.all.page = &me.page;
	open_job();
	share_start(&me.share, &me.page, f->config->buffer_mb);
	me.rows = (struct small_rows){ me.all.folder, -1 };
	how.rows = &me.rows;
	look_back();
	held_take(&me.all, f);
	worker_start(&me.worker, &me.all, &how,
		     atomic_load(&f->shared->phase) == PHASE_RUN);
	for (;;) {
		uint32_t seen = page_handed(&me.page);

		look_at_launcher();
		page_wait(&me.page, seen, look_at_spools());
	}
}
