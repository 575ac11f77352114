/* SPDX-License-Identifier: Apache-2.0 */
#include "finisher/life.h"
#include "base/sys.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool life_name(const char *name, uint32_t *pid, uint64_t *start)
{
	const char *p = strrchr(name, '_');
	char *end;

	p = p ? p + 1 : name;
	if (!isdigit((unsigned char)*p))
		return false;
	*pid = (uint32_t)strtoul(p, &end, 10);
	if (*end != '.' || !isdigit((unsigned char)end[1]))
		return false;
	*start = strtoull(end + 1, &end, 10);
	return *end == '.';
}

int life_locked(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_OFD_GETLK, &whole))
		return -errno;
	return whole.l_type != F_UNLCK;
}

uint64_t life_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

/* Is the process a zombie? A first thread alone is one, too, while other threads go
 * on. */
static bool is_zombie(uint32_t pid)
{
	char path[64], text[1024];
	const char *state = sys_process_field(pid, 3, text, sizeof(text));
	struct stat st;

	if (!state) /* too many open files, perhaps: that is no end */
		return false;
	if (*state != 'Z' && *state != 'X')
		return false;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	return stat(path, &st) || st.st_nlink <= 3;
}

#define FLAGS_FIELD 9 /* of /proc/<pid>/stat */
#define EXITING     4ul /* PF_EXITING */

/* Is SIGKILL in the hexadecimal mask of that line of /proc/<pid>/status? */
static bool has_kill(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	return p && strtoull(p + strlen(key), NULL, 16) & 1ull << (SIGKILL - 1);
}

bool life_ends(uint32_t pid)
{
	char path[64], text[4096];
	const char *flags;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (!pid || sys_read_file(path, text, sizeof(text)) <= 0)
		return false;
	if (has_kill(text, "SigPnd:") || has_kill(text, "ShdPnd:"))
		return true;
	flags = sys_process_field(pid, FLAGS_FIELD, text, sizeof(text));
	return flags && strtoul(flags, NULL, 10) & EXITING;
}

/* A line of maps is "address perms offset dev inode path"; file systems do not agree on
 * dev. */
static bool line_names_spool(const char *line, const struct life_who *who)
{
	unsigned long long ino = 0;
	const char *name = strstr(line, who->name); /* the line itself where it is "" */

	sscanf(line, "%*s %*s %*s %*s %llu", &ino);
	return (ino && ino == who->ino) || (name > line && name[-1] == '/');
}

enum life life_look(const struct life_who *who)
{
	uint64_t start = 0;
	uint32_t parent;
	int err = who->pid ? sys_identity(who->pid, &parent, &start) : -EINVAL;
	enum life found = LIFE_UNSEEN;
	char path[64], line[8192];
	FILE *f;

	if (err && err != -ENOENT && err != -ESRCH)
		return LIFE_UNSEEN;
	if (!start || start != who->start || is_zombie(who->pid))
		return LIFE_GONE;
	snprintf(path, sizeof(path), "/proc/%u/maps", who->pid);
	f = fopen(path, "re");
	while (f && found != LIFE_HERE && fgets(line, sizeof(line), f))
		found = line_names_spool(line, who) ? LIFE_HERE : LIFE_GONE;
	if (f)
		fclose(f);
	return found;
}
