/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much may be mapped: what the program would need for itself is its own, so where its
 * memory is limited ours is a small part of what is left.
 */
#include "agent/core/spool.h"
#include "base/fmt.h"
#include "base/sys.h"
#include "base/unseen.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SHARE ((uint64_t)16) /* of what is left */
#define LEAST (2ull << 20)
#define ROOMY (1ull << 30) /* a control group with so much limits nobody */

static uint64_t number_at(const char *p)
{
	uint64_t n = 0;

	for (; *p >= '0' && *p <= '9' && n < UINT64_MAX / 16; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	return n;
}

/* Field n of /proc/self/statm, in bytes: 0 is all that is mapped, 5 data and stacks.
 * Without /proc nobody knows: then all of the limit counts as taken. */
static uint64_t taken_of(uint64_t limit, unsigned n)
{
	char text[256];
	const char *p = text;

	if (unseen_read("/proc/self/statm", text, sizeof(text)) <= 0)
		return limit;
	for (; n && (p = strchr(p, ' ')); n--)
		p++;
	return p ? number_at(p) * (uint64_t)sysconf(_SC_PAGESIZE) : limit;
}

static uint64_t left_of(uint64_t cap, uint64_t limit, uint64_t taken)
{
	uint64_t room = limit > taken ? (limit - taken) / SHARE : 0;

	return room < cap ? room : cap;
}

static uint64_t below_rlimit(uint64_t cap, int resource, unsigned field)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return cap;
	return left_of(cap, limit.rlim_cur, taken_of(limit.rlim_cur, field));
}

uint64_t spool_room_below(int resource, uint64_t bytes)
{
	uint64_t room = left_of(UINT64_MAX, bytes,
				taken_of(bytes, resource == RLIMIT_AS ? 0 : 5));

	return room < LEAST ? 0 : room;
}

/* "0::/path" is our group in the unified hierarchy; the root's path is "". */
static bool find_own_group(char *group, size_t size)
{
	char text[4096], *line;

	if (sys_read_file("/proc/self/cgroup", text, sizeof(text)) <= 0)
		return false;
	line = strncmp(text, "0::", 3) ? strstr(text, "\n0::") : text;
	if (!line)
		return false;
	line += *line == '\n' ? 4 : 3;
	line[strcspn(line, "\n")] = '\0';
	return fmt(group, size, "%s", strcmp(line, "/") ? line : "") < size;
}

static uint64_t group_number(const char *group, const char *name)
{
	char path[4200], text[64];

	if (fmt(path, sizeof(path), "/sys/fs/cgroup%s/%s", group, name) >= sizeof(path) ||
	    sys_read_file(path, text, sizeof(text)) <= 0 || *text < '0' || *text > '9')
		return UINT64_MAX; /* "max", or no such group */
	return number_at(text);
}

static uint64_t left_in(const char *group)
{
	uint64_t most = group_number(group, "memory.max"), now;

	if (most >= ROOMY)
		return UINT64_MAX;
	now = group_number(group, "memory.current");
	return now < most ? most - now : 0;
}

/* A limit holds for all groups below it, so each on the way to the root is asked, and the
 * one that leaves least counts. */
uint64_t spool_group_limit(void)
{
	uint64_t left, least = UINT64_MAX;
	char group[4096], *last;

	if (!find_own_group(group, sizeof(group)))
		return UINT64_MAX;
	for (;;) {
		left = left_in(group);
		least = left < least ? left : least;
		last = strrchr(group, '/');
		if (!last)
			return least;
		*last = '\0';
	}
}

uint64_t spool_room(uint64_t cap, uint64_t group)
{
	struct rlimit file;
	uint64_t all = cap;

	cap = below_rlimit(cap, RLIMIT_AS, 0);
	cap = below_rlimit(cap, RLIMIT_DATA, 5);
	if (group != UINT64_MAX)
		cap = left_of(cap, group, 0);
	if (!getrlimit(RLIMIT_FSIZE, &file) && file.rlim_cur < cap &&
	    file.rlim_cur >= LEAST)
		cap = file.rlim_cur; /* a lower limit: spool_place says -EFBIG */
	return cap == all ? cap : cap < LEAST ? 0 : cap & ~65535ull;
}
