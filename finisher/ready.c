/* SPDX-License-Identifier: Apache-2.0 */
/* A pipe takes up to PIPE_BUF bytes in one piece, and no path is longer: a pipe that is
 * full or closed takes nothing of a path, which is sent at the next look. */
#include "finisher/ready.h"
#include "base/log.h"
#include "finisher/command.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	char **path;
	unsigned n, room, done; /* done: so many in front were sent or run */
	bool ours; /* the launcher is sent none */
} files;

static bool make_room(void)
{
	unsigned room = files.room ? 2 * files.room : 64;
	char **more = files.n < files.room ? files.path
					   : realloc(files.path, room * sizeof(*more));

	if (more && more != files.path)
		files.path = more;
	if (more && files.n == files.room)
		files.room = room;
	return more;
}

void ready_add(const char *path)
{
	static bool said;
	char *copy;

	pthread_mutex_lock(&lock);
	copy = make_room() ? strdup(path) : NULL;
	if (copy)
		files.path[files.n++] = copy;
	else if (!said)
		log_warn("on_trace: no memory to remember %s: not run for it", path);
	said |= !copy;
	pthread_mutex_unlock(&lock);
}

static bool send_path(int pipe, const char *path)
{
	size_t len = strlen(path) + 1;

	return len <= PIPE_BUF && write(pipe, path, len) == (ssize_t)len;
}

void ready_send(int pipe, pid_t launcher)
{
	unsigned before;

	pthread_mutex_lock(&lock);
	before = files.done;
	while (!files.ours && files.done < files.n &&
	       send_path(pipe, files.path[files.done]))
		files.done++;
	if (files.done > before && getppid() == launcher)
		kill(launcher, SIGCHLD);
	pthread_mutex_unlock(&lock);
}

void ready_run(const char *command)
{
	pthread_mutex_lock(&lock);
	while (files.done < files.n && command_ready()) {
		command_run(command, files.path[files.done]);
		files.done++;
	}
	pthread_mutex_unlock(&lock);
}

unsigned ready_left(void)
{
	unsigned n;

	pthread_mutex_lock(&lock);
	n = files.n - files.done;
	pthread_mutex_unlock(&lock);
	return n;
}

void ready_again(void)
{
	pthread_mutex_lock(&lock);
	files.ours = true;
	files.done = 0;
	pthread_mutex_unlock(&lock);
}
