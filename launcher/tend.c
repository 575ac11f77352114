/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher forks a finisher as soon as the command runs, and looks after it on each
 * wake-up: lines and paths come by pipes, spools in memory by a socket, and a counter
 * that changes (`beat`) says that it is not stuck. Where a finisher ends another one
 * follows: while the command runs after a pause that doubles each time, for the same
 * cause may end the next one, too; at the end at once. The launcher allocates nothing
 * after the first fork: it has to work when memory is short, as the program may have
 * taken all of it. */
#include "launcher/tend.h"
#include "agent/core/clock.h"
#include "agent/core/job.h"
#include "base/sys.h"
#include "finisher/apart.h"
#include "finisher/command.h"
#include "finisher/finish.h"
#include "finisher/page.h"
#include "launcher/holder.h"
#include "launcher/on_trace.h"
#include "launcher/progress.h"
#include "launcher/recover/remains.h"
#include "launcher/say.h"
#include "launcher/symbols/symbolize.h"
#include "report/out.h"
#include "writer/symbols/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND       1000000000ll
#define TICK_NS      SECOND
#define HANG_NS      (60 * SECOND) /* so long without a sign of life */
#define BACKOFF_MOST (30 * SECOND)
#define LIVES        5 /* finishers that may fail during the wait at the end */
#define ANSWER_NS    (2 * SECOND) /* for an answer that takes no work */
#define WAIT_NS      100000000ll
#define EXIT_NS      500000ll

int64_t tend_most_ns = TEND_SECONDS * SECOND;

static struct {
	struct finish finish;
	struct page page;
	pid_t pid; /* 0 = there is no finisher now */
	int lines, spools; /* the launcher's ends */
	int64_t born_ns, next_ns, backoff; /* next_ns: when the next may start */
	uint32_t beat;
	int64_t beat_ns; /* when `beat` was last seen to change */
	unsigned deaths; /* failed finishers during the wait at the end */
} me = { .lines = -1, .spools = -1 };

static volatile sig_atomic_t interrupted;

/* ---- starting a finisher ---- */

static void start_finisher(void)
{
	int64_t now = sys_clock_ns(CLOCK_MONOTONIC);

	/* The new finisher inherits the table's descriptors: they need not be sent
	 * again. */
	me.finish.held = holder_table(&me.finish.held_n);
	me.pid = fork();
	if (!me.pid) {
		page_close(&me.page);
		if (job)
			munmap(job, sizeof(*job));
		job = NULL;
		finish_main(&me.finish);
	}
	if (me.pid < 0)
		me.pid = 0;
	me.born_ns = me.beat_ns = now;
	me.backoff = me.backoff ? 2 * me.backoff : SECOND;
	if (me.backoff > BACKOFF_MOST)
		me.backoff = BACKOFF_MOST;
	me.next_ns = now + me.backoff;
}

static bool make_pipes(void)
{
	int lines[2], spools[2];

	if (pipe2(lines, O_CLOEXEC | O_NONBLOCK))
		return false;
	me.lines = lines[0];
	me.finish.lines = lines[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, spools))
		return false;
	me.spools = spools[0];
	me.finish.spools = spools[1];
	return true;
}

bool tend_start(const struct tend *t)
{
	static char cwd[PATH_MAX];
	int err;

	me.finish = (struct finish){ .config = t->config,
				     .dir = t->dir,
				     .page = t->page,
				     .job = t->job,
				     .shared = shared_make(),
				     .launcher = getpid() };
	err = page_open(&me.page, t->page, JOB_LOCK_LAUNCHER, 0);
	if (err || !me.finish.shared || !make_pipes()) {
		say_warn("%s: cannot be watched: %s", t->dir,
			 err ? sys_error(err) : strerror(errno));
		return false;
	}
	symbols_ask = known_ask;
	me.finish.traces = on_trace_start(t->config);
	if (getcwd(cwd, sizeof(cwd)))
		me.finish.cwd = cwd;
	holder_open(t->job);
	return true; /* the first tick starts one: the command is our first child */
}

/* ---- while the command runs ---- */

/* Passes the finisher's lines on. A name in them may come from a spool: so nothing that a
 * terminal would obey gets through. */
