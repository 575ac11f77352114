/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc/<pid>/stat says: which process a number means, by parent and start. */
#include "base/fmt.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

static uint64_t number_at(const char *p)
{
	uint64_t n = 0;

	for (; p && *p >= '0' && *p <= '9'; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	return n;
}

/* Fields count from the one behind the command name (3), which may itself hold ')'. */
static const char *stat_field(const char *text, unsigned n)
{
	const char *p = strrchr(text, ')');

	p = p && p[1] ? p + 2 : NULL;
	for (unsigned at = 3; p && at < n; at++) {
		p = strchr(p, ' ');
		if (p)
			p++;
	}
	return p;
}

static ssize_t read_stat(uint32_t pid, char *text, size_t size)
{
	char path[64];

	fmt(path, sizeof(path), pid ? "/proc/%u/stat" : "/proc/self/stat", pid);
	return sys_read_file(path, text, size);
}

const char *sys_process_field(uint32_t pid, unsigned n, char *text, size_t size)
{
	return read_stat(pid, text, size) > 0 ? stat_field(text, n) : NULL;
}

/* A file of /proc that is there and says nothing is that of a process which went as it
 * was opened: -ENOENT, as if it could not have been opened. */
int sys_identity(uint32_t pid, uint32_t *parent, uint64_t *start_time)
{
	char text[1024];
	ssize_t n = read_stat(pid, text, sizeof(text));

	*parent = n > 0 ? (uint32_t)number_at(stat_field(text, 4)) : 0;
	*start_time = n > 0 ? number_at(stat_field(text, 22)) : 0;
	return n > 0 ? 0 : n < 0 ? (int)n : -ENOENT;
}

uint64_t sys_start_time(uint32_t pid)
{
	uint32_t parent;
	uint64_t start;

	sys_identity(pid, &parent, &start);
	return start;
}
