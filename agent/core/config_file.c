/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/config_file.h"
#include "agent/core/fmt.h"
#include "agent/core/log.h"
#include "agent/core/sys.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define FILE_MOST (64 * 1024)
#define LINE_MOST 2048

static bool only_ours(const char *path)
{
	struct sys_stat st;

	return !sys_stat(path, &st) && st.uid == geteuid() && !(st.mode & 022);
}

/* The option's name at the start of a line, for rules and messages. */
static void key_of(const char *line, char *key, size_t size)
{
	size_t n;

	line += strspn(line, " \t");
	n = strcspn(line, " \t=\r\n");
	fmt(key, size, "%.*s", (int)n, line);
}

static bool needs_trust(const char *key)
{
	return !strcmp(key, "logdir") || !strcmp(key, "spool") || !strcmp(key, "on_trace");
}

static void one_line(struct config *c, const char *path, unsigned number, char *line,
		     bool trusted, config_file_bad_fn bad, void *arg)
{
	char key[128];
	const char *why;

	key_of(line, key, sizeof(key));
	if (!trusted && needs_trust(key)) {
		bad(path, number, key,
		    "left out: the file or its directory can be written by others", arg);
		return;
	}
	why = config_line(c, line);
	if (why)
		bad(path, number, key, why, arg);
}

int config_file_read(struct config *c, const char *path, config_file_bad_fn bad, void *arg)
{
	static char text[FILE_MOST];
	bool named = path && *path;
	char *line, *next;
	unsigned number = 0;
	ssize_t n;

	if (!named)
		path = "./profile.conf";
	n = sys_read_file(path, text, sizeof(text));
	if (n < 0) {
		if (!named && n == -ENOENT)
			return 0;
		bad(path, 0, NULL, sys_error((int)n), arg);
		return (int)n;
	}
	if (n == FILE_MOST - 1)
		bad(path, 0, NULL, "longer than 64 KiB: the rest is left out", arg);
	for (line = text; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (strlen(line) >= LINE_MOST)
			bad(path, ++number, NULL, "line too long", arg);
		else
			one_line(c, path, ++number, line,
				 named || (only_ours(path) && only_ours(".")), bad, arg);
	}
	return 0;
}

void config_file_warn(const char *path, unsigned line, const char *key, const char *why,
		      void *arg)
{
	(void)arg;
	if (line)
		log_warn("%s:%u: %s: %s", path, line, key ? key : "", why);
	else
		log_warn("%s: %s", path, why);
}

void config_env_warn(const char *name, const char *why, void *arg)
{
	(void)arg;
	log_warn("%s: %s", name, why);
}