static void pass_lines(void)
{
	char text[4097];
	ssize_t n;

	while (me.lines >= 0 && (n = read(me.lines, text, sizeof(text) - 1)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			text[i] = text[i] ? text[i] : '?';
		text[n] = '\0';
		out_plain(text);
		say_text(text, (size_t)n);
	}
}

static void look_at_beat(int64_t now)
{
	uint32_t beat = atomic_load(&me.finish.shared->beat);

	if (beat != me.beat || !me.pid)
		me.beat_ns = now;
	me.beat = beat;
	if (me.pid && now - me.beat_ns > HANG_NS) {
		atomic_store(&me.finish.shared->died, UINT32_MAX);
		kill(me.pid, SIGKILL);
		me.beat_ns = now;
	}
	/* A finisher that has worked for a minute was no failure: the next may come at
	 * once. */
	if (me.pid && now - me.born_ns > HANG_NS)
		me.backoff = 0;
}

static void pump_messages(void)
{
	holder_close_done(me.finish.shared->held_done);
	holder_receive(me.spools);
	pass_lines();
	lines_say(&me.page, &me.finish.shared->lines, out_plain, false);
	on_trace_look();
	look_at_beat(sys_clock_ns(CLOCK_MONOTONIC));
}

static int64_t pump_on_tick(void)
{
	if (!me.finish.shared)
		return TICK_NS;
	pump_messages();
	if (!me.pid && atomic_load(&me.finish.shared->answer) != PHASE_STOP &&
	    sys_clock_ns(CLOCK_MONOTONIC) >= me.next_ns)
		start_finisher();
	return TICK_NS;
}

/* In a control group with little memory the cause that killed the finisher will kill the
 * next one, and the group's reclaim before that costs the program pages of its own
 * code. */
static void put_off_next(void)
{
	me.backoff = BACKOFF_MOST;
	me.next_ns = sys_clock_ns(CLOCK_MONOTONIC) + BACKOFF_MOST;
}

static void note_finisher_end(pid_t pid, int status)
{
	bool hung = atomic_load(&me.finish.shared->died) == UINT32_MAX;

	if (!WIFSTOPPED(status) && command_ended(pid, status))
		return;
	if (!me.pid || pid != me.pid || WIFSTOPPED(status))
		return;
	me.pid = 0;
	if (!WIFSIGNALED(status) || (hung && WTERMSIG(status) == SIGKILL))
		return;
	atomic_store(&me.finish.shared->died, (uint32_t)WTERMSIG(status));
	if (WTERMSIG(status) == SIGKILL && job && job->memory != UINT64_MAX)
		put_off_next();
}

const struct child_others tend_others = { .ended = note_finisher_end,
					  .tick = pump_on_tick };

/* ---- the end ---- */

static void count_interrupt(int sig)
{
	if (sig == SIGINT)
		interrupted++;
}

/* Counts only ends that the next finisher may have, too: each exit, and each signal but
 * SIGKILL and SIGTERM, which somebody sends, and but those during the writing of a
 * window, which the next finisher leaves alone. */
static bool is_failure(int status)
{
	return WIFEXITED(status) ||
	       (WTERMSIG(status) != SIGKILL && WTERMSIG(status) != SIGTERM &&
		!atomic_load(&me.finish.shared->now.on));
}

/* Starts another finisher at once where one dies, for the user waits. At most LIVES may
 * fail, so that there is an end. */
static void replace_dead_finisher(void)
{
	int status;
	pid_t got;

	while ((got = waitpid(-1, &status, WNOHANG)) > 0) {
		me.deaths += got == me.pid && is_failure(status);
		note_finisher_end(got, status);
	}
	if (!me.pid && atomic_load(&me.finish.shared->answer) != PHASE_STOP &&
	    me.deaths <= LIVES)
		start_finisher();
}

static void set_phase(enum shared_phase phase)
{
	atomic_store(&me.finish.shared->phase, phase);
	page_wake(&me.page);
}

static void say_interrupted(void)
{
	static bool said;
	uint32_t left;

	if (said || interrupted != 1)
		return;
	said = true;
	/* A stopped finisher's own count may be too small: count what is there. */
	left = remains_count(me.finish.dir) + holder_left(me.finish.shared->held_done);
	say_note(
		"the records of %s are still to be written; ^C again leaves them to proflaunch recover",
		say_count(left, "process"));
}

/* Waits for the answer to `phase`, or to a later one. False: nobody will give it. */
static bool wait_for(enum shared_phase phase, int64_t most)
{
	int64_t since = sys_clock_ns(CLOCK_MONOTONIC);
	uint32_t answer;

	while (answer = atomic_load(&me.finish.shared->answer), answer < phase) {
		pump_messages();
		if (phase == PHASE_END)
			replace_dead_finisher();
		/* The launcher asks, as it has a processor to ask with; a finisher at the
		 * lowest priority may get none. */
		if (me.pid)
			apart_share(me.pid, true);
		if (!me.pid || interrupted > 1 ||
		    sys_clock_ns(CLOCK_MONOTONIC) - since > most)
			return false;
		say_interrupted();
		if (phase == PHASE_END)
			progress_show(atomic_load(&me.finish.shared->left),
				      sys_clock_ns(CLOCK_MONOTONIC) - since);
		sys_futex_wait_all(&me.finish.shared->answer, answer, WAIT_NS);
	}
	return true;
}

static void kill_finisher(void)
{
	if (me.pid)
		kill(me.pid, SIGKILL);
	while (me.pid && waitpid(me.pid, NULL, 0) < 0 && errno == EINTR)
		;
	me.pid = 0;
}

/* Waits until the finisher has gone: recover, if called now, must find the page's lock
 * free. */
static void await_exit(void)
{
	const struct timespec pause = { .tv_nsec = EXIT_NS };

	for (int64_t ns = 0; me.pid && ns < ANSWER_NS; ns += EXIT_NS) {
		if (waitpid(me.pid, NULL, WNOHANG))
			me.pid = 0;
		else
			nanosleep(&pause, NULL);
	}
}

uint64_t tend_cpu_ns(void)
{
	return me.finish.shared ? atomic_load(&me.finish.shared->cpu_ns) : 0;
}

void tend_read(void *page, size_t size)
{
	if (!me.finish.shared || pread(me.page.fd, page, size, 0) != (ssize_t)size)
		memset(page, 0, size);
}

/* Lets the finisher go on alone with the rest, or leave the rest to recover. False: it
 * does not answer. */
static bool let_go(void)
{
	struct shared *s = me.finish.shared;
	bool linger = me.finish.config->linger, told;

	s->totals.living = atomic_load(&s->living);
	set_phase(linger ? PHASE_LINGER : PHASE_STOP);
	told = wait_for(linger ? PHASE_LINGER : PHASE_STOP, ANSWER_NS);
	if (linger && told)
		me.pid = 0; /* the finisher is on its own from here */
	return told;
}

/* Ends the finisher; only recover will write what is left. */
static void give_up(void)
{
	struct totals *t = &me.finish.shared->totals;

	kill_finisher();
	shared_tidy(me.finish.shared);
	remains_trim(me.finish.dir);
	t->living = t->late = 0;
	t->failed += remains_count(me.finish.dir);
	t->lost += holder_left(me.finish.shared->held_done);
	page_leave(&me.page);
}

static void watch_interrupts(void)
{
	struct sigaction act = { .sa_handler = count_interrupt }, old,
			 wake = { .sa_handler = count_interrupt, .sa_flags = SA_RESTART };

	sigaction(SIGINT, NULL, &old);
	if (old.sa_handler != SIG_IGN)
		sigaction(SIGINT, &act, NULL);
	/* A spool in memory that still comes, or a file for on_trace, ends a sleep,
	 * too. */
	sigaction(SIGCHLD, &wake, NULL);
}

const struct totals *tend_end(void)
{
	struct shared *s = me.finish.shared;
	int64_t until;
	bool told;

	if (!s)
		return NULL;
	until = sys_clock_ns(CLOCK_MONOTONIC) + tend_most_ns;
	watch_interrupts();
	/* Passes on spools in memory that came last: a finisher that knows of none would
	 * end. */
	pump_messages();
	set_phase(PHASE_END);
	told = wait_for(PHASE_END, tend_most_ns);
	progress_clear();
	if (!told && interrupted < 2)
		s->totals.late = atomic_load(&s->left);
	if (interrupted < 2 && atomic_load(&s->answer) < PHASE_LINGER)
		told = let_go();
	pump_messages();
	on_trace_await(until, &interrupted, note_finisher_end,
		       atomic_load(&s->answer) == PHASE_LINGER);
	lines_say(&me.page, &s->lines, out_plain, true);
	/* A finisher that has answered only has to end: the launcher waits for that just
	 * where something is left. */
	if (!told)
		give_up();
	else if (s->totals.failed || !me.finish.config->linger)
		await_exit();
	return &s->totals;
}
