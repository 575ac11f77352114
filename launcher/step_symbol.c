/* SPDX-License-Identifier: Apache-2.0 */
/* A run whose marker never matches has no steps, which its user learns hours later. The
 * command is judged only where its files tell all: a program that can load a library,
 * or start another program, may have the function yet. */
#include "launcher/step_symbol.h"
#include "agent/sched/marker.h"
#include "base/image.h"
#include "base/near.h"
#include "base/sys.h"
#include "base/text.h"
#include "launcher/symbols/frames.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME_MOST 512

struct look {
	char library[sizeof(((struct marker *)0)->text)]; /* a glob; "" = any file */
	const char *name;
	const char *program;
	char found[PATH_MAX]; /* the file that defines `name` */
	bool opens; /* the program can load a library or start a program */
	bool incomplete; /* a file could not be read */
	bool stripped;
	struct near near;
	char best[NAME_MOST]; /* the nearest of the program's names */
	char inside[NAME_MOST]; /* the shortest name that contains it, for C++ */
};

/* ---- one file ---- */

/* By these functions a program gets code that its needed libraries do not have. */
static bool opens_other_code(const char *name)
{
	static const char *const openers[] = {
		"dlopen", "dlmopen",     "execve",       "execv",   "execvp", "execvpe",
		"execl",  "execlp",      "execle",       "fexecve", "system", "execveat",
		"popen",  "posix_spawn", "posix_spawnp", "syscall",
	};

	for (size_t i = 0; i < sizeof(openers) / sizeof(*openers); i++)
		if (!strcmp(name, openers[i]))
			return true;
	return false;
}

/* The C library's own files define these functions: that they name them tells nothing. */
static bool is_c_library(const char *path)
{
	const char *base = text_base(path);

	return !strncmp(base, "libc.so", 7) || !strncmp(base, "ld-linux", 8) ||
	       !strncmp(base, "libdl.so", 8) || !strncmp(base, "libpthread.so", 13);
}

static void look_near(struct look *l, const char *name)
{
	const char *before = l->near.best;
	size_t len = strlen(name);

	near_try(&l->near, name);
	if (l->near.best != before)
		snprintf(l->best, sizeof(l->best), "%s", name);
	if (strstr(name, l->name) && len < NAME_MOST &&
	    (!*l->inside || len < strlen(l->inside)))
		strcpy(l->inside, name);
}

struct file {
	struct look *l;
	bool wanted, own, open;
	bool found;
};

static void look_at_function(const char *name, bool defined, void *arg)
{
	struct file *file = arg;

	if (defined && file->own)
		look_near(file->l, name);
	file->found |= defined && file->wanted && !strcmp(name, file->l->name);
	file->open |= !defined && opens_other_code(name);
}

static void look_into_file(struct look *l, const char *path, bool own)
{
	struct file file = { .l = l, .own = own };
	struct symbol_file f;

	if (!symbol_file_open(&f, path)) {
		l->incomplete = true;
		return;
	}
	file.wanted = !*l->library || !fnmatch(l->library, text_base(path), 0) ||
		      !fnmatch(l->library, path, 0);
	symbol_file_functions(&f, look_at_function, &file);
	l->stripped |= own && symbol_file_stripped(&f);
	symbol_file_close(&f);
	if (file.found && !*l->found)
		snprintf(l->found, sizeof(l->found), "%s", path);
	l->opens |= file.open && !is_c_library(path);
}

/* ---- all that the loader would map ---- */

static int ask_loader(const char *program, pid_t *pid)
{
	int pipes[2], null;

	if (pipe2(pipes, O_CLOEXEC))
		return -errno;
	*pid = fork();
	if (!*pid) {
		null = open("/dev/null", O_RDWR);
		dup2(null, STDIN_FILENO);
		dup2(null, STDERR_FILENO);
		dup2(pipes[1], STDOUT_FILENO);
		setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
		execl(program, program, (char *)NULL);
		_exit(127);
	}
	close(pipes[1]);
	if (*pid > 0)
		return pipes[0];
	close(pipes[0]);
	return -EAGAIN;
}

