/* SPDX-License-Identifier: Apache-2.0 */
/* Two ways to try: the loader alone, which maps and does not run, and a real run with the
 * agent, as a job of its own in a temporary directory. The run's environment is made as a
 * real job's is, so that a run that works here works there. */
#include "launcher/doctor/probe.h"
#include "agent/core/clock.h"
#include "agent/core/job.h"
#include "base/sys.h"
#include "launcher/environment.h"
#include "writer/copy.h"
#include "writer/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOADER_S  60 /* it maps files and prints their names */
#define NAP_MS    10
#define LEFT_MOST 64 /* reads of what an ended program has left in the pipe */

/* Doctor is to end: what it has made goes first. */
static volatile sig_atomic_t stopped;

static void note_stop(int signal)
{
	stopped = signal;
}

static const int stops[] = { SIGINT, SIGTERM, SIGHUP };

static void hold_signals(struct sigaction were[])
{
	struct sigaction ours = { .sa_handler = note_stop };

	for (size_t i = 0; i < sizeof(stops) / sizeof(*stops); i++) {
		sigaction(stops[i], NULL, &were[i]);
		if (were[i].sa_handler != SIG_IGN)
			sigaction(stops[i], &ours, NULL);
	}
}

static void let_signals(const struct sigaction were[])
{
	for (size_t i = 0; i < sizeof(stops) / sizeof(*stops); i++)
		sigaction(stops[i], &were[i], NULL);
	if (stopped)
		raise(stopped);
}

static int64_t now_ms(void)
{
	return sys_clock_ns(CLOCK_MONOTONIC) / 1000000;
}

/* Takes what is there. Output that does not fit is read, too: its writer must not block.
 * False: there will be no more. */
static bool read_some(struct probe *p, size_t *n, int fd)
{
	char rest[4096];
	size_t room = sizeof(p->out) - 1 - *n;
	ssize_t got = read(fd, room ? p->out + *n : rest, room ? room : sizeof(rest));

	if (got > 0 && room)
		*n += (size_t)got;
	p->out[*n] = '\0';
	return got > 0;
}

/* Until the program has ended: what it started may hold the pipe for longer. */
static bool watch_program(struct probe *p, int fd, pid_t pid, unsigned seconds)
{
	struct pollfd more = { .fd = fd, .events = POLLIN };
	int64_t until = now_ms() + seconds * 1000ll;
	bool ended = false;
	size_t n = 0;

	while (!ended && !stopped && now_ms() <= until) {
		if (poll(&more, 1, NAP_MS) > 0 && !read_some(p, &n, fd))
			more.fd = -1; /* it is passed over from now on */
		ended = waitpid(pid, &p->status, WNOHANG) != 0;
	}
	for (unsigned i = 0; i < LEFT_MOST && poll(&more, 1, 0) > 0; i++)
		if (!read_some(p, &n, fd))
			break;
	return ended;
}

/* With all that is in its group. Stuck in the kernel it stays longer. */
static void end_group(struct probe *p, pid_t pid)
{
	kill(-pid, SIGKILL);
	for (unsigned naps = 0; naps < 100 && !waitpid(pid, &p->status, WNOHANG); naps++)
		poll(NULL, 0, NAP_MS);
}

static void __attribute__((noreturn))
start_program(char *const *argv, char *const *env, int out)
{
	int null = open("/dev/null", O_RDONLY);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	execve(argv[0], argv, env);
	_exit(127);
}

static int capture_output(struct probe *p, char *const *argv, char *const *env,
			  unsigned seconds)
{
	int pipes[2];
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid)
		start_program(argv, env, pipes[1]);
	close(pipes[1]);
	if (pid > 0) {
		setpgid(pid, pid); /* the first of both to come */
		p->silent = !watch_program(p, pipes[0], pid, seconds);
		if (p->silent)
			end_group(p, pid);
	}
	close(pipes[0]);
	return pid < 0 ? -EAGAIN : 0;
}

int probe_loader(struct probe *p, const char *image, const char *agent)
{
	char *argv[] = { (char *)image, NULL };
	char preload[PATH_MAX + 16], *path = NULL;
	const char *folders = getenv("LD_LIBRARY_PATH");
	char *env[] = { preload, "LD_TRACE_LOADED_OBJECTS=1", "LD_BIND_NOW=1", NULL,
			NULL };
	int err;

	memset(p, 0, sizeof(*p));
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", agent);
	if (folders && asprintf(&path, "LD_LIBRARY_PATH=%s", folders) >= 0)
		env[3] = path;
	err = capture_output(p, argv, env, LOADER_S);
	free(path);
	return err;
}

