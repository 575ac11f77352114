/* SPDX-License-Identifier: Apache-2.0 */
/* A spool that its process changes, cuts short, or fills with lies while it is read. */
#include "agent/core/chunk.h"
#include "base/sys.h"
#include "tests/unit/spool_recover.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* In the place of libc's: a disk that does not answer, or signals all the time. */
static bool no_disk, interrupts;
ssize_t pread(int fd, void *to, size_t size, off_t at)
{
	static unsigned calls;

	if (interrupts && calls++ % 2 == 0) {
		errno = EINTR;
		return -1;
	}
	if (no_disk) {
		errno = EIO;
		return -1;
	}
	return syscall(SYS_pread64, fd, to, size, at);
}

static uint64_t resident(void)
{
	char text[256];
	unsigned long size, pages = 0;

	sys_read_file("/proc/self/statm", text, sizeof(text));
	sscanf(text, "%lu %lu", &size, &pages);
	return (uint64_t)pages * 4096;
}

START_TEST(one_window_is_there_at_a_time)
{
	struct spool_image *m = image_two_windows();
	int fd = image_file(m);
	uint64_t state, first;
	struct copy c;
	size_t at = 0;

	ck_assert_int_eq(copy_open(&c, fd), 0);
	ck_assert_ptr_eq(c.view.base, c.base);
	ck_assert_uint_eq(copy_cycle(&c, &at, &state)->number, 1);
	first = state;
	ck_assert_uint_eq(copy_cycle(&c, &at, &state)->number, 2);
	ck_assert_uint_gt(state, first);
	ck_assert_ptr_null(copy_cycle(&c, &at, &state));
	ck_assert_int_eq(copy_window(&c, 2), 0);
	ck_assert_mem_eq(c.base + ((uint8_t *)m->data - m->base), m->data, m->data->used);
	copy_drop(&c, 2);
	ck_assert_uint_eq(c.base[(uint8_t *)m->data - m->base], 0);
	copy_close(&c);
	close(fd);
	image_free(m);
}
END_TEST

START_TEST(nothing_recorded_is_not_damage)
{
	char zeros[4096] = { 0 };
	struct copy c;
	int fd = memfd_create("x", MFD_CLOEXEC);

	ck_assert_int_eq(copy_open(&c, fd), -ENODATA);
	ck_assert_int_eq(ftruncate(fd, 256 << 20), 0);
	ck_assert_int_eq(copy_open(&c, fd), -ENODATA);
	ck_assert_int_eq(pwrite(fd, zeros, sizeof(zeros), 0), sizeof(zeros));
	ck_assert_int_eq(copy_open(&c, fd), -ENODATA);
	ck_assert_int_eq(pwrite(fd, "PROFSPL0", 8, 0), 8);
	ck_assert_int_eq(copy_open(&c, fd), -EINVAL);
	ck_assert_int_eq(ftruncate(fd, 1000), 0);
	ck_assert_int_eq(copy_open(&c, fd), -EINVAL);
	close(fd);
}
END_TEST

/* Who is told that nothing was recorded removes the file. */
START_TEST(a_disk_that_fails_is_not_nothing_recorded)
{
	struct spool_image *m = image_two_windows();
	int fd = image_file(m);
	struct copy c;

	no_disk = true;
	ck_assert_int_eq(copy_open(&c, fd), -EIO);
	ck_assert_int_eq(ftruncate(fd, 1000), 0);
	ck_assert_int_eq(copy_open(&c, fd), -EIO);
	no_disk = false;
	close(fd);
	image_free(m);
}
END_TEST

