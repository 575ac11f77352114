/* SPDX-License-Identifier: Apache-2.0 */
/* What will really run: a command is looked up as execvp does it, then scripts are
 * followed to their interpreter as the kernel does it, and `env`, which the kernel runs,
 * to the program that it looks up. Rights, capabilities and ELF headers of the last file
 * say whether the agent can go with it; nothing is run to find out. */
#include "launcher/target.h"
#include "base/sys.h"
#include "config/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int try_path(char *path, size_t size, const char *dir, size_t len,
		    const char *name)
{
	struct stat st;

	if ((size_t)snprintf(path, size, "%.*s%s%s", (int)len, dir, len ? "/" : "",
			     name) >= size)
		return -ENAMETOOLONG;
	if (stat(path, &st))
		return -errno;
	if (S_ISDIR(st.st_mode) || access(path, X_OK))
		return -EACCES;
	return 0;
}

/* Looks up a name as execvp does: a file that may not be run is remembered, but a later
 * one wins. */
static int look_up(char *path, size_t size, const char *name)
{
	const char *dirs = getenv("PATH");
	int err = -ENOENT, now;
	size_t len;

	if (strchr(name, '/'))
		return try_path(path, size, "", 0, name);
	if (!*name)
		return -ENOENT;
	for (dirs = dirs ? dirs : "/bin:/usr/bin";; dirs += len + 1) {
		len = strcspn(dirs, ":");
		now = try_path(path, size, dirs, len, name);
		if (!now)
			return 0;
		if (now == -EACCES)
			err = now;
		if (!dirs[len])
			return err;
	}
}

/* The word that env looks up in "#!/usr/bin/env [-S] [NAME=VALUE] python3 -u". */
static char *env_word(char *rest)
{
	char *save, *word = strtok_r(rest, " \t", &save);

	while (word && (*word == '-' || strchr(word, '=')))
		word = strtok_r(NULL, " \t", &save);
	return word;
}

/* Finds the interpreter that a script names. 1 = the file is no script. */
static int find_interpreter(struct target *t, struct image *image, char *next,
			    size_t size)
{
	const char *slash = strrchr(image->interpreter, '/');
	char *word;

	/* Text without a #! line: shells and execvp give it to /bin/sh. */
	t->text |= image->kind == IMAGE_TEXT;
	if (image->kind == IMAGE_TEXT)
		return look_up(next, size, "/bin/sh");
	if (image->kind != IMAGE_SCRIPT)
		return 1;
	if (slash && !strcmp(slash, "/env") && (word = env_word(image->argument)))
		return look_up(next, size, word);
	return try_path(next, size, "", 0, image->interpreter);
}

/* Notes why no agent is preloaded; the program runs nevertheless. */
static void refuse_target(struct target *t, const char *why, const char *advice)
{
	snprintf(t->why, sizeof(t->why), "%s", why);
	t->advice = advice;
}

static const char *const advice[ASIDE_KINDS][2] = {
	[ASIDE_RIGHTS] = { "is setuid, setgid or has file capabilities: the loader ignores LD_PRELOAD",
			   "run it without these rights" },
	[ASIDE_FOREIGN] = { "is built for another processor than the agent (x86-64)",
			    "use a proflaunch of the same architecture" },
	[ASIDE_STATIC] = { "is linked statically: nothing can be preloaded",
			   "link it dynamically (no -static)" },
	[ASIDE_MUSL] = { "is linked to musl, the agent to glibc", "use a glibc image" },
};

static void judge_image(struct target *t, const struct image *image, enum aside why)
{
	if (why == ASIDE_SANITIZER) {
		snprintf(t->why, sizeof(t->why),
			 "is built with %s, whose run-time must come first",
			 image->sanitizer);
		t->advice = "profile a build without sanitizers";
	} else if (why) {
		refuse_target(t, advice[why][0], advice[why][1]);
	} else if (image->kind != IMAGE_ELF) {
		refuse_target(t, "is no ELF program that can be read",
			      "give the program itself");
	}
}

/* Reads what kind the file is of; ASIDE_NO also when it cannot be read. */
static enum aside read_image(struct image *image, const char *path)
{
	/* O_NONBLOCK: a pipe with that name is not waited for. */
	int fd = sys_open(path, O_RDONLY | O_NONBLOCK, 0);
	enum aside why = ASIDE_NO;
	struct sys_stat st;

	image->kind = IMAGE_OTHER;
	if (fd < 0)
		return !sys_stat(path, &st) && aside_raises(&st) ? ASIDE_RIGHTS
								 : ASIDE_NO;
	if (!sys_fstat(fd, &st) && S_ISREG(st.mode))
		image_read(image, fd);
	if (image->kind == IMAGE_ELF)
		why = aside_raises(&st) || aside_raises_caps(fd) ? ASIDE_RIGHTS
								 : aside_of(image);
	sys_close(fd);
	return why;
}

int target_find(struct target *t, const char *command)
{
	static struct image image;
	char next[PATH_MAX];
	enum aside why;
	int err;

	memset(t, 0, sizeof(*t));
	t->advice = "";
	err = look_up(t->path, sizeof(t->path), command);
	if (err)
		return err;
	strcpy(t->image, t->path);
	why = read_image(&image, t->image);
	for (unsigned i = 0; i < ASIDE_SCRIPTS; i++) {
		err = find_interpreter(t, &image, next, sizeof(next));
		if (err == 1)
			break;
		if (err) {
			refuse_target(t, "is a script whose interpreter cannot be found",
				      "check its first line");
			/* The kernel starts env whether or not there is what env looks
			 * up. */
			if (image.kind == IMAGE_SCRIPT && access(image.interpreter, F_OK))
				strcpy(t->lacks, image.interpreter);
			return 0;
		}
		/* A setuid bit on a script means nothing to Linux. */
		strcpy(t->image, next);
		why = read_image(&image, t->image);
	}
	judge_image(t, &image, why);
	return 0;
}
