/* SPDX-License-Identifier: Apache-2.0 */
/* Which files cannot be preloaded, for whom, and what is remembered of them. */
#include "tests/unit/program_image.h"
#include "tests/unit/seam.h"

#include <sys/wait.h>
#include <sys/xattr.h>

static char folder[] = "/tmp/test_aside.XXXXXX";

START_TEST(a_look_follows_scripts_and_waits_for_nothing)
{
	static const char *const scripts[] = {
		"#!./static\n", "#!./one\n",  "#!./two\n",
		"#!./three\n",  "#!./four\n", "#!./five\n"
	};
	static const char *const names[] = {
		"one", "two", "three", "four", "five", "six"
	};
	struct sys_stat st;
	enum aside why;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	put_file("static", bytes, build(&(struct program){ 0 }));
	ck_assert(!sys_stat("static", &st) && !aside_known(&st, &why));
	for (size_t i = 0; i < 6; i++)
		put_file(names[i], scripts[i], strlen(scripts[i]));
	ck_assert_int_eq(look("one"), ASIDE_STATIC);
	ck_assert_int_eq(look("five"), ASIDE_STATIC);
	ck_assert_int_eq(look("six"), ASIDE_NO); /* deeper than Linux goes */
	ck_assert(aside_known(&st, &why));
	ck_assert_int_eq(why, ASIDE_STATIC);
	put_file("self", "#!./self\n", 9);
	ck_assert_int_eq(look("self"), ASIDE_NO);
	ck_assert_int_eq(look("absent"), ASIDE_NO);
	ck_assert_int_eq(mkfifo("pipe", 0755), 0);
	ck_assert_int_eq(look("pipe"), ASIDE_NO);
	ck_assert_int_eq(look("."), ASIDE_NO);
	ck_assert_int_eq(look("/dev/zero"), ASIDE_NO);
	ck_assert_int_eq(look(NULL), ASIDE_NO);
	ck_assert_int_eq(symlink("static", "link"), 0);
	ck_assert_int_eq(look("link"), ASIDE_STATIC);
	ck_assert_int_eq(aside_look(&image, AT_FDCWD, "link", AT_SYMLINK_NOFOLLOW),
			 ASIDE_NO);
	ck_assert(!aside_reads("absent") && aside_reads("static"));
	ck_assert(!aside_reads("static/below"));
	/* Another content is another verdict, in the same file, too. */
	put_file("static", bytes, build(&(struct program){ .loader = GLIBC }));
	ck_assert_int_eq(look("static"), ASIDE_NO);
	ck_assert_int_eq(system("rm -rf \"$PWD\""), 0);
}
END_TEST

/* The words are on a page that every process of a job may write to. */
START_TEST(words_of_others_are_not_believed_blindly)
{
	static _Atomic uint64_t table[ASIDE_KNOWN];
	int fd = file_of(bytes, build(&(struct program){ 0 }));
	uint64_t right = 0;

	aside_share(table);
	ck_assert_int_eq(aside_look(&image, fd, "", AT_EMPTY_PATH), ASIDE_STATIC);
	for (unsigned i = 0; i < ASIDE_KNOWN; i++)
		right |= table[i];
	ck_assert_uint_eq(right & 15, ASIDE_STATIC + 1);
	for (unsigned value = 0; value < 16; value++) {
		for (unsigned i = 0; i < ASIDE_KNOWN; i++)
			table[i] = (right & ~15ull) | value;
		ck_assert_int_lt(aside_look(&image, fd, "", AT_EMPTY_PATH), ASIDE_KINDS);
		for (unsigned i = 0; i < ASIDE_KNOWN; i++)
			table[i] = ~right | value;
		ck_assert_int_eq(aside_look(&image, fd, "", AT_EMPTY_PATH), ASIDE_STATIC);
	}
	close(fd);
}
END_TEST

START_TEST(a_descriptor_is_left_open_and_where_it_was)
{
	int fd = file_of(bytes, build(&(struct program){ 0 }));

	ck_assert_int_eq(lseek(fd, 7, SEEK_SET), 7);
	ck_assert_int_eq(aside_look(&image, fd, "", AT_EMPTY_PATH), ASIDE_STATIC);
	ck_assert_int_eq(lseek(fd, 0, SEEK_CUR), 7);
	close(fd);
}
END_TEST

