/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the system are read line by line; a container may have none of them. */
#include "launcher/machine.h"
#include "base/text.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/* Copies what stands behind a word at the begin of a line, without quotes and the blanks
 * around it. */
static void find_value(const char *path, const char *word, const char *parts, char *to,
		       size_t size)
{
	FILE *file = fopen(path, "re");
	char line[1024];

	*to = '\0';
	while (file && !*to && fgets(line, sizeof(line), file)) {
		const char *value = text_after(line, word);
		size_t len;

		if (!value || !strspn(value, parts))
			continue;
		value += strspn(value, parts);
		len = strlen(value);
		while (len && strchr(" \t\n\"'", value[len - 1]))
			len--;
		snprintf(to, size, "%.*s", (int)len, value);
	}
	if (file)
		fclose(file);
}

/* Processors of ARM have numbers there, and no name. */
void machine_cpu(char *to, size_t size)
{
	find_value("/proc/cpuinfo", "model name", " \t:", to, size);
}

void machine_system(char *to, size_t size)
{
	char name[256];
	struct utsname u;

	find_value("/etc/os-release", "PRETTY_NAME", "=\"'", name, sizeof(name));
	*to = '\0';
	if (!uname(&u))
		snprintf(to, size, "%s%s%s %s, %s", name, *name ? ", " : "", u.sysname,
			 u.release, u.machine);
}

int64_t machine_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 0 : CPU_COUNT(&set);
}
