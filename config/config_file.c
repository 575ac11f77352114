/* SPDX-License-Identifier: Apache-2.0 */
/* profile.conf, and in which order what is configured counts. A file that is named is
 * the user's own decision. One that merely lies in the working directory is believed
 * only if nobody else can have written it: options name files that we write and
 * commands that we run, and the user may stand in another's directory. */
#include "config/config_file.h"
#include "base/fmt.h"
#include "base/folder.h"
#include "base/log.h"
#include "base/sys.h"
#include "config/config_comment.h"
#include "config/own_env.h"
#include "config/stages.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MOST (64u * 1024)
#define IMPLICIT  "profile.conf"

const char *config_getenv(char *const *env, const char *name)
{
	const char *value = NULL;

	for (; env && *env && !value; env++)
		value = own_env_value(*env, name);
	return value;
}

/* ---- whose is ./profile.conf ---- */

static bool writable_by_others(const struct sys_stat *st)
{
	return st->mode & (S_IWGRP | S_IWOTH);
}

/* Root may write everywhere anyhow. */
static bool has_foreign_owner(const struct sys_stat *st)
{
	return st->uid && st->uid != geteuid();
}

/* Why the file that lies about in the working directory does not count. */
static const char *distrust_file(int dir, int fd)
{
	struct sys_stat d, f;

	if (sys_fstat(dir, &d) || sys_fstat(fd, &f))
		return "nobody knows whose it is";
	if (S_ISLNK(f.mode))
		return "it is a link";
	if (has_foreign_owner(&f))
		return "it belongs to another user";
	if (writable_by_others(&f))
		return "others may write it";
	if (has_foreign_owner(&d) && !folder_is_private(&d))
		return "its directory belongs to another user";
	if (writable_by_others(&d))
		return "others may write its directory";
	return NULL;
}

/* The file is judged before it is opened, for to open somebody else's pipe could do harm
 * by that alone; and again by the descriptor that is read, for the name may mean another
 * file by then. */
static int open_judged(int dir, const char **why)
{
	int fd = folder_file(dir, IMPLICIT, O_PATH | O_NOFOLLOW, 0);

	if (fd < 0)
		return -ENOENT;
	*why = distrust_file(dir, fd);
	sys_close(fd);
	if (*why)
		return -EPERM;
	fd = folder_file(dir, IMPLICIT, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	*why = fd < 0 ? NULL : distrust_file(dir, fd);
	if (!*why)
		return fd;
	sys_close(fd);
	return -EPERM;
}

/* A file of another user is ignored whole: nearly every option makes us write or run
 * something. */
static int open_implicit(void)
{
	int dir = folder_file(AT_FDCWD, ".", O_PATH | O_DIRECTORY, 0), fd;
	const char *why = NULL;

	if (dir < 0)
		return -ENOENT;
	fd = open_judged(dir, &why);
	sys_close(dir);
	if (!why)
		return fd;
	log_warn("./" IMPLICIT ": ignored, because %s (--config " IMPLICIT
		 " makes it count)",
		 why);
	return -ENOENT;
}

/* ---- reading ---- */

/* "[stage val]" and the lines behind it, until the next head. One that is no stage's
 * above them all, as people write [main], parts nothing. */
struct section {
	char name[STAGES_SECTION]; /* "stage.val."; "" above the first head */
	bool wrong; /* nobody knows what its lines are for */
};

static const char *take_line(struct config *c, struct section *s, char *line)
{
	const char *head = line + strspn(line, " \t\r"), *no;

	if (*head == '[') {
		no = stages_head(head, s->name);
		s->wrong = no && (*s->name || strstr(head, "stage"));
		return no;
	}
	return s->wrong ? NULL : config_line_in(c, *s->name ? s->name : NULL, line);
}

static void read_lines(struct config *c, const char *path, char *text, config_bad_fn bad,
		       void *arg)
{
	static const char mark[] =
		"\xef\xbb\xbf"; /* editors of Windows begin a file so */
	char where[CONFIG_TEXT + 16], *line = text, *next;
	struct section section = { 0 };
	unsigned number = 1;

	if (!strncmp(line, mark, strlen(mark)))
		line += strlen(mark);
	for (; line; line = next, number++) {
		const char *no;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		config_comment_cut(line);
		no = take_line(c, &section, line);
		if (!no)
			continue;
		fmt(where, sizeof(where), "%s:%u", path, number);
		bad(where, no, arg);
	}
}

static void read_file(struct config *c, const char *path, bool implicit,
		      config_bad_fn bad, void *arg)
{
	int fd = implicit ? open_implicit() : folder_file(AT_FDCWD, path, O_RDONLY, 0);
	char *text = sys_map(FILE_MOST);
	ssize_t n = fd < 0 ? fd : text ? sys_read_all(fd, text, FILE_MOST) : -ENOMEM;

	if (fd >= 0)
		sys_close(fd);
	if (n == -ENOENT && implicit)
		n = 0;
	else if (n < 0)
		bad(path, sys_error((int)n), arg);
	else if ((size_t)n != strlen(text))
		bad(path, "is no text file", arg);
	else if (n >= (ssize_t)FILE_MOST - 1)
		bad(path, "is larger than 64 KiB", arg);
	else
		read_lines(c, path, text, bad, arg);
	if (text)
		munmap(text, FILE_MOST);
}

void config_load(struct config *c, const char *path, char *const *env, config_bad_fn bad,
		 void *arg)
{
	const char *job = config_getenv(env, "PROF_JOB");
	const char *named = path && *path ? path : config_getenv(env, "PROF_CONFIG");

	config_defaults_zeroed(c);
	/* A setuid program's caller must not choose where it writes. */
	if (getauxval(AT_SECURE))
		return;
	if (named && *named)
		fmt(c->config, sizeof(c->config), "%s", named);
	if (!job || !*job || (path && *path))
		read_file(c, *c->config ? c->config : IMPLICIT, !*c->config, bad, arg);
	config_env(c, env, bad, arg);
}
