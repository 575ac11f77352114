/* SPDX-License-Identifier: Apache-2.0 */
/* A program is looked into before it is started, for the agent cannot come with each:
 * one that is linked statically has no loader that preloads, one built with a
 * sanitizer ends with an error when another library comes before its run-time, one
 * that gains rights has a loader that ignores LD_PRELOAD. What was found is remembered
 * by a key made of all that stat says of the file, so that make or a shell, which
 * start the same few programs all the time, cost one stat each. */
#include "config/aside.h"
#include "base/seldom.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define VALUE 15u /* of a word: what was found; the rest is which file it was */

const char *const aside_text[ASIDE_KINDS] = {
	"",
#define ASIDE(name, text) text,
#include "config/aside.def"
#undef ASIDE
};

_Static_assert(ASIDE_KINDS < VALUE, "a verdict and one fits");

enum aside aside_of(const struct image *image)
{
	if (!image->native)
		return ASIDE_FOREIGN;
	if (image->loader)
		return ASIDE_NO;
	if (!*image->interpreter)
		return ASIDE_STATIC;
	if (strstr(image->interpreter, "musl"))
		return ASIDE_MUSL;
	return *image->sanitizer ? ASIDE_SANITIZER : ASIDE_NO;
}

bool aside_raises(const struct sys_stat *st)
{
	return (st->mode & S_ISUID && st->uid != geteuid()) ||
	       (st->mode & S_ISGID && st->mode & S_IXGRP && st->gid != getegid());
}

/* Root has all capabilities in any case: no right is gained. */
bool aside_raises_caps(int fd)
{
	int saved = errno;
	bool has = geteuid() && fgetxattr(fd, "security.capability", NULL, 0) > 0;

	errno = saved;
	return has;
}

/* access() asks for the real user, without the capabilities that a user other than root
 * may still hold and will not hold after exec: it is what the loader will be told. */
static int try_library(const char *library)
{
	int saved = errno, err;

	if (getuid() == geteuid()) {
		err = access(library, R_OK) ? -errno : 0;
		errno = saved;
		return err;
	}
	err = sys_open(library, O_RDONLY | O_NONBLOCK, 0);
	if (err >= 0)
		sys_close(err);
	return err;
}

/* Other errors (ENOMEM, EMFILE, EIO) are of this moment, and say nothing of what the
 * loader will find. */
bool aside_reads(const char *library)
{
	int err = try_library(library);

	return err != -EACCES && err != -ENOENT && err != -ENOTDIR && err != -ELOOP &&
	       err != -EPERM;
}

/* ---- what is known of a file ---- */

static SELDOM _Atomic uint64_t own[ASIDE_KNOWN];
static _Atomic uint64_t *known = own;

void aside_share(_Atomic uint64_t table[ASIDE_KNOWN])
{
	known = table;
}

/* A change of content, owner or capability changes the ctime. */
static uint64_t file_key(const struct sys_stat *st)
{
	const uint64_t parts[] = {
		st->dev,  st->ino,  (uint64_t)st->mtime_ns, (uint64_t)st->ctime_ns,
		st->size, st->mode, geteuid() == 0
	};
	uint64_t key = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		key = (key ^ parts[i]) * 0x9e3779b97f4a7c15ull;
		key ^= key >> 29;
	}
	return key & ~(uint64_t)VALUE;
}

static bool know_file(uint64_t key, enum aside *found)
{
	uint64_t word = atomic_load_explicit(&known[(key >> 32) % ASIDE_KNOWN],
					     memory_order_relaxed);
	unsigned value = word & VALUE;

	if (!value || value > ASIDE_KINDS || (word ^ key) & ~(uint64_t)VALUE)
		return false;
	*found = (enum aside)(value - 1);
	return true;
}

/* A word holds key and verdict at once: a thread that reads it while another writes gets
 * one word or the other, and compares the key. */
static void keep_file(uint64_t key, enum aside found)
{
	atomic_store_explicit(&known[(key >> 32) % ASIDE_KNOWN], key | (found + 1),
			      memory_order_relaxed);
}

bool aside_known(const struct sys_stat *st, enum aside *why)
{
	if (!know_file(file_key(st), why))
		return false;
	if (aside_raises(st))
		*why = ASIDE_RIGHTS;
	return true;
}

/* ---- one file ---- */

/* room->kind says what the file is: ELF also where it was known already, or cannot be
 * looked at. O_NONBLOCK and O_NOCTTY, for the path may name a pipe or a terminal by
 * now, and the program must neither wait nor get a terminal. */
static enum aside judge_file(struct image *room, int dir, const char *path, int flags,
			     const struct sys_stat *st)
{
	bool given = flags & AT_EMPTY_PATH && path && !*path;
	int more = flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0, fd = dir;
	enum aside found = ASIDE_NO;
	uint64_t key = file_key(st);

	room->kind = IMAGE_ELF;
	if (know_file(key, &found))
		return found;
	if (!given)
		fd = sys_open_at(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | more);
	if (fd < 0)
		return ASIDE_NO;
	image_read(room, fd);
	if (room->kind == IMAGE_ELF) {
		found = aside_raises_caps(fd) ? ASIDE_RIGHTS : aside_of(room);
		keep_file(key, found);
	}
	if (!given)
		sys_close(fd);
	return found;
}

enum aside aside_look(struct image *room, int dir, const char *path, int flags)
{
	char *next = room->argument;
	enum aside found;
	struct sys_stat st;

	flags &= AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW;
	for (unsigned i = 0; i <= ASIDE_SCRIPTS; i++) {
		if (sys_stat_at(dir, path, flags, &st) || !S_ISREG(st.mode))
			return ASIDE_NO;
		found = judge_file(room, dir, path, flags, &st);
		if (room->kind == IMAGE_ELF)
			return aside_raises(&st) ? ASIDE_RIGHTS : found;
		if (room->kind != IMAGE_SCRIPT)
			return ASIDE_NO;
		/* A setuid bit on a script means nothing to Linux: the interpreter's
		 * rights count. */
		memcpy(next, room->interpreter, IMAGE_LINE);
		dir = AT_FDCWD;
		path = next;
		flags = 0;
	}
	return ASIDE_NO;
}
