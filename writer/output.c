/* SPDX-License-Identifier: Apache-2.0 */
/* A trace file from its first block to its name. */
#include "writer/output.h"
#include "base/fmt.h"
#include "base/folder.h"
#include "base/sys.h"
#include "base/text.h"
#include "writer/pile.h"
#include "writer/twin.h"

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

/* libdeflate's memory: each block is a map of its own that begins with its size. */
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

static int start_compression(struct output *o)
{
	libdeflate_set_memory_allocator(block_alloc, block_free);
	o->compressor = libdeflate_alloc_compressor(LEVEL);
	if (!o->compressor)
		return -ENOMEM;
	o->packed_size = libdeflate_gzip_compress_bound(o->compressor, OUTPUT_BLOCK);
	o->packed = pile_map(o->packed_size);
	return o->packed ? 0 : -ENOMEM;
}

/* Makes and opens the directory of `path`; behind `dir` no part of it may be a link. */
static int open_folder(const char *dir, const char *path)
{
	size_t n = dir ? strlen(dir) : 0;
	char way[OUTPUT_PATH];
	int at, fd;

	fmt(way, sizeof(way), "%.*s", (int)(text_base(path) - path), path);
	if (!dir)
		return folder_open(way, 0777);
	at = folder_open(dir, 0777);
	if (at < 0)
		return at;
	fd = folder_below(at, way + n, 0777);
	sys_close(at);
	return fd;
}

int output_open(struct output *o, const char *dir, const char *path, bool gz)
{
	int err;

	o->fd = -1;
	o->dir = -1;
	o->gz = gz;
	o->bytes = 0;
	o->stamp = 0;
	o->compressor = NULL;
	o->packed = NULL;
	o->part[0] = '\0';
	if (fmt(o->path, sizeof(o->path), "%s", path) >= sizeof(o->path))
		return -ENAMETOOLONG;
	o->below = dir;
	o->dir = open_folder(dir, path);
	if (o->dir < 0)
		return o->dir;
	if (gz && (err = start_compression(o)))
		return err;
	o->fd = part_make(o->dir, text_base(path), o->part, sizeof(o->part));
	return o->fd < 0 ? o->fd : 0;
}

const char *output_error(int err)
{
	return err == -ELOOP
		       ? "its way goes over a symbolic link that another user made, "
			 "or that lies in the log directory"
		       : sys_error(err);
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

/* Never renames onto another file: where the kernel or the file system cannot promise
 * that by rename, a hard link can; where there is neither, a look before must do. */
static int move_unless_there(int dir, const char *from, const char *to)
{
	int there;

	if (!syscall(SYS_renameat2, dir, from, dir, to, NOREPLACE))
		return 0;
	if (errno == EEXIST)
		return -EEXIST;
	if (!linkat(dir, from, dir, to, 0)) {
		unlinkat(dir, from, 0);
		return 0;
	}
	if (errno == EEXIST)
		return -EEXIST;
	there = folder_file(dir, to, O_PATH | O_NOFOLLOW, 0);
	if (there >= 0) {
		sys_close(there);
		return -EEXIST;
	}
	return renameat(dir, from, dir, to) ? -errno : 0;
}

static const char *suffix_of(const char *path)
{
	const char *base = strrchr(path, '/');
	const char *end = strstr(base ? base : path, ".pt.trace.json");

	return end ? end : path + strlen(path);
}

/* Makes "dir/worker.123.pt.trace.json" of "dir/worker.pt.trace.json"; false: the path has
 * its stamp already, or none, or there is no room for it. */
static bool add_stamp(struct output *o)
{
	const char *end = suffix_of(o->path);
	char name[OUTPUT_PATH];

	if (!o->stamp || fmt(name, sizeof(name), "%.*s.%lu%s", (int)(end - o->path),
			     o->path, (unsigned long)o->stamp, end) >= sizeof(name))
		return false;
	o->stamp = 0;
	fmt(o->path, sizeof(o->path), "%s", name);
	return true;
}

/* Makes "dir/worker-2.123.pt.trace.json" of "dir/worker.123.pt.trace.json": readers take
 * the digits before .pt for the window. */
static void other_name(char *to, size_t size, const char *path, unsigned n)
{
	const char *dot = suffix_of(path), *digits = dot;

	while (digits > path && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	if (digits < dot && digits > path + 1 && digits[-1] == '.')
		dot = digits - 1;
	fmt(to, size, "%.*s-%u%s", (int)(dot - path), path, n, dot);
}

/* Copies what is written so far to a new file: the old one has lost its name. */
static int move_to_new_file(struct output *o)
{
	int old = o->fd, dir = open_folder(o->below, o->path), err = 0;
	char some[16384];
	uint64_t at = 0;
	ssize_t n = 0;

	if (dir < 0)
		return dir;
	sys_close(o->dir);
	o->dir = dir;
	o->fd = part_make(dir, text_base(o->path), o->part, sizeof(o->part));
	if (o->fd < 0)
		err = o->fd;
	while (!err && (n = pread(old, some, sizeof(some), (off_t)at)) > 0) {
		err = sys_write_all(o->fd, some, (size_t)n);
		at += (uint64_t)n;
	}
	sys_close(old);
	return err ? err : n < 0 ? -EIO : 0;
}

/* Takes the first of "name", "name.<stamp>", "name-2", "name-3", ... that is free, or
 * that is this window's file already (twin.h). */
static int give_name(struct output *o)
{
	char name[OUTPUT_PATH];
	int err = -EEXIST;

	fmt(name, sizeof(name), "%s", o->path);
	for (unsigned n = 2; n < NAMES_MOST; n++) {
		err = move_unless_there(o->dir, o->part, text_base(name));
		if (err != -EEXIST)
			break;
		if (twin_is(o->fd, o->dir, text_base(name), o->gz)) {
			unlinkat(o->dir, o->part, 0);
			err = 0;
			break;
		}
		if (add_stamp(o))
			fmt(name, sizeof(name), "%s", o->path);
		else
			other_name(name, sizeof(name), o->path, n);
	}
	if (!err)
		fmt(o->path, sizeof(o->path), "%s", name);
	return err;
}

int output_finish(struct output *o)
{
	int err = give_name(o);

	if (err == -ENOENT)
		err = move_to_new_file(o) ?: give_name(o);
	if (err)
		return err;
	o->part[0] = '\0';
	output_abort(o);
	return 0;
}

int output_replace(struct output *o)
{
	if (renameat(o->dir, o->part, o->dir, text_base(o->path)))
		return -errno;
	o->part[0] = '\0';
	output_abort(o);
	return 0;
}

void output_abort(struct output *o)
{
	int saved = errno;

	if (o->part[0])
		unlinkat(o->dir, o->part, 0);
	o->part[0] = '\0';
	if (o->fd >= 0)
		sys_close(o->fd);
	if (o->dir >= 0)
		sys_close(o->dir);
	o->fd = o->dir = -1;
	libdeflate_free_compressor(o->compressor);
	o->compressor = NULL;
	pile_unmap(o->packed, o->packed_size);
	o->packed = NULL;
	errno = saved;
}
