/* SPDX-License-Identifier: Apache-2.0 */
/* Files of spools that are over, and who takes them again. */
#include "agent/core/self.h"
#include "agent/core/spare.h"
#include "agent/core/spool.h"
#include "finisher/spares.h"
#include "tests/unit/known_folder.h"

#include <dirent.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

#define CAP (8u << 20)

/* Where the folder really lies does not matter. */
static long kind = EXT4_SUPER_MAGIC;
int fstatfs(int fd, struct statfs *fs)
{
	(void)fd;
	*fs = (struct statfs){ .f_type = kind };
	return 0;
}

/* A finisher that ends comes between. */
static bool ends_meanwhile;
int rename(const char *from, const char *to)
{
	if (ends_meanwhile)
		spares_remove(all.folder);
	ends_meanwhile = false;
	return (int)syscall(SYS_rename, from, to);
}

/* A spool that is over, of CAP bytes as the process had made it. */
static uint64_t put_over(uint32_t pid)
{
	int fd = put_spool(pid, 7, "");
	struct stat st;

	ck_assert_int_eq(ftruncate(fd, CAP), 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_gt(st.st_blocks, 0);
	close(fd);
	return st.st_ino;
}

static int open_in_folder(const char *name)
{
	return openat(all.folder, name, O_RDWR | O_CLOEXEC);
}

static bool keep(const char *name)
{
	int fd = open_in_folder(name);
	struct stat st;
	bool kept;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	kept = spares_empty(&page, all.folder, name, fd);
	if (kept)
		spares_offer(&page, all.folder, st.st_ino);
	close(fd);
	return kept;
}

static unsigned files_named(const char *ending)
{
	DIR *d = opendir(job_folder());
	unsigned n = 0;

	for (struct dirent *e; (e = readdir(d));)
		n += strlen(e->d_name) > strlen(ending) &&
		     !strcmp(e->d_name + strlen(e->d_name) - strlen(ending), ending);
	closedir(d);
	return n;
}

static unsigned offered(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < JOB_SPARES; i++)
		n += job->spare[i] != 0;
	return n;
}

/* Makes this process's spool; was it that file? */
static bool takes(uint64_t ino)
{
	bool same;

	ck_assert_int_eq(spool_place(job_folder(), CAP), 0);
	same = spool.ino == ino;
	ck_assert_int_eq(files_named(".spool"), 1);
	ck_assert_int_eq(access(spool_path, F_OK), 0);
	return same;
}

static int held, instead = -1;

/* Nobody else gets its inode meanwhile. */
static void hold(uint64_t ino, char path[512])
{
	fmt(path, 512, "%s/" SPARE_NAME, job_folder(), (unsigned long)ino);
	held = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(held, 0);
}

