/* SPDX-License-Identifier: Apache-2.0 */
#include "base/control_group.h"
#include "base/fmt.h"
#include "base/sys.h"

#include <stdbool.h>
#include <string.h>

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
static bool find_group(const char *controller, const char *text, char *group, size_t size)
{
	for (const char *line = text, *list, *path; *line;
	     line += strcspn(line, "\n"), line += *line == '\n') {
		int len;

		list = strchr(line, ':');
		path = list ? strchr(list + 1, ':') : NULL;
		if (!path || !is_in_list(list + 1, (size_t)(path - list) - 1, controller))
			continue;
		len = (int)strcspn(++path, "\n");
		if (len == 1)
			len = 0;
		return fmt(group, size, "%.*s", len, path) < size;
	}
	return false;
}

/* ---- what its files say ---- */

ssize_t control_group_read(const char *group, const char *name, char *text, size_t size)
{
	char path[4200];

	if (fmt(path, sizeof(path), "%s/%s", group, name) >= sizeof(path))
		return -1;
	return sys_read_file(path, text, size);
}

/* The folder is cut at its end, one group after the other, down to the mount. */
uint64_t control_group_least(const char *controller, const char *mount,
			     control_group_ask *ask, const void *arg)
{
	char text[4096], folder[4160];
	size_t root = fmt(folder, sizeof(folder), "%s", mount);
	uint64_t least = UINT64_MAX, one;
	char *last;

	if (sys_read_file("/proc/self/cgroup", text, sizeof(text)) <= 0 ||
	    !find_group(controller, text, folder + root, sizeof(folder) - root))
		return UINT64_MAX;
	for (;;) {
		one = ask(folder, arg);
		least = one < least ? one : least;
		last = strrchr(folder + root, '/');
		if (!last)
			return least;
		*last = '\0';
	}
}
