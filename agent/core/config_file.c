/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/config_file.h"
#include "agent/core/fmt.h"
#include "agent/core/log.h"
#include "agent/core/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MOST (64u * 1024)
#define IMPLICIT  "profile.conf"

const char *config_getenv(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; env && *env; env++)
		if (!strncmp(*env, name, len) && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

/* Could somebody else have written it? */
static bool ours_alone(const char *path)
{
	struct sys_stat st;

	return !sys_stat(path, &st) && st.uid == geteuid() &&
	       !(st.mode & (S_IWGRP | S_IWOTH));
}

/* Options that make us run or write something: not from a file that lies about in
 * a directory which others may write, like /tmp. */
static bool is_delicate(const char *line)
{
	static const char *const names[] = { "on_trace", "logdir", "spool" };

	line += strspn(line, " \t");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t len = strlen(names[i]);

		if (!strncmp(line, names[i], len) && strchr(" \t=", line[len]) &&
		    line[len])
			return true;
	}
	return false;
}

static void read_lines(struct config *c, const char *path, char *text, bool trusted,
		       config_bad_fn bad, void *arg)
{
	char where[CONFIG_TEXT + 16], *line = text, *next;
	unsigned number = 1;

	for (; line; line = next, number++) {
		const char *no;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		fmt(where, sizeof(where), "%s:%u", path, number);
		if (!trusted && is_delicate(line)) {
			log_warn(
				"%s: ignored, because others may write this file or its directory (--config %s makes it count)",
				where, path);
			continue;
		}
		no = config_line(c, line);
		if (no)
			bad(where, no, arg);
	}
}

static void read_file(struct config *c, const char *path, bool implicit,
		      config_bad_fn bad, void *arg)
{
	char *text = sys_map(FILE_MOST);
	ssize_t n = text ? sys_read_file(path, text, FILE_MOST) : -ENOMEM;
	struct sys_stat st;

	if (n >= 0 && !sys_stat(path, &st) && S_ISDIR(st.mode))
		n = -EISDIR;
	if (n == -ENOENT && implicit)
		n = 0;
	else if (n < 0)
		bad(path, sys_error((int)n), arg);
	else if ((size_t)n != strlen(text))
		bad(path, "is no text file", arg);
	else if (n >= (ssize_t)FILE_MOST - 1)
		bad(path, "is larger than 64 KiB", arg);
	else
		read_lines(c, path, text,
			   !implicit || (ours_alone(path) && ours_alone(".")), bad, arg);
	if (text)
		munmap(text, FILE_MOST);
}

void config_load(struct config *c, const char *path, char *const *env, config_bad_fn bad,
		 void *arg)
{
	const char *job = config_getenv(env, "PROF_JOB");
	const char *named = path && *path ? path : config_getenv(env, "PROF_CONFIG");

	config_defaults(c);
	if (getauxval(AT_SECURE))
		return;
	if (named && *named)
		fmt(c->config, sizeof(c->config), "%s", named);
	if (!job || !*job || (path && *path))
		read_file(c, *c->config ? c->config : IMPLICIT, !*c->config, bad, arg);
	config_env(c, env, bad, arg);
}
