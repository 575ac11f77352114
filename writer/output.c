/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/output.h"
#include "agent/core/fmt.h"
#include "agent/core/sys.h"
#include "writer/pile.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LEVEL      1
#define NAMES_MOST 1000 /* tries to find a name that is free */
#define NOREPLACE  1 /* RENAME_NOREPLACE, newer than some headers */

/* libdeflate's memory: a map for each block, its size in front. */
static void *block_alloc(size_t size)
{
	size_t *block = pile_map(size + 64);

	if (!block)
		return NULL;
	*block = size + 64;
	return (char *)block + 64;
}

static void block_free(void *p)
{
	size_t *block = p ? (size_t *)((char *)p - 64) : NULL;

	if (block)
		pile_unmap(block, *block);
}

static int compression(struct output *o)
{
	libdeflate_set_memory_allocator(block_alloc, block_free);
	o->compressor = libdeflate_alloc_compressor(LEVEL);
	if (!o->compressor)
		return -ENOMEM;
	o->packed_size = libdeflate_gzip_compress_bound(o->compressor, OUTPUT_BLOCK);
	o->packed = pile_map(o->packed_size);
	return o->packed ? 0 : -ENOMEM;
}

static int directories(const char *path)
{
	char dir[OUTPUT_PATH];
	char *slash;

	fmt(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (!slash || slash == dir)
		return 0;
	*slash = '\0';
	return sys_mkdirs(dir, 0777);
}

int output_open(struct output *o, const char *path, bool gz)
{
	int err;

	o->fd = -1;
	o->gz = gz;
	o->bytes = 0;
	o->compressor = NULL;
	o->packed = NULL;
	o->part[0] = '\0';
	if (fmt(o->path, sizeof(o->path), "%s", path) >= sizeof(o->path))
		return -ENAMETOOLONG;
	err = directories(path);
	if (err)
		return err;
	if (gz && (err = compression(o)))
		return err;
	fmt(o->part, sizeof(o->part), "%s.part", path);
	o->fd = sys_open(o->part, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, 0666);
	if (o->fd < 0) {
		err = o->fd;
		o->part[0] = '\0';
		return err;
	}
	return 0;
}

int output_write(struct output *o, const char *text, size_t len)
{
	int err;

	if (o->gz) {
		len = libdeflate_gzip_compress(o->compressor, text, len, o->packed,
					       o->packed_size);
		if (!len)
			return -ENOSPC;
		text = o->packed;
	}
	err = sys_write_all(o->fd, text, len);
	if (!err)
		o->bytes += len;
	return err;
}

/* Is there a file of that name with exactly our bytes? */
static bool same_file(const struct output *o, const char *path)
{
	char mine[4096], theirs[4096];
	int fd = sys_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	uint64_t at = 0;
	ssize_t n = -1, m = -1;

	if (fd < 0)
		return false;
	do {
		n = pread(o->fd, mine, sizeof(mine), (off_t)at);
		m = pread(fd, theirs, sizeof(theirs), (off_t)at);
		if (n > 0)
			at += (uint64_t)n;
	} while (n > 0 && n == m && !memcmp(mine, theirs, (size_t)n));
	sys_close(fd);
	return n == 0 && m == 0;
}

/* Never onto another file: where the kernel or the file system cannot promise
 * that by rename, a hard link can; where neither is there, look before. */
static int move(const char *from, const char *to)
{
	if (!syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, NOREPLACE))
		return 0;
	if (errno == EEXIST)
		return -EEXIST;
	if (!link(from, to)) {
		unlink(from);
		return 0;
	}
	if (errno == EEXIST)
		return -EEXIST;
	if (!access(to, F_OK))
		return -EEXIST;
	return rename(from, to) ? -errno : 0;
}

/* "dir/worker.123.pt.trace.json" to "dir/worker-2.123.pt.trace.json": readers take
 * digits before .pt for the window. */
static void other_name(char *to, size_t size, const char *path, unsigned n)
{
	const char *base = strrchr(path, '/');
	const char *end = strstr(base ? base : path, ".pt.trace.json");
	const char *dot = end ? end : path + strlen(path);
	const char *digits = dot;

	while (digits > path && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	if (digits < dot && digits > path + 1 && digits[-1] == '.')
		dot = digits - 1;
	fmt(to, size, "%.*s-%u%s", (int)(dot - path), path, n, dot);
}

int output_finish(struct output *o)
{
	char name[OUTPUT_PATH];
	int err = -EEXIST;

	fmt(name, sizeof(name), "%s", o->path);
	for (unsigned n = 2; n < NAMES_MOST; n++) {
		err = move(o->part, name);
		if (err != -EEXIST)
			break;
		if (same_file(o, name)) {
			unlink(o->part);
			err = 0;
			break;
		}
		other_name(name, sizeof(name), o->path, n);
	}
	if (err)
		return err;
	fmt(o->path, sizeof(o->path), "%s", name);
	o->part[0] = '\0';
	output_abort(o);
	return 0;
}

void output_abort(struct output *o)
{
	int saved = errno;

	if (o->part[0])
		unlink(o->part);
	o->part[0] = '\0';
	if (o->fd >= 0)
		sys_close(o->fd);
	o->fd = -1;
	libdeflate_free_compressor(o->compressor);
	o->compressor = NULL;
	pile_unmap(o->packed, o->packed_size);
	o->packed = NULL;
	errno = saved;
}
