/* SPDX-License-Identifier: Apache-2.0 */
/* The disk's own account tells what remains: a spool that was made and never written has
 * no blocks. Names are looked up in the folder's descriptor, and links are not followed,
 * for all processes of the job may write there. */
#include "launcher/recover/remains.h"
#include "base/text.h"
#include "finisher/life.h"
#include "writer/copy.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/* Is it a spool with records? One without is an inode without blocks. */
static bool is_used_spool(int folder, const char *name)
{
	struct stat st;

	return text_ends(name, ".spool") &&
	       !fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
	       st.st_blocks;
}

static uint32_t each_used_spool(const char *path,
				void (*look)(int folder, const char *name))
{
	DIR *d = opendir(path);
	struct dirent *e;
	uint32_t n = 0;

	while (d && (e = readdir(d))) {
		if (!is_used_spool(dirfd(d), e->d_name))
			continue;
		n++;
		if (look)
			look(dirfd(d), e->d_name);
	}
	if (d)
		closedir(d);
	return n;
}

/* Trims a spool whose process is gone: one whose lock is held may be written at any
 * time. */
static void trim_spool(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct life_who who = { .name = name };

	if (fd < 0)
		return;
	life_name(name, &who.pid, &who.start);
	if (!life_locked(fd) && life_look(&who) != LIFE_HERE)
		copy_trim(fd);
	close(fd);
}

void remains_trim(const char *folder)
{
	each_used_spool(folder, trim_spool);
}

uint32_t remains_count(const char *folder)
{
	return each_used_spool(folder, NULL);
}
