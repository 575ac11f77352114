/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory_group.h"
#include "base/fmt.h"
#include "base/sys.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define ROOMY (1ull << 30)

/* How a hierarchy names what is asked here. Arrays: pointers would be relocations, which
 * each program pays for. */
struct hierarchy {
	char controller[8]; /* in /proc/self/cgroup */
	char mount[24], limit[24], usage[24];
	char pinned[6][20]; /* rows of memory.stat that no pressure makes smaller */
};

static const struct hierarchy hierarchies[] = {
	{ "",
	  "/sys/fs/cgroup",
	  "memory.max",
	  "memory.current",
	  { "anon", "shmem", "unevictable", "kernel_stack", "pagetables",
	    "slab_unreclaimable" } },
	{ "memory",
	  "/sys/fs/cgroup/memory",
	  "memory.limit_in_bytes",
	  "memory.usage_in_bytes",
	  { "total_rss", "total_shmem", "total_unevictable" } },
};
#define HIERARCHIES (sizeof(hierarchies) / sizeof(hierarchies[0]))

/* ---- which group ---- */

/* Is `name` one of the comma-separated names in `list`? An empty name is in an empty
 * list alone. */
static bool is_in_list(const char *list, size_t len, const char *name)
{
	size_t n = strlen(name), at = 0, one;

	for (; at <= len; at += one + 1) {
		one = strcspn(list + at, ",:");
		if (one == n && !strncmp(list + at, name, n))
			return n || !len;
	}
	return false;
}

/* A line is "<number>:<controllers>:<path>". The root's path is "/", here "". */
static bool find_group(const struct hierarchy *h, const char *text, char *group,
		       size_t size)
{
	for (const char *line = text, *list, *path; *line;
	     line += strcspn(line, "\n"), line += *line == '\n') {
		int len;

		list = strchr(line, ':');
		path = list ? strchr(list + 1, ':') : NULL;
		if (!path ||
		    !is_in_list(list + 1, (size_t)(path - list) - 1, h->controller))
			continue;
		len = (int)strcspn(++path, "\n");
		if (len == 1)
			len = 0;
		return fmt(group, size, "%.*s", len, path) < size;
	}
	return false;
}

/* ---- what it says ---- */

static ssize_t read_group(const struct hierarchy *h, const char *group, const char *name,
			  char *text, size_t size)
{
	char path[4200];

	if (fmt(path, sizeof(path), "%s%s/%s", h->mount, group, name) >= sizeof(path))
		return -1;
	return sys_read_file(path, text, size);
}

static uint64_t group_number(const struct hierarchy *h, const char *group,
			     const char *name)
{
	char text[64];

	if (read_group(h, group, name, text, sizeof(text)) <= 0 || *text < '0' ||
	    *text > '9')
		return UINT64_MAX; /* "max", or no such group */
	return text_number(text);
}

static uint64_t stat_row(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		if (!strncmp(text, name, n) && text[n] == ' ')
			return text_number(text + n + 1);
	return 0;
}

static uint64_t pinned_in(const struct hierarchy *h, const char *group)
{
	char text[4096];
	uint64_t sum = 0;

	if (read_group(h, group, "memory.stat", text, sizeof(text)) <= 0)
		return UINT64_MAX;
	for (size_t i = 0; i < sizeof(h->pinned) / sizeof(h->pinned[0]); i++)
		if (h->pinned[i][0])
			sum += stat_row(text, h->pinned[i]);
	return sum;
}

static uint64_t usage_in(const struct hierarchy *h, const char *group)
{
	return group_number(h, group, h->usage);
}

typedef uint64_t (*taken_fn)(const struct hierarchy *h, const char *group);

static uint64_t left_in(const struct hierarchy *h, const char *group, taken_fn taken)
{
	uint64_t most = group_number(h, group, h->limit), now;

	if (most >= ROOMY)
		return UINT64_MAX;
	now = taken(h, group);
	return now < most ? most - now : 0;
}

/* ---- on the way to the root ---- */

static uint64_t least_above(const struct hierarchy *h, char *group, taken_fn taken)
{
	uint64_t least = UINT64_MAX, left;
	char *last;

	for (;;) {
		left = left_in(h, group, taken);
		least = left < least ? left : least;
		last = strrchr(group, '/');
		if (!last)
			return least;
		*last = '\0';
	}
}

static uint64_t least_of(taken_fn taken)
{
	uint64_t least = UINT64_MAX, left;
	char text[4096], group[4096];

	if (sys_read_file("/proc/self/cgroup", text, sizeof(text)) <= 0)
		return UINT64_MAX;
	for (size_t i = 0; i < HIERARCHIES; i++) {
		if (!find_group(&hierarchies[i], text, group, sizeof(group)))
			continue;
		left = least_above(&hierarchies[i], group, taken);
		least = left < least ? left : least;
	}
	return least;
}

uint64_t memory_group_left(void)
{
	return least_of(usage_in);
}

uint64_t memory_group_room(void)
{
	return least_of(pinned_in);
}