/* "\tlibm.so.6 => /lib/libm.so.6 (0x7f...)", "\t/lib64/ld-linux-x86-64.so.2 (0x7f...)" */
static void look_at_line(struct look *l, char *line)
{
	char *path = strchr(line, '/'), *end;

	l->incomplete |= strstr(line, "not found") != NULL;
	end = path ? strstr(path, " (0x") : NULL;
	if (!end)
		return; /* the vdso has no file */
	*end = '\0';
	/* "libm.so.6 => /lib/…", or a path that is needed by its own name. */
	if (strstr(path, " => "))
		path = strstr(path, " => ") + 4;
	look_into_file(l, path, false);
}

static void look_into_libraries(struct look *l)
{
	size_t room = 0;
	char *line = NULL;
	int status = 0, fd;
	FILE *list;
	pid_t pid = -1;

	fd = ask_loader(l->program, &pid);
	list = fd < 0 ? NULL : fdopen(fd, "r");
	if (fd < 0) {
		l->incomplete = true;
		return;
	}
	while (list && getline(&line, &room, list) > 0)
		look_at_line(l, line);
	free(line);
	if (list)
		fclose(list);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	l->incomplete |= !list || status;
}

/* Only a plain program is asked: a loader of another kind might run it. */
static bool is_plain(const char *program)
{
	static struct image image;
	int fd = sys_open(program, O_RDONLY | O_NONBLOCK, 0);

	if (fd < 0)
		return false;
	image_read(&image, fd);
	sys_close(fd);
	return image.kind == IMAGE_ELF &&
	       !strncmp(text_base(image.interpreter), "ld-linux", 8);
}

bool step_symbol_may_change(const struct target *t)
{
	static struct look l;

	if (*t->why || strcmp(t->path, t->image) || !is_plain(t->path))
		return true;
	l = (struct look){ .program = t->path, .name = "" };
	look_into_file(&l, t->path, false);
	look_into_libraries(&l);
	return l.opens || l.incomplete;
}

/* ---- the answer ---- */

static void split_name(struct look *l, const struct marker *m)
{
	const char *bang = strchr(m->text, '!');

	snprintf(l->library, sizeof(l->library), "%.*s", bang ? (int)(bang - m->text) : 0,
		 m->text);
	l->name = bang ? bang + 1 : m->text;
	l->near = near_begin(l->name);
}

static const char *say_nowhere(const struct look *l, const struct marker *m)
{
	static char text[PATH_MAX + 3 * NAME_MOST];
	const char *better = *l->best ? l->best : l->inside;

	snprintf(
		text, sizeof(text),
		"symbol:%s: neither %s nor a library that it needs has such a function, and it loads no other%s%s%s",
		m->text, l->program, *better ? " (did you mean symbol:" : "", better,
		*better       ? "?)"
		: l->stripped ? " (it is stripped: local functions have no names)"
			      : "");
	return text;
}

enum step_place step_symbol_find(const struct config *c, const struct target *t,
				 const char **said)
{
	static struct look l;
	static struct marker m;

	*said = "";
	if (marker_parse(&m, c->marker) || m.kind != MARKER_SYMBOL)
		return STEP_NONE;
	l = (struct look){ .program = t->path };
	split_name(&l, &m);
	*said = "it may come with a library that is loaded later, or in a program that this one starts: the last line of a run says if it did not";
	/* A script's interpreter loads the libraries that the script names. */
	if (*t->why || strcmp(t->path, t->image) || !is_plain(t->path))
		return STEP_LATER;
	look_into_file(&l, t->path, true);
	look_into_libraries(&l);
	if (*l.found) {
		*said = l.found;
		return STEP_HERE;
	}
	if (l.opens || l.incomplete)
		return STEP_LATER;
	*said = say_nowhere(&l, &m);
	return STEP_NOWHERE;
}