/* ---- a run ---- */

struct reading {
	struct probe *p;
	const char *dir;
};

static void settle_logdir(struct config *c, void *arg)
{
	snprintf(c->logdir, sizeof(c->logdir), "%.1000s", ((struct reading *)arg)->dir);
}

static void count_window(const struct cycle_info *info, uint64_t state, int err,
			 const struct writer_result *result, void *arg)
{
	(void)info;
	(void)state;
	if (!err)
		((struct reading *)arg)->p->events += result->events[REC_OP];
}

/* Makes files of the records, as always: they are removed with the rest. */
static void read_spool(struct probe *p, const char *path, const char *dir)
{
	struct reading r = { p, dir };
	struct writer_plan plan = { .settle = settle_logdir,
				    .done = count_window,
				    .arg = &r };
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	const struct spool_header *h;
	struct copy copy;

	if (fd >= 0 && !copy_open(&copy, fd)) {
		h = copy.view.head;
		p->spooled = true;
		p->events += atomic_load(&h->totals.events[REC_OP]);
		snprintf(p->facts, sizeof(p->facts), "%.*s", SPOOL_FACTS - 1, h->facts);
		writer_recover(&copy, &plan);
		copy_close(&copy);
	}
	if (fd >= 0)
		close(fd);
}

/* The first spool that has anything is the command's. */
static void read_spools(struct probe *p, const char *dir)
{
	char pattern[PATH_MAX + 96];
	glob_t spools;

	snprintf(pattern, sizeof(pattern), "%s/*.spool", dir);
	glob(pattern, 0, NULL, &spools);
	snprintf(pattern, sizeof(pattern), "%s/*.spool", job_folder());
	glob(pattern, GLOB_APPEND, NULL, &spools);
	for (size_t i = 0; i < spools.gl_pathc && !p->spooled; i++)
		read_spool(p, spools.gl_pathv[i], dir);
	globfree(&spools);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int run_in(struct probe *p, char *const *argv, const char *agent, const char *dir,
		  unsigned seconds)
{
	char page[PATH_MAX + 96], **env;
	struct config c;
	int err;

	config_defaults(&c);
	config_set(&c, "marker", "none");
	config_set(&c, "buffer_mb", "16");
	config_set(&c, "record_shapes", "on");
	config_set(&c, "python_stack", "ops");
	config_set(&c, "logdir", dir);
	config_set(&c, "spool", dir);
	/* None of the user's options counts: all operators are in one window, whatever
	 * the program does. The agent finds a launcher (doctor), so it leaves its spool
	 * here. */
	clock_start();
	err = job_make(dir, (uint32_t)getpid());
	if (err)
		return err;
	snprintf(page, sizeof(page), "%s/" JOB_PAGE, job_folder());
	env = environment_make(environ, &c, agent, page);
	err = env ? capture_output(p, argv, env, seconds) : -ENOMEM;
	p->mute_torch = job && atomic_load(&job->told) & JOB_TOLD_MUTE_TORCH;
	if (!err)
		read_spools(p, dir);
	return err;
}

/* mkdtemp makes it with mode 0700, so that nobody else can put anything in place of the
 * files that are read there afterwards. Containers often have a read-only /tmp. */
static int make_folder(char *dir, size_t size)
{
	const char *const places[] = { getenv("TMPDIR"), "/tmp", "/dev/shm" };
	int err = 0;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (!places[i] || !*places[i])
			continue;
		snprintf(dir, size, "%.900s/proflaunch-XXXXXX", places[i]);
		if (mkdtemp(dir))
			return 0;
		err = err ? err : -errno;
	}
	return err;
}

int probe_run(struct probe *p, char *const *argv, const char *agent, unsigned seconds)
{
	struct sigaction were[sizeof(stops) / sizeof(*stops)];
	char dir[PATH_MAX];
	int err;

	memset(p, 0, sizeof(*p));
	hold_signals(were);
	err = make_folder(dir, sizeof(dir));
	p->homeless = err != 0;
	if (!err) {
		err = run_in(p, argv, agent, dir, seconds);
		nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	}
	let_signals(were);
	return err;
}

bool probe_fails_bare(char *const *argv, unsigned seconds)
{
	static struct probe bare;

	memset(&bare, 0, sizeof(bare));
	if (capture_output(&bare, argv, environ, seconds))
		return false;
	return bare.silent || WIFSIGNALED(bare.status);
}
