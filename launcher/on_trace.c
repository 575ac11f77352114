/* SPDX-License-Identifier: Apache-2.0 */
/* Files wait for their turn (command_ready) in the pipe. When the last commands run the
 * program has ended: the launcher waits for them as long as for a window, then leaves
 * them. */
#include "launcher/on_trace.h"
#include "agent/core/clock.h"
#include "finisher/command.h"
#include "launcher/say.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOM    (1 << 20) /* of the pipe: some ten thousand paths */
#define LOOK_MS 20
#define TELL_NS 2000000000ll /* after such a wait the user wants to know why */

extern char **environ;

static struct {
	int pipe;
	const struct config *config;
	char path[PATH_MAX + 1];
	size_t used; /* bytes of `path` */
} me = { .pipe = -1 };

int on_trace_start(const struct config *c)
{
	int ends[2];

	if (!c->on_trace[0] || pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return -1;
	fcntl(ends[1], F_SETPIPE_SZ, ROOM); /* more than the usual 64 KiB, if we may */
	command_start(environ, NULL);
	me.pipe = ends[0];
	me.config = c;
	return ends[1];
}

/* Reads a path. The finisher writes whole paths in one go, and a pipe keeps them
 * together. */
static bool read_path(void)
{
	while (me.pipe >= 0 && read(me.pipe, me.path + me.used, 1) == 1) {
		if (me.path[me.used] && me.used < PATH_MAX - 1) {
			me.used++;
			continue;
		}
		me.path[me.used] = '\0';
		me.used = 0;
		return true;
	}
	return false;
}

void on_trace_look(void)
{
	while (command_ready() && read_path())
		command_run(me.config->on_trace, me.path);
}

static void reap_children(void (*ended)(pid_t pid, int status))
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		ended(pid, status);
}

/* Files for which the command was not run have no mark; a finisher that goes on runs it
 * for them. */
static void say_left(bool goes_on)
{
	unsigned left = 0;

	if (command_running())
		say_warn(
			"on_trace: %s still running: not waited for any longer, and not told of",
			say_count(command_running(), "command"));
	while (!goes_on && read_path())
		left++;
	if (left)
		say_warn(
			"on_trace: not run for %s: proflaunch recover --on-trace <command> %s runs it",
			say_count(left, "file"), say_path(me.config->logdir));
}

static bool is_there_more(void)
{
	struct pollfd p = { .fd = me.pipe, .events = POLLIN };

	return me.pipe >= 0 && (command_running() || me.used ||
				(poll(&p, 1, 0) > 0 && p.revents & POLLIN));
}

void on_trace_await(int64_t until, const volatile sig_atomic_t *interrupted,
		    void (*ended)(pid_t pid, int status), bool goes_on)
{
	sig_atomic_t before = *interrupted;
	int64_t since = sys_clock_ns(CLOCK_MONOTONIC), now = since;
	bool told = false;

	while (reap_children(ended), on_trace_look(), is_there_more()) {
		now = sys_clock_ns(CLOCK_MONOTONIC);
		if (now >= until || *interrupted != before)
			break;
		if (!told && now - since > TELL_NS)
			say_note(
				"waiting for %s of on_trace; ^C leaves them to themselves",
				say_count(command_running(), "command"));
		told |= now - since > TELL_NS;
		poll(NULL, 0, LOOK_MS); /* SIGCHLD ends the sleep */
	}
	say_left(goes_on);
	command_sum();
}
