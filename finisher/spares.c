/* SPDX-License-Identifier: Apache-2.0 */
#include "finisher/spares.h"
#include "agent/core/spare.h"
#include "base/text.h"
#include "finisher/life.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/* Other file systems would gain nothing, and may have a mapping without the lock, as
 * overlayfs has: whoever has one dies of a file that is cut short. */
static bool is_ext4(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == EXT4_SUPER_MAGIC;
}

/* Cut short, not punched: what was never written to the disk is not written now. A file
 * that has another name belongs to whoever gave it that: it keeps its content. */
static bool empty_file(int fd, struct stat *st)
{
	return !fstat(fd, st) && st->st_nlink == 1 && !ftruncate(fd, 0) &&
	       !fstat(fd, st) && !st->st_blocks && st->st_nlink == 1;
}

static void spare_name(char name[32], uint64_t ino)
{
	snprintf(name, 32, SPARE_NAME, (unsigned long)ino);
}

bool spares_empty(const struct page *p, int folder, const char *name, int fd)
{
	char spare[32];
	struct stat st;

	if (!p || fd < 0 || page_spare_place(p) < 0 || !is_ext4(fd) || life_locked(fd) ||
	    !empty_file(fd, &st))
		return false;
	spare_name(spare, st.st_ino);
	return !renameat(folder, name, folder, spare);
}

void spares_offer(const struct page *p, int folder, uint64_t ino)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	char spare[32];
	int place;

	pthread_mutex_lock(&one);
	place = page_spare_place(p);
	if (place >= 0)
		page_put_spare(p, place, ino);
	pthread_mutex_unlock(&one);
	if (place >= 0)
		return;
	spare_name(spare, ino);
	unlinkat(folder, spare, 0);
}

void spares_remove(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d && fd >= 0)
		close(fd);
	while (d && (e = readdir(d)))
		if (text_ends(e->d_name, ".spare"))
			unlinkat(folder, e->d_name, 0);
	if (d)
		closedir(d);
}