START_TEST(the_next_process_takes_it)
{
	uint64_t ino = put_over(4000001);
	char path[512];
	struct stat st;
	int fd;

	ck_assert(keep("4000001.7.1.spool"));
	hold(ino, path);
	ck_assert_uint_eq(offered(), 1);
	ck_assert_uint_eq(files_named(".spool"), 0);
	ck_assert(takes(ino));
	ck_assert_uint_eq(offered(), 0);
	ck_assert_uint_eq(files_named(".spare"), 0);
	/* It is as a new one: locked, without a word of the old one. */
	fd = open(spool_path, O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(life_locked(fd), 1);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(st.st_blocks, 0);
	ck_assert_int_eq(st.st_size, CAP);
	close(fd);
	ck_assert_int_eq(spool_begin(), 0);
	ck_assert_uint_eq(spool.head->pid, self.pid);
	ck_assert_str_eq(spool.head->facts, "");
	spool_unplace();
	ck_assert_uint_eq(files_named("spool"), 0);
}
END_TEST

static void lock_it(const char *path)
{
	(void)path;
	lock(held);
}

static void write_to_it(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	ck_assert_int_eq(write(fd, "x", 1), 1);
	close(fd);
}

static void link_it(const char *path)
{
	ck_assert_int_eq(linkat(AT_FDCWD, path, all.folder, "other", 0), 0);
}

static void replace_it(const char *path)
{
	ck_assert_int_eq(linkat(AT_FDCWD, path, all.folder, "other", 0), 0);
	ck_assert_int_eq(unlink(path), 0);
	instead = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static void make_it_a_link(const char *path)
{
	ck_assert_int_eq(renameat(AT_FDCWD, path, all.folder, "other"), 0);
	ck_assert_int_eq(symlink("other", path), 0);
}

static void remove_it(const char *path)
{
	ck_assert_int_eq(unlink(path), 0);
}

static void make_it_a_pipe(const char *path)
{
	remove_it(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
}

static void (*const harm[])(const char *path) = {
	lock_it,        write_to_it,    link_it,   replace_it,
	make_it_a_link, make_it_a_pipe, remove_it,
};

/* Whoever may write there can have done anything to it since: then a file is made. */
START_TEST(what_is_not_as_it_was_is_not_taken)
{
	uint64_t ino = put_over(4000001);
	char path[512];
	struct stat st;

	ck_assert(keep("4000001.7.1.spool"));
	hold(ino, path);
	harm[_i](path);
	ck_assert(!takes(ino));
	if (instead >= 0) {
		ck_assert_int_eq(fstat(instead, &st), 0);
		ck_assert_uint_ne(spool.ino, st.st_ino);
	}
	ck_assert_uint_eq(offered(), 0);
	ck_assert_uint_eq(files_named(".spare"), 0);
	close(held);
	spool_unplace();
}
END_TEST

/* Each process makes its spool as large as its own limits allow. */
START_TEST(its_size_does_not_matter)
{
	uint64_t ino = put_over(4000001);
	struct stat st;

	ck_assert(keep("4000001.7.1.spool"));
	ck_assert_int_eq(spool_place(job_folder(), 3 * CAP), 0);
	ck_assert_uint_eq(spool.ino, ino);
	ck_assert_int_eq(stat(spool_path, &st), 0);
	ck_assert_int_eq(st.st_size, 3 * CAP);
	spool_unplace();
}
END_TEST

START_TEST(one_that_goes_meanwhile_is_made_anew)
{
	uint64_t ino = put_over(4000001);
	char path[512];

	ck_assert(keep("4000001.7.1.spool"));
	hold(ino, path);
	ends_meanwhile = true;
	ck_assert(!takes(ino));
	ck_assert(!ends_meanwhile);
	spool_unplace();
}
END_TEST

/* There it costs nothing to make a file, or whoever maps one has no lock. */
START_TEST(other_file_systems_have_none)
{
	put_over(4000001);
	kind = OVERLAYFS_SUPER_MAGIC;
	ck_assert(!keep("4000001.7.1.spool"));
	ck_assert_uint_eq(files_named(".spool"), 1);
	kind = EXT4_SUPER_MAGIC;
	ck_assert(keep("4000001.7.1.spool"));
}
END_TEST

/* Only the job's own folder has spares. */
START_TEST(another_folder_has_none)
{
	uint64_t ino = put_over(4000001);

	ck_assert(keep("4000001.7.1.spool"));
	ck_assert_int_eq(spool_place(jobs, CAP), 0);
	ck_assert_uint_ne(spool.ino, ino);
	ck_assert_uint_eq(offered(), 1);
	spool_unplace();
}
END_TEST

/* A fork child that has kept the mapping would die of a file cut short. */
START_TEST(what_somebody_maps_is_not_kept)
{
	int fd;
	char *map;

	put_over(4000001);
	fd = open_in_folder("4000001.7.1.spool");
	lock(fd);
	map = mmap(NULL, CAP, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	close(fd);
	ck_assert_int_ne(*map, 0);
	ck_assert(!keep("4000001.7.1.spool"));
	ck_assert_int_ne(*map, 0);
	ck_assert_uint_eq(files_named(".spool"), 1);
	ck_assert_int_eq(munmap(map, CAP), 0);
	ck_assert(keep("4000001.7.1.spool"));
}
END_TEST

/* Somebody wants to look at it later. */
START_TEST(what_has_another_name_is_not_emptied)
{
	struct stat st;

	put_over(4000001);
	ck_assert_int_eq(linkat(all.folder, "4000001.7.1.spool", all.folder, "other", 0),
			 0);
	ck_assert(!keep("4000001.7.1.spool"));
	ck_assert_int_eq(fstatat(all.folder, "other", &st, 0), 0);
	ck_assert_int_eq(st.st_size, CAP);
	ck_assert_int_gt(st.st_blocks, 0);
	ck_assert_int_eq(unlinkat(all.folder, "other", 0), 0);
	ck_assert(keep("4000001.7.1.spool"));
}
END_TEST

START_TEST(no_more_are_kept_than_there_are_places)
{
	char name[64];
	uint64_t first = 0;

	for (uint32_t i = 0; i < JOB_SPARES; i++) {
		uint64_t ino = put_over(4000001 + i);

		first = first ? first : ino;
		fmt(name, sizeof(name), "%u.7.1.spool", 4000001 + i);
		ck_assert(keep(name));
	}
	put_over(5000000);
	ck_assert(!keep("5000000.7.1.spool"));
	ck_assert_int_eq(unlinkat(all.folder, "5000000.7.1.spool", 0), 0);
	ck_assert_uint_eq(offered(), JOB_SPARES);
	ck_assert(takes(first));
	/* Its place is free for the next one. */
	put_over(5000000);
	ck_assert(keep("5000000.7.1.spool"));
	ck_assert_uint_eq(offered(), JOB_SPARES);
	ck_assert_uint_eq(files_named(".spare"), JOB_SPARES);
	spares_remove(all.folder);
	ck_assert_uint_eq(files_named(".spare"), 0);
	ck_assert_uint_eq(files_named(".spool"), 1);
	spool_unplace();
}
END_TEST

/* Two threads of the finisher saw the same last place. */
START_TEST(who_finds_no_place_any_more_removes_it)
{
	uint64_t ino = put_over(4000001);
	int fd = open_in_folder("4000001.7.1.spool");

	ck_assert(spares_empty(&page, all.folder, "4000001.7.1.spool", fd));
	for (unsigned i = 0; i < JOB_SPARES; i++)
		job->spare[i] = 1;
	spares_offer(&page, all.folder, ino);
	ck_assert_uint_eq(files_named(".spare"), 0);
	close(fd);
}
END_TEST

/* The finisher ends a spool by that, or removes the file. */
START_TEST(a_spool_that_ends_becomes_one)
{
	uint64_t ino = put_over(4000001);

	known_find(&all);
	known_judge(&all, 1, true);
	known_end(&all, all.at[0]);
	ck_assert_uint_eq(offered(), 1);
	ck_assert_uint_eq(job->spare[0], ino);
	ck_assert_int_eq(all.at[0]->fd, -1);
	for (unsigned i = 0; i < JOB_SPARES; i++)
		job->spare[i] = 1; /* no such file */
	put_over(4000002);
	known_sweep(&all);
	all.lost = true;
	known_find(&all);
	known_judge(&all, 2, true);
	known_end(&all, all.at[0]);
	ck_assert_uint_eq(files_named(".spool"), 0);
	ck_assert_uint_eq(files_named(".spare"), 1);
	/* A place that names nothing costs one try. */
	ck_assert(!takes(ino));
	ck_assert_uint_eq(offered(), JOB_SPARES - 1);
	spool_unplace();
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("spares");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, the_next_process_takes_it);
	tcase_add_loop_test(tc, what_is_not_as_it_was_is_not_taken, 0,
			    (int)(sizeof(harm) / sizeof(*harm)));
	tcase_add_test(tc, its_size_does_not_matter);
	tcase_add_test(tc, one_that_goes_meanwhile_is_made_anew);
	tcase_add_test(tc, other_file_systems_have_none);
	tcase_add_test(tc, another_folder_has_none);
	tcase_add_test(tc, what_somebody_maps_is_not_kept);
	tcase_add_test(tc, what_has_another_name_is_not_emptied);
	tcase_add_test(tc, no_more_are_kept_than_there_are_places);
	tcase_add_test(tc, who_finds_no_place_any_more_removes_it);
	tcase_add_test(tc, a_spool_that_ends_becomes_one);
	return unit_run(tc, "spares");
}
