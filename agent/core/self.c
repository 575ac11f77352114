/* SPDX-License-Identifier: Apache-2.0 */
/* The process's own pid, name and host, and its ancestors from /proc, up to the launcher.
 */
#include "agent/core/self.h"
#include "base/fmt.h"
#include "base/sys.h"

#include <stdbool.h>
#include <string.h>

struct self self;

static bool settled, forked;

void self_look(const char *argv0)
{
	const char *base = argv0 ? strrchr(argv0, '/') : NULL;

	self.pid = sys_pid();
	settled = forked = false;
	sys_host(self.host, sizeof(self.host));
	fmt(self.exe, sizeof(self.exe), "%s", base ? base + 1 : argv0 ? argv0 : "");
	self.exe[strcspn(self.exe, " \t\n")] = '\0';
}

/* Each ancestor costs a file, so the walk ends at the launcher: nobody asks for more. */
static void collect_ancestors(uint32_t last)
{
	uint32_t pid = self.ppid, parent;
	uint64_t start;
	unsigned n = 0;

	while (pid > 1 && pid != last && n < SELF_ANCESTORS &&
	       !sys_identity(pid, &parent, &start)) {
		self.ancestor[n].pid = pid;
		self.ancestor[n++].start_time = start;
		pid = parent;
	}
	self.ancestors = n;
}

void self_settle(uint32_t last)
{
	struct sys_stat st;

	if (settled)
		return;
	sys_identity(0, &self.ppid, &self.start_time);
	self.pid_ns = sys_stat("/proc/self/ns/pid", &st) ? 0 : st.ino;
	if (!forked)
		collect_ancestors(last);
	settled = true;
}

/* The parent's ancestors are ours, and the parent itself, where they are known. */
void self_fork_child(void)
{
	forked = settled;
	if (settled && self.ancestors == SELF_ANCESTORS)
		self.ancestors--;
	if (settled) {
		memmove(&self.ancestor[1], &self.ancestor[0],
			self.ancestors * sizeof(self.ancestor[0]));
		self.ancestor[0].pid = self.pid;
		self.ancestor[0].start_time = self.start_time;
		self.ancestors++;
	}
	settled = false;
	self.pid = sys_pid();
}
