/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/target.h"
#include "launcher/image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SCRIPTS 5 /* as deep as the kernel follows #! lines */

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

/* As execvp: a file that may not be run is remembered, but a later one wins. */
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

/* "#!/usr/bin/env [-S] [NAME=VALUE] python3 -u": the word that env looks up. */
static char *env_word(char *rest)
{
	char *save, *word = strtok_r(rest, " \t", &save);

	while (word && (*word == '-' || strchr(word, '=')))
		word = strtok_r(NULL, " \t", &save);
	return word;
}

/* The interpreter that a script names. 1 = it is no script. */
static int script(struct target *t, const char *path, char *next, size_t size)
{
	char line[512], *p, *rest, *slash;
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(line, 1, sizeof(line) - 1, f) : 0;

	if (f)
		fclose(f);
	line[n] = '\0';
	if (n < 2 || line[0] != '#' || line[1] != '!') {
		/* Text without a #! line: shells and execvp give it to /bin/sh. */
		if (!f || memchr(line, '\0', n) || !memcmp(line, "\177ELF", 4))
			return 1;
		t->text = true;
		return look_up(next, size, "/bin/sh");
	}
	line[strcspn(line, "\r\n")] = '\0';
	p = line + 2 + strspn(line + 2, " \t");
	rest = p + strcspn(p, " \t");
	if (*rest)
		*rest++ = '\0';
	slash = strrchr(p, '/');
	if (slash && !strcmp(slash, "/env") && (rest = env_word(rest)))
		return look_up(next, size, rest);
	return look_up(next, size, p);
}

static void refuse(struct target *t, const char *why, const char *advice)
{
	snprintf(t->why, sizeof(t->why), "%s", why);
	t->advice = advice;
}

/* The loader drops LD_PRELOAD when the program gains rights. */
static bool gains_rights(const char *path)
{
	struct stat st;
	char caps[64];

	if (stat(path, &st))
		return false;
	if ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
	    (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getegid()))
		return true;
	return geteuid() != 0 &&
	       getxattr(path, "security.capability", caps, sizeof(caps)) > 0;
}

static void judge(struct target *t)
{
	struct image image;

	if (image_read(&image, t->image)) {
		refuse(t, "is no ELF program that can be read",
		       "give the program itself");
		return;
	}
	if (gains_rights(t->image))
		refuse(t,
		       "is setuid, setgid or has file capabilities: the loader ignores LD_PRELOAD",
		       "run it without these rights");
	else if (!image.native)
		refuse(t, "is built for another processor than the agent (x86-64)",
		       "use a proflaunch of the same architecture");
	else if (!*image.loader)
		refuse(t, "is linked statically: nothing can be preloaded",
		       "link it dynamically (no -static)");
	else if (strstr(image.loader, "musl"))
		refuse(t, "is linked to musl, the agent to glibc", "use a glibc image");
	else if (*image.sanitizer) {
		snprintf(t->why, sizeof(t->why),
			 "is built with %s, whose run-time must come first",
			 image.sanitizer);
		t->advice = "profile a build without sanitizers";
	}
}

int target_find(struct target *t, const char *command)
{
	char next[PATH_MAX];
	int err;

	memset(t, 0, sizeof(*t));
	t->advice = "";
	err = look_up(t->path, sizeof(t->path), command);
	if (err)
		return err;
	strcpy(t->image, t->path);
	for (unsigned i = 0; i < SCRIPTS; i++) {
		err = script(t, t->image, next, sizeof(next));
		if (err == 1)
			break;
		if (err) {
			refuse(t, "is a script whose interpreter cannot be found",
			       "check its first line");
			return 0;
		}
		/* A setuid bit on a script means nothing to Linux. */
		strcpy(t->image, next);
	}
	judge(t);
	return 0;
}
