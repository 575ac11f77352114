/* SPDX-License-Identifier: Apache-2.0 */
/* Several windows of one spool, one after the other. */
#include "tests/unit/spool_recover.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* In the place of libc's: a disk that cannot read what lies there. */
static off_t bad_at = -1;
ssize_t pread(int fd, void *to, size_t size, off_t at)
{
	if (bad_at >= 0 && at <= bad_at && bad_at < at + (off_t)size) {
		errno = EIO;
		return -1;
	}
	return syscall(SYS_pread64, fd, to, size, at);
}

static struct spool_image *image;
static unsigned told, failed;

static void enter(void)
{
	image = image_two_windows();
	told = failed = 0;
}

static void leave(void)
{
	image_free(image);
}

static const char *logdir(void)
{
	static char path[256];

	fmt(path, sizeof(path), "%s/log", image->dir);
	return path;
}

static void settle(struct config *c, void *arg)
{
	(void)arg;
	fmt(c->logdir, sizeof(c->logdir), "%s", logdir());
}

/* In the way of the first window's directory is a file. */
static void stand_in_the_way(const struct cycle_info *info, void *arg)
{
	(void)arg;
	if (info->number == 1)
		fclose(fopen(logdir(), "w"));
	else
		unlink(logdir());
}

static void count(const struct cycle_info *info, uint64_t state, int err,
		  const struct writer_result *r, void *arg)
{
	(void)info, (void)state, (void)r, (void)arg;
	told++;
	failed += err != 0;
}

START_TEST(a_window_that_fails_does_not_fail_the_others)
{
	struct writer_plan plan = { .settle = settle,
				    .begins = stand_in_the_way,
				    .done = count };

	ck_assert_int_ne(image_recover(image, &plan), 0);
	ck_assert_uint_eq(told, 2);
	ck_assert_uint_eq(failed, 1);
}
END_TEST

/* One window's records are there at a time. */
START_TEST(what_was_written_takes_no_memory)
{
	struct writer_plan plan = { .settle = settle, .done = count };
	const struct copy_chunk *k;
	int fd = image_file(image);
	unsigned chunks = 0;
	struct copy c;

	ck_assert_int_eq(copy_open(&c, fd), 0);
	ck_assert_int_eq(writer_recover(&c, &plan), 0);
	ck_assert_uint_eq(told, 2);
	k = c.chunks.mem;
	for (size_t i = 0; i < c.chunks.n; i++)
		if (k[i].kind == CHUNK_DATA) {
			ck_assert_uint_eq(((struct chunk *)(c.base + k[i].offset))->magic,
					  0);
			chunks++;
		}
	ck_assert_uint_eq(chunks, 2);
	copy_close(&c);
	close(fd);
}
END_TEST

/* Files with numbers in the place of names would be taken for good ones, and the spool
 * for done. */
START_TEST(names_that_cannot_be_read_fail_all)
{
	struct writer_plan plan = { .settle = settle, .done = count };
	const struct copy_chunk *k;
	unsigned texts = 0;
	struct copy c;
	int fd;

	image_call_stack(image, image_module(image, "lib.so"), 1, 1);
	fd = image_file(image);
	ck_assert_int_eq(copy_open(&c, fd), 0);
	k = c.chunks.mem;
	for (size_t i = 0; i < c.chunks.n; i++) {
		if (k[i].kind != CHUNK_NAMES && k[i].kind != CHUNK_STACKS)
			continue;
		bad_at = texts++ ? bad_at : (off_t)k[i].offset;
	}
	ck_assert_uint_eq(texts, 2); /* the one that can be read comes later */
	ck_assert_int_eq(copy_texts(&c), -EIO);
	ck_assert_int_eq(writer_recover(&c, &plan), -EIO);
	ck_assert_uint_eq(told, 0);
	bad_at = -1;
	ck_assert_int_eq(copy_texts(&c), 0);
	ck_assert_int_eq(writer_recover(&c, &plan), 0);
	ck_assert_uint_eq(told, 2);
	copy_close(&c);
	close(fd);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("recover");

	tcase_add_checked_fixture(tc, enter, leave);
	tcase_add_test(tc, a_window_that_fails_does_not_fail_the_others);
	tcase_add_test(tc, what_was_written_takes_no_memory);
	tcase_add_test(tc, names_that_cannot_be_read_fail_all);
	return unit_run(tc, "writer recover");
}
