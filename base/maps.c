/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/self/maps, line by line: the kernel gives it in pieces that end anywhere. */
#include "base/maps.h"
#include "base/sys.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

static uint64_t read_number(const char **at, unsigned base)
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
static struct maps_line parse_line(const char *at)
{
	struct maps_line l = { 0 };

	l.begin = read_number(&at, 16);
	at += *at == '-';
	l.end = read_number(&at, 16);
	at += *at == ' ';
	for (; *at && *at != ' '; at++)
		l.prot |= *at == 'r'   ? PROT_READ
			  : *at == 'w' ? PROT_WRITE
			  : *at == 'x' ? PROT_EXEC
				       : 0;
	at += *at == ' ';
	l.offset = read_number(&at, 16);
	at += *at == ' ';
	at += strcspn(at, " ");
	at += *at == ' ';
	l.inode = read_number(&at, 10);
	l.path = at + strspn(at, " ");
	return l;
}

bool maps_lines_of(int fd, char *line, size_t size, maps_fn fn, void *arg)
{
	bool done = false;
	struct maps_line l;
	char buf[1024];
	size_t len = 0;
	ssize_t n;

	while (!done && (n = sys_read(fd, buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; i < n && !done; i++) {
			if (buf[i] != '\n') {
				if (len + 1 < size)
					line[len++] = buf[i];
				continue;
			}
			line[len] = '\0';
			len = 0;
			l = parse_line(line);
			done = fn(&l, arg);
		}
	return done;
}

bool maps_lines(char *line, size_t size, maps_fn fn, void *arg)
{
	int fd = sys_open("/proc/self/maps", O_RDONLY, 0);
	bool done = fd >= 0 && maps_lines_of(fd, line, size, fn, arg);

	if (fd >= 0)
		sys_close(fd);
	return done;
}
