/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/self/maps, read by system calls. Newer kernels tell of one address without the
 * list, which is long where there are many threads.
 */
#include "agent/unwind/maps.h"
#include "base/maps.h"
#include "base/sys.h"
#include "base/sys_call.h"
#include "base/unseen.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

struct search {
	uintptr_t at, first;
	uint64_t inode; /* of the file that begins at `first` */
	struct unwind_mapping *m;
	char *path; /* the line that is being read, then the path alone */
	size_t size;
};

/* A file's first mapping, which has its ELF header, is remembered until another file's
 * begins: the line that holds the address is one of those behind it. */
static bool line_holds(const struct maps_line *l, void *search)
{
	struct search *s = search;

	if (!l->offset) {
		s->first = l->begin;
		s->inode = l->inode;
	}
	if (s->at < l->begin || s->at >= l->end)
		return false;
	s->m->begin = l->begin;
	s->m->end = l->end;
	s->m->readable = l->prot & PROT_READ;
	s->m->first = l->inode && l->inode == s->inode ? s->first : l->begin;
	memmove(s->path, l->path, strlen(l->path) + 1);
	return true;
}

static int search_file(void *search)
{
	struct search *s = search;

	return maps_lines(s->path, s->size, line_holds, s);
}

bool unwind_maps_find(uintptr_t at, struct unwind_mapping *m, char *path, size_t size)
{
	struct search s = { .at = at, .m = m, .path = path, .size = size };

	return unseen_run(search_file, &s) > 0;
}

/* ---- one address alone ---- */

struct question { /* linux/fs.h: struct procmap_query */
	uint64_t size, flags, at;
	uint64_t begin, end, access, page_size, offset, inode;
	uint32_t dev[2], name_size, build_id_size;
	uint64_t name, build_id;
};
#define QUESTION          _IOWR('f', 17, struct question) /* Linux 6.11 */
#define QUESTION_READABLE 1

static bool ask_bounds(const struct search *s, int fd, long *err)
{
	struct question q = { .size = sizeof(q), .at = s->at };

	*err = SYS_CALL(SYS_ioctl, fd, QUESTION, &q);
	if (*err)
		return false;
	s->m->begin = s->m->first = q.begin;
	s->m->end = q.end;
	s->m->readable = q.access & QUESTION_READABLE;
	return true;
}

static int find_bounds(void *search)
{
	int fd = sys_open("/proc/self/maps", O_RDONLY, 0);
	struct search *s = search;
	long err;
	bool found =
		fd >= 0 &&
		(ask_bounds(s, fd, &err) ||
		 (err != -ENOENT && maps_lines_of(fd, s->path, s->size, line_holds, s)));

	if (fd >= 0)
		sys_close(fd);
	return found;
}

bool unwind_maps_bounds(uintptr_t at, struct unwind_mapping *m)
{
	char line[128];
	struct search s = { .at = at, .m = m, .path = line, .size = sizeof(line) };

	return unseen_run(find_bounds, &s) > 0;
}
