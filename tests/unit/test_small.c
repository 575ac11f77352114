/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of small processes, and what may happen to the file that they wait in. */
#include "base/fmt.h"
#include "finisher/small.h"
#include "tests/unit/said.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define BASE 1700000000000000000ll

static char dir[32], folder[64];
static struct small_rows rows;
static struct spool_header *head;

static void begin(void)
{
	snprintf(dir, sizeof(dir), "/tmp/small-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	fmt(folder, sizeof(folder), "%s/job", dir);
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	rows = (struct small_rows){ open(folder, O_RDONLY | O_DIRECTORY), -1 };
	head = calloc(1, sizeof(*head));
	head->pid = 77;
	head->base_ns = BASE;
}

static void end(void)
{
	char command[64];

	fmt(command, sizeof(command), "rm -r '%s'", dir);
	ck_assert_int_eq(system(command), 0);
	small_close(&rows);
	close(rows.folder);
	free(head);
}

START_TEST(rows_outlive_what_happens_to_their_file)
{
	struct writer_small s = { .begin_ns = BASE, .end_ns = BASE + 5 };
	char path[512];
	uint64_t n;

	/* A row that the disk had no room for, a second one of a process, and lies. */
	ck_assert_int_eq(small_add(&rows, head, &s), 0);
	ck_assert_int_gt(lseek(rows.fd, 0, SEEK_END), 0);
	ck_assert_int_eq(write(rows.fd, "half of a row", 13), 13);
	ck_assert_int_eq(small_add(&rows, head, &s), 0);
	small_close(&rows); /* another finisher goes on */
	head->pid++;
	ck_assert_int_eq(small_add(&rows, head, &s), 0);
	s.begin_ns = INT64_MIN;
	ck_assert_int_eq(small_add(&rows, head, &s), 0);
	s = (struct writer_small){ .end_ns = INT64_MIN };
	ck_assert_int_eq(small_add(&rows, head, &s), 0);
	ck_assert_int_eq(small_write(&rows, dir, "job", _i, &n, path, sizeof(path)), 0);
	ck_assert_uint_eq(n, 2);
}
END_TEST

START_TEST(rows_wait_for_room)
{
	struct writer_small s = { .begin_ns = BASE, .end_ns = BASE + 5 };
	char path[512];
	uint64_t n;

	ck_assert_int_eq(small_add(&rows, head, &s), 0);
	ck_assert_int_ne(small_write(&rows, "/dev/null/none", "job", false, &n, path,
				     sizeof(path)),
			 0);
	ck_assert_int_eq(faccessat(rows.folder, SMALL_ROWS, F_OK, 0), 0);
	small_close(&rows); /* recover, later */
	ck_assert_int_eq(small_write(&rows, dir, "job", false, &n, path, sizeof(path)),
			 0);
	ck_assert_uint_eq(n, 1);
	ck_assert_int_ne(faccessat(rows.folder, SMALL_ROWS, F_OK, 0), 0);
}
END_TEST

START_TEST(rows_need_no_folder)
{
	struct writer_small s = { .begin_ns = BASE, .end_ns = BASE + 5 };
	char path[512];
	uint64_t n;

	ck_assert_int_eq(rmdir(folder), 0);
	ck_assert_int_eq(small_add(&rows, head, &s), 0);
	ck_assert_int_eq(small_write(&rows, dir, "job", false, &n, path, sizeof(path)),
			 0);
	ck_assert_uint_eq(n, 1);
}
END_TEST

START_TEST(rows_that_do_not_fit_are_counted)
{
	char path[512];
	uint64_t n;

	small_most = 10;
	for (unsigned i = 0; i < 13; i++) {
		struct writer_small s = { .begin_ns = BASE + i, .end_ns = BASE + i + 5 };

		head->pid = i;
		ck_assert_int_eq(small_add(&rows, head, &s), 0);
	}
	said_start();
	ck_assert_int_eq(small_write(&rows, dir, "job", false, &n, path, sizeof(path)),
			 0);
	ck_assert_ptr_nonnull(strstr(said(), "3 are left out"));
	ck_assert_uint_eq(n, 10);
}
END_TEST

/* Each parent has rows of its own, also one that is looked for in the same place. */
START_TEST(parents_share_no_rows)
{
	static const uint32_t parents[] = { 5, 5 + 4096, 5, 5 + 4096 };
	static char text[8192];
	char path[512];
	uint64_t n;
	int fd;

	for (unsigned i = 0; i < 4; i++) {
		/* The third overlaps the first. */
		struct writer_small s = { .begin_ns = BASE + 10 * i,
					  .end_ns = BASE + 10 * i + (i ? 5 : 25) };

		head->pid = 100 + i;
		head->ppid = parents[i];
		ck_assert_int_eq(small_add(&rows, head, &s), 0);
	}
	ck_assert_int_eq(small_write(&rows, dir, "job", false, &n, path, sizeof(path)),
			 0);
	fd = open(path, O_RDONLY);
	ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
	close(fd);
	ck_assert_ptr_nonnull(strstr(text, "\"small processes of 5\""));
	ck_assert_ptr_nonnull(strstr(text, "\"small processes of 4101\""));
	for (unsigned i = 0; i < 4; i++) {
		static const unsigned tids[] = { 1, 1, 2, 1 };
		char want[64];

		fmt(want, sizeof(want), "\"pid\":%u,\"tid\":%u,\"ts\":0.0%u", parents[i],
		    tids[i], 10 * i);
		ck_assert_msg(strstr(text, want) != NULL, "no %s in\n%s", want, text);
	}
}
END_TEST

START_TEST(a_hundred_thousand_parents_take_no_time)
{
	char path[512];
	uint64_t n;

	for (unsigned i = 0; i < 100000; i++) {
		struct writer_small s = { .begin_ns = BASE + i, .end_ns = BASE + i + 5 };

		head->pid = head->ppid = i;
		ck_assert_int_eq(small_add(&rows, head, &s), 0);
	}
	ck_assert_int_eq(small_write(&rows, dir, "job", false, &n, path, sizeof(path)),
			 0);
	ck_assert_uint_eq(n, 100000);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("small");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_loop_test(tc, rows_outlive_what_happens_to_their_file, 0, 2);
	tcase_add_test(tc, rows_wait_for_room);
	tcase_add_test(tc, rows_need_no_folder);
	tcase_add_test(tc, rows_that_do_not_fit_are_counted);
	tcase_add_test(tc, parents_share_no_rows);
	tcase_add_test(tc, a_hundred_thousand_parents_take_no_time);
	return unit_run(tc, "small");
}
