/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/sys.h"
#include "agent/hooks/unwind_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct line {
	uintptr_t begin, end;
	uint64_t offset, inode;
	bool readable;
	const char *path;
};

static uint64_t number(const char **at, unsigned base)
{
	uint64_t n = 0;

	for (;; (*at)++) {
		unsigned c = (unsigned char)**at;
		unsigned digit = c - '0' < 10 ? c - '0' : c - 'a' < 6 ? c - 'a' + 10 : 99;

		if (digit >= base)
			return n;
		n = n * base + digit;
	}
}

/* "7f00-7f01 r-xp 00000000 08:01 1234   /lib/x.so" */
static struct line parse(const char *at)
{
	struct line l = { 0 };

	l.begin = number(&at, 16);
	at += *at == '-';
	l.end = number(&at, 16);
	at += *at == ' ';
	l.readable = *at == 'r';
	at += strcspn(at, " ");
	at += *at == ' ';
	l.offset = number(&at, 16);
	at += *at == ' ';
	at += strcspn(at, " ");
	at += *at == ' ';
	l.inode = number(&at, 10);
	l.path = at + strspn(at, " ");
	return l;
}

struct search {
	uintptr_t at, first;
	uint64_t inode; /* of the file that begins at `first` */
};

static bool matches(struct search *s, const struct line *l, struct unwind_mapping *m)
{
	if (!l->offset) {
		s->first = l->begin;
		s->inode = l->inode;
	}
	if (s->at < l->begin || s->at >= l->end)
		return false;
	m->begin = l->begin;
	m->end = l->end;
	m->readable = l->readable;
	m->first = l->inode && l->inode == s->inode ? s->first : l->begin;
	return true;
}

bool unwind_maps_find(uintptr_t at, struct unwind_mapping *m, char *path, size_t size)
{
	int saved = errno, fd = sys_open("/proc/self/maps", O_RDONLY, 0);
	struct search s = { at, 0, 0 };
	bool found = false;
	char buf[1024];
	size_t len = 0;
	ssize_t n;

	while (fd >= 0 && !found &&
	       ((n = read(fd, buf, sizeof(buf))) > 0 || (n < 0 && errno == EINTR)))
		for (ssize_t i = 0; i < n && !found; i++) {
			struct line l;

			if (buf[i] != '\n') {
				if (len + 1 < size)
					path[len++] = buf[i];
				continue;
			}
			path[len] = '\0';
			len = 0;
			l = parse(path);
			found = matches(&s, &l, m);
			if (found)
				memmove(path, l.path, strlen(l.path) + 1);
		}
	if (fd >= 0)
		sys_close(fd);
	errno = saved;
	return found;
}