static uint64_t blocks(int fd)
{
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

/* What was made ready for records that never came is given back; they are all there. */
START_TEST(what_was_not_used_goes)
{
	struct spool_image *m = image_two_windows();
	int fd = image_file(m);
	uint64_t before = blocks(fd);
	char byte[1] = { 1 };
	struct copy c;

	ck_assert_int_eq(posix_fallocate(fd, 0, 32 << 20), 0);
	ck_assert_uint_ge(blocks(fd), 32 << 20);
	copy_trim(fd);
	ck_assert_uint_le(blocks(fd), before + CHUNK_SMALL);
	ck_assert_int_eq(copy_open(&c, fd), 0);
	ck_assert_int_eq(copy_window(&c, 2), 0);
	ck_assert_mem_eq(c.base + ((uint8_t *)m->data - m->base), m->data, m->data->used);
	copy_close(&c);
	/* Nor is a file touched that is none of ours. */
	before = blocks(fd);
	ck_assert_int_eq(pwrite(fd, byte, 1, 0), 1);
	ck_assert_int_eq(posix_fallocate(fd, 0, 32 << 20), 0);
	copy_trim(fd);
	ck_assert_uint_ge(blocks(fd), 32 << 20);
	close(fd);
	image_free(m);
}
END_TEST

/* A tebibyte of hole, and a header that says all of it is used. */
START_TEST(holes_cost_nothing)
{
	struct spool_image *m = image_two_windows();
	int fd = image_file(m);
	uint64_t before = resident();
	struct stat st;
	struct copy c;

	m->head->used = m->head->cap = 1ull << 40;
	ck_assert_int_eq(pwrite(fd, m->head, SPOOL_HEADER, 0), SPOOL_HEADER);
	ck_assert_int_eq(ftruncate(fd, 1ll << 40), 0);
	ck_assert_int_eq(copy_open(&c, fd), 0);
	ck_assert_uint_eq(c.view.size, 1ull << 40);
	ck_assert_int_eq(copy_texts(&c), 0);
	ck_assert_int_eq(copy_window(&c, 1), 0);
	ck_assert_uint_lt(resident(), before + (4u << 20));
	copy_close(&c);
	/* No page of the file came to be by our looking at it. */
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_lt(st.st_blocks, 2048);
	close(fd);
	m->head->used = 0;
	image_free(m);
}
END_TEST

/* Also where its holes were cut off: nothing lies behind the end. */
START_TEST(no_more_is_there_than_the_file_has)
{
	struct spool_image *m = image_two_windows();
	uint64_t size = m->head->used;
	int fd = image_file(m);
	struct copy c;

	m->head->used = m->head->cap = 1ull << 40;
	ck_assert_int_eq(pwrite(fd, m->head, SPOOL_HEADER, 0), SPOOL_HEADER);
	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	ck_assert_int_eq(copy_open(&c, fd), 0);
	ck_assert_uint_eq(c.mapped, size);
	ck_assert_uint_eq(c.view.size, size);
	copy_close(&c);
	close(fd);
	image_free(m);
}
END_TEST

START_TEST(signals_are_no_errors)
{
	struct spool_image *m = image_two_windows();
	int fd = image_file(m);
	struct copy c;

	interrupts = true;
	ck_assert_int_eq(copy_open(&c, fd), 0);
	ck_assert_int_eq(copy_window(&c, 2), 0);
	interrupts = false;
	copy_close(&c);
	close(fd);
	image_free(m);
}
END_TEST

static void settle(struct config *c, void *arg)
{
	fmt(c->logdir, sizeof(c->logdir), "%s/log", (const char *)arg);
}

START_TEST(it_may_shrink_at_any_time)
{
	struct spool_image *m = image_two_windows();
	struct writer_plan plan = { .settle = settle, .arg = m->dir };

	for (off_t size = 0; size <= (off_t)m->head->used; size += CHUNK_SMALL) {
		int fd = image_file(m), err;
		struct copy c;

		err = copy_open(&c, fd);
		ck_assert_int_eq(err, 0);
		ck_assert_int_eq(ftruncate(fd, size), 0);
		writer_recover(&c, &plan);
		copy_close(&c);
		err = copy_open(&c, fd);
		ck_assert(!err || err == -ENODATA || err == -EINVAL);
		if (!err)
			copy_close(&c);
		close(fd);
	}
	image_free(m);
}
END_TEST

/* A chunk that another window has got since is none of the old one's. */
START_TEST(a_chunk_that_changed_hands_is_left_out)
{
	struct spool_image *m = image_two_windows();
	int fd = image_file(m);
	uint64_t where = (uint64_t)((uint8_t *)m->data - m->base), cycle = 9;
	const struct chunk *mine;
	struct copy c;

	ck_assert_int_eq(copy_open(&c, fd), 0);
	ck_assert_int_eq(pwrite(fd, &cycle, sizeof(cycle),
				(off_t)(where + offsetof(struct chunk, cycle))),
			 sizeof(cycle));
	ck_assert_int_eq(copy_window(&c, 2), 0);
	mine = (const struct chunk *)(c.base + where);
	ck_assert_uint_eq(mine->used, 0);
	copy_close(&c);
	close(fd);
	image_free(m);
}
END_TEST

/* Nor is one that says it is longer than it was as the spool was opened. */
START_TEST(a_chunk_that_lies_about_its_length_is_left_out)
{
	struct spool_image *m = image_two_windows();
	int fd = image_file(m);
	uint64_t where = (uint64_t)((uint8_t *)m->data - m->base);
	uint32_t used = m->data->size + 8;
	struct copy c;

	ck_assert_int_eq(copy_open(&c, fd), 0);
	ck_assert_int_eq(pwrite(fd, &used, sizeof(used),
				(off_t)(where + offsetof(struct chunk, used))),
			 sizeof(used));
	ck_assert_int_eq(copy_window(&c, 2), 0);
	ck_assert_uint_eq(((const struct chunk *)(c.base + where))->used, 0);
	copy_close(&c);
	close(fd);
	image_free(m);
}
END_TEST

START_TEST(counters_of_all_threads_are_summed)
{
	struct spool_image *m = image_new(1000, 100000);
	struct spool_counters *at;
	uint64_t sum[SPOOL_COUNTERS];
	int fd;

	for (int i = 0; i < 2; i++) {
		struct chunk *c = image_chunk_of(m, CHUNK_COUNTERS, CHUNK_SMALL);

		at = (struct spool_counters *)(c + 1);
		at[0].sum[0] = 1;
		at[0].sum[1] = 100;
		at[1].sum[2] = 10;
		at[1].sum[3] = 7;
		c->used = sizeof(*c) + 2 * sizeof(*at);
		c->next_left = m->head->counters;
		m->head->counters = (uint64_t)((uint8_t *)c - m->base);
	}
	fd = image_file(m);
	ck_assert(copy_counters(fd, sum));
	ck_assert_uint_eq(sum[0], 2);
	ck_assert_uint_eq(sum[1], 200);
	ck_assert_uint_eq(sum[2], 20);
	ck_assert_uint_eq(sum[3], 14);
	/* A chain that bites its tail ends. */
	((struct chunk *)(m->base + m->head->counters))->next_left = m->head->counters;
	close(fd);
	fd = image_file(m);
	ck_assert(copy_counters(fd, sum));
	close(fd);
	m->head->counters = 0;
	fd = image_file(m);
	ck_assert(!copy_counters(fd, sum));
	close(fd);
	image_free(m);
}
END_TEST

/* ---- somebody writes there all the time ---- */

static struct {
	uint8_t *at;
	size_t size;
	_Atomic bool stop;
	_Atomic uint64_t bytes;
} scribbled;

static void *scribble(void *arg)
{
	uint64_t x = 88172645463325252ull;

	(void)arg;
	while (!atomic_load(&scribbled.stop)) {
		size_t at;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		at = x % scribbled.size;
		/* What makes it a spool at all stays, mostly. */
		if (at < 16)
			continue;
		scribbled.at[at] = (uint8_t)(x >> 32);
		atomic_fetch_add(&scribbled.bytes, 1);
	}
	return NULL;
}

START_TEST(it_may_be_scribbled_over)
{
	struct spool_image *m = image_two_windows();
	struct writer_plan plan = { .settle = settle, .arg = m->dir };
	int fd = image_file(m);
	pthread_t thread;

	scribbled.size = m->head->used;
	scribbled.at =
		mmap(NULL, scribbled.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(scribbled.at, MAP_FAILED);
	ck_assert_int_eq(pthread_create(&thread, NULL, scribble, NULL), 0);
	while (atomic_load(&scribbled.bytes) < 1000000) {
		struct copy c;

		if (copy_open(&c, fd))
			continue;
		writer_recover(&c, &plan);
		copy_close(&c);
		/* It is a spool again, where the options say where files go. */
		memcpy(scribbled.at, m->base, scribbled.size);
	}
	atomic_store(&scribbled.stop, true);
	pthread_join(thread, NULL);
	munmap(scribbled.at, scribbled.size);
	close(fd);
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("copy");

	tcase_add_test(tc, one_window_is_there_at_a_time);
	tcase_add_test(tc, nothing_recorded_is_not_damage);
	tcase_add_test(tc, a_disk_that_fails_is_not_nothing_recorded);
	tcase_add_test(tc, what_was_not_used_goes);
	tcase_add_test(tc, holes_cost_nothing);
	tcase_add_test(tc, no_more_is_there_than_the_file_has);
	tcase_add_test(tc, signals_are_no_errors);
	tcase_add_test(tc, it_may_shrink_at_any_time);
	tcase_add_test(tc, a_chunk_that_changed_hands_is_left_out);
	tcase_add_test(tc, a_chunk_that_lies_about_its_length_is_left_out);
	tcase_add_test(tc, counters_of_all_threads_are_summed);
	tcase_add_test(tc, it_may_be_scribbled_over);
	return unit_run(tc, "copy");
}
