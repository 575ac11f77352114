/* SPDX-License-Identifier: Apache-2.0 */
/* The process that sets the mark runs the command (finisher/command.h): so a launcher
 * that is about to do so just now and recover never both run it for one file. */
#include "launcher/recover/commands.h"
#include "finisher/command.h"
#include "launcher/recover/refill.h"
#include "launcher/say.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NAMED 20 /* files named one by one where no command is run for them */

extern char **environ;

struct unmarked {
	const char *command; /* NULL: the files are only named */
	unsigned n, marked;
};

static void look_at_trace(struct unmarked *u, const char *path)
{
	if (command_marked(path)) {
		u->marked++;
		return;
	}
	u->n++;
	if (!u->command)
		return;
	say_note("on_trace: %s", path);
	command_run(u->command, path);
	command_wait();
}

static void each_trace(const char *dir, struct unmarked *u,
		       void (*look)(struct unmarked *u, const char *path))
{
	struct dirent **e;
	char path[PATH_MAX];
	int n = scandir(dir, &e, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		if (e[i]->d_name[0] != '.' && refill_is_trace(e[i]->d_name) &&
		    snprintf(path, sizeof(path), "%s/%s", dir, e[i]->d_name) <
			    (int)sizeof(path))
			look(u, path);
		free(e[i]);
	}
	if (n >= 0)
		free(e);
}

static void name_trace(struct unmarked *u, const char *path)
{
	if (!command_marked(path) && u->n++ < NAMED)
		say_note("on_trace has not run for %s", path);
}

static void each_folder(const char *logdir, struct unmarked *u,
			void (*look)(struct unmarked *u, const char *path))
{
	char children[PATH_MAX];

	each_trace(logdir, u, look);
	if (snprintf(children, sizeof(children), "%s/children", logdir) <
	    (int)sizeof(children))
		each_trace(children, u, look);
}

bool commands_run_file(const char *path, const char *command)
{
	struct unmarked u = { .command = command };

	command_start(environ, NULL);
	look_at_trace(&u, path);
	if (!u.n)
		say_note("on_trace: %s has its mark", path);
	return command_wait();
}

bool commands_run(const char *logdir, const char *command, bool wanted)
{
	struct unmarked u = { .command = command };

	if (command)
		command_start(environ, NULL);
	each_folder(logdir, &u, look_at_trace);
	if (command) {
		command_sum();
		if (!u.n)
			say_note("on_trace: each file in %s has its mark", logdir);
		return command_wait();
	}
	if (!u.n || !(wanted || u.marked))
		return true;
	u.n = 0;
	each_folder(logdir, &u, name_trace);
	say_note("on_trace: proflaunch recover --on-trace <command> %s runs it for %s",
		 say_path(logdir), u.n == 1 ? "this one" : say_count(u.n, "file"));
	return true;
}