START_TEST(rights_are_those_of_others_alone)
{
	uint32_t u = geteuid(), g = getegid();
	const struct {
		struct sys_stat st;
		bool raises;
	} rows[] = {
		{ { .mode = S_IFREG | 0755, .uid = u + 1, .gid = g + 1 }, false },
		{ { .mode = S_ISUID | 0755, .uid = u, .gid = g + 1 }, false },
		{ { .mode = S_ISUID | 0755, .uid = u + 1, .gid = g }, true },
		{ { .mode = S_ISGID | 0755, .uid = u + 1, .gid = g }, false },
		{ { .mode = S_ISGID | 0755, .uid = u, .gid = g + 1 }, true },
		{ { .mode = S_ISGID | 0644, .uid = u, .gid = g + 1 }, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		ck_assert_int_eq(aside_raises(&rows[i].st), rows[i].raises);
}
END_TEST

static int status_of(bool (*check)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(!check());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static const char *below;

/* Not root any more: a file with capabilities raises, and errno is what it was. */
static bool judges_as_a_user(void)
{
	int fd = open("caps", O_RDONLY), plain = open("static", O_RDONLY);
	enum aside why;
	struct sys_stat st;

	if (setgid(65533) || setuid(65533))
		return false;
	errno = 4711;
	if (!aside_raises_caps(fd) || aside_raises_caps(plain) || errno != 4711)
		return false;
	if (sys_stat("static", &st) || aside_known(&st, &why)) /* root's, not ours */
		return false;
	return !aside_reads(below) && aside_reads("static") && errno == 4711;
}

START_TEST(a_file_is_judged_for_who_looks)
{
	/* cap_net_raw=ep */
	static const uint32_t caps[5] = { 0x02000001, 1u << 13 };
	unsigned files;

	if (geteuid())
		return;
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	ck_assert_int_eq(chmod(".", 0755), 0);
	put_file("static", bytes, build(&(struct program){ 0 }));
	put_file("caps", bytes, build(&(struct program){ .loader = GLIBC }));
	ck_assert_int_eq(mkdir("closed", 0700), 0);
	put_file("closed/library", "x", 1);
	below = "closed/library";
	files = seam_open_files();
	ck_assert_int_eq(look("static"), ASIDE_STATIC);
	put_file("script", "#!./static\n", 11);
	ck_assert_int_eq(look("script"), ASIDE_STATIC);
	ck_assert_uint_eq(seam_open_files(), files);
	if (!setxattr("caps", "security.capability", caps, sizeof(caps), 0))
		ck_assert_int_eq(status_of(judges_as_a_user), 0);
	ck_assert(aside_reads(below));
	/* setuid of another: also where the content is known already. */
	ck_assert_int_eq(look("caps"), ASIDE_NO);
	ck_assert_int_eq(chown("caps", 65533, 0), 0);
	ck_assert_int_eq(chmod("caps", 04755), 0);
	ck_assert_int_eq(look("caps"), ASIDE_RIGHTS);
	ck_assert_int_eq(look("caps"), ASIDE_RIGHTS);
}
END_TEST

static const struct timespec same_times[2] = { { 1000, 0 }, { 1000, 0 } };

/* Of the same size, and the same times of change as a program can set them. */
START_TEST(another_content_is_another_file_whatever_its_times_say)
{
	struct sys_stat st;
	enum aside why;
	size_t size = build(&(struct program){ .loader = GLIBC });

	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	put_file("file", bytes, size);
	ck_assert_int_eq(utimensat(AT_FDCWD, "file", same_times, 0), 0);
	ck_assert_int_eq(look("file"), ASIDE_NO);
	ck_assert(!sys_stat("file", &st) && aside_known(&st, &why));
	((Elf64_Ehdr *)bytes)->e_machine = EM_AARCH64;
	/* Until the clock of the file system has gone on. */
	for (unsigned i = 0; i < 100000; i++) {
		put_file("file", bytes, size);
		ck_assert_int_eq(utimensat(AT_FDCWD, "file", same_times, 0), 0);
		ck_assert_int_eq(sys_stat("file", &st), 0);
		if (!aside_known(&st, &why))
			break;
	}
	ck_assert_int_eq(look("file"), ASIDE_FOREIGN);
	/* setuid of another where only stat is asked. */
	ck_assert(aside_known(&st, &why));
	st.mode |= S_ISUID;
	ck_assert(!aside_known(&st, &why)); /* another mode is another file */
}
END_TEST

START_TEST(rights_are_told_of_a_file_that_is_known)
{
	struct sys_stat st;
	enum aside why;

	if (geteuid())
		return;
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	put_file("file", bytes, build(&(struct program){ .loader = GLIBC }));
	ck_assert_int_eq(chown("file", 65533, 0), 0);
	ck_assert_int_eq(chmod("file", 04755), 0);
	ck_assert_int_eq(look("file"), ASIDE_RIGHTS);
	ck_assert(!sys_stat("file", &st) && aside_known(&st, &why));
	ck_assert_int_eq(why, ASIDE_RIGHTS);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("aside");

	tcase_add_test(tc, a_look_follows_scripts_and_waits_for_nothing);
	tcase_add_test(tc, words_of_others_are_not_believed_blindly);
	tcase_add_test(tc, a_descriptor_is_left_open_and_where_it_was);
	tcase_add_test(tc, rights_are_those_of_others_alone);
	tcase_add_test(tc, a_file_is_judged_for_who_looks);
	tcase_add_test(tc, another_content_is_another_file_whatever_its_times_say);
	tcase_add_test(tc, rights_are_told_of_a_file_that_is_known);
	return unit_run(tc, "aside");
}
