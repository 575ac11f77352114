/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/fmt.h"
#include "agent/core/sys.h"
#include "agent/hooks/patch_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* "7f00-7f01 r-xp ...": the rest of the line does not matter. */
static bool one_line(const char *line, bool (*fn)(uintptr_t, uintptr_t, int, void *),
		     void *arg)
{
	uintptr_t at[2] = { 0, 0 };
	int prot = 0;

	for (unsigned i = 0; i < 2; i++, line++)
		for (; *line && *line != '-' && *line != ' '; line++)
			at[i] = at[i] << 4 | (uintptr_t)(*line <= '9' ? *line - '0'
								      : *line - 'a' + 10);
	for (; *line && *line != ' '; line++)
		prot |= *line == 'r'   ? PROT_READ
			: *line == 'w' ? PROT_WRITE
			: *line == 'x' ? PROT_EXEC
				       : 0;
	return fn(at[0], at[1], prot, arg);
}

bool patch_maps(bool (*fn)(uintptr_t, uintptr_t, int, void *), void *arg)
{
	int fd = sys_open("/proc/self/maps", O_RDONLY, 0);
	char buf[512], line[64];
	size_t len = 0;
	bool done = false;
	ssize_t n;

	while (fd >= 0 && !done && (n = read(fd, buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; i < n && !done; i++) {
			if (buf[i] != '\n') {
				if (len + 1 < sizeof(line))
					line[len++] = buf[i];
				continue;
			}
			line[len] = 0;
			len = 0;
			done = one_line(line, fn, arg);
		}
	if (fd >= 0)
		sys_close(fd);
	return done;
}

struct prot_of {
	uintptr_t at;
	int prot;
};

static bool is_there(uintptr_t begin, uintptr_t end, int prot, void *arg)
{
	struct prot_of *p = arg;

	if (p->at < begin || p->at >= end)
		return false;
	p->prot = prot;
	return true;
}

int patch_prot(uintptr_t at)
{
	struct prot_of p = { at, -1 };

	patch_maps(is_there, &p);
	return p.prot;
}

/* Our own thread runs nothing of the program's. */
static bool is_ours(const char *tid)
{
	char path[64], comm[32];

	fmt(path, sizeof(path), "/proc/self/task/%s/comm", tid);
	return sys_read_file(path, comm, sizeof(comm)) > 0 &&
	       !strncmp(comm, "proflaunch", 10);
}

struct entry64 { /* as getdents64 gives it */
	uint64_t ino;
	int64_t off;
	uint16_t size;
	uint8_t type;
	char name[];
};

unsigned patch_threads(void)
{
	int fd = sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY, 0);
	_Alignas(8) char buf[2048];
	unsigned count = 0;
	long n;

	while (fd >= 0 && (n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
		for (long at = 0; at < n;) {
			struct entry64 *e = (struct entry64 *)(buf + at);

			count += e->name[0] != '.' && !is_ours(e->name);
			at += e->size;
		}
	if (fd >= 0)
		sys_close(fd);
	return count ? count : 2; /* unknown: as if there were others */
}
