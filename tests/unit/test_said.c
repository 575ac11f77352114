/* SPDX-License-Identifier: Apache-2.0 */
/* What is said goes to the launcher by the job's page, or to what descriptor 2 was. */
#include "agent/core/said.h"
#include "base/log.h"
#include "finisher/lines.h"
#include "report/out.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct page page;
static struct lines lines;
static char heard[256 * 1024];

static void begin(void)
{
	page.fd = memfd_create("page", MFD_CLOEXEC);
	ck_assert_int_eq(ftruncate(page.fd, sizeof(*job)), 0);
	job = mmap(NULL, sizeof(*job), PROT_READ | PROT_WRITE, MAP_SHARED, page.fd, 0);
	ck_assert_ptr_ne(job, MAP_FAILED);
	memset(&lines, 0, sizeof(lines));
}

static void end(void)
{
	munmap(job, sizeof(*job));
	job = NULL;
	close(page.fd);
}

static void listen(void (*talk)(void))
{
	int fd = memfd_create("heard", MFD_CLOEXEC), kept = dup(2);
	ssize_t n;

	dup2(fd, 2);
	talk();
	dup2(kept, 2);
	close(kept);
	n = pread(fd, heard, sizeof(heard) - 1, 0);
	heard[n > 0 ? n : 0] = '\0';
	close(fd);
}

static void take(void)
{
	lines_say(&page, &lines, out_plain, false);
}

static void take_last(void)
{
	lines_say(&page, &lines, out_plain, true);
}

static void put(const char *text)
{
	ck_assert(said_put(text, strlen(text)));
}

static void talk_on_page(void)
{
	log_elsewhere = said_put;
	log_warn("one %d", 1);
	log_note("two");
	log_elsewhere = NULL;
}

START_TEST(a_line_is_left_on_the_page_and_said_once)
{
	char want[256];

	listen(talk_on_page);
	ck_assert_str_eq(heard, "");
	listen(take);
	snprintf(want, sizeof(want), "proflaunch[%d]: one 1\nproflaunch[%d]: two\n",
		 getpid(), getpid());
	ck_assert_str_eq(heard, want);
	listen(take_last);
	ck_assert_str_eq(heard, "");
}
END_TEST

START_TEST(nothing_that_a_terminal_would_obey_is_passed_on)
{
	put("a\033[2Jb\nproflaunch: c\x7f \xc2\x9b"
	    "d \xc3\xa9 \xff");
	listen(take);
	ck_assert_str_eq(heard, "a?[2Jb?proflaunch: c? ??d \xc3\xa9 ?\n");
}
END_TEST

static void take_as_it_is(void)
{
	lines_say(&page, &lines, NULL, false);
}

/* stderr is no terminal; it may be looked at on one. */
START_TEST(a_file_gets_no_signs_but_letters)
{
	put("a\033[2Jb\x7f\t \xc3\xa9");
	listen(take_as_it_is);
	ck_assert_str_eq(heard, "a?[2Jb?? \xc3\xa9\n");
}
END_TEST

START_TEST(a_line_that_fills_its_place_has_an_end)
{
	put("line");
	memset(job->said.line[0].text, 'x', SAID_TEXT);
	listen(take);
	ck_assert_uint_eq(strlen(heard), SAID_TEXT);
	ck_assert_uint_eq(strspn(heard, "x"), SAID_TEXT - 1);
}
END_TEST

START_TEST(lines_without_a_place_are_counted)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 100; i++)
		put("line");
	listen(take);
	for (const char *p = heard; (p = strstr(p, "line\n")); p++)
		n++;
	ck_assert_uint_eq(n, SAID_LINES);
	ck_assert_ptr_nonnull(strstr(heard, "proflaunch: 36 more messages\n"));
	/* There is room again, and what was told is not told twice. */
	put("after");
	listen(take);
	ck_assert_str_eq(heard, "after\n");
}
END_TEST

START_TEST(a_long_line_is_cut)
{
	char text[5000];

	memset(text, 'x', sizeof(text));
	ck_assert(said_put(text, sizeof(text)));
	listen(take);
	ck_assert_uint_eq(strlen(heard), SAID_TEXT);
	ck_assert_uint_eq(strcspn(heard, "\n"), SAID_TEXT - 1);
}
END_TEST

/* Its writer was stopped between its place and its line. */
START_TEST(a_line_that_is_not_whole_is_waited_for_but_not_at_the_end)
{
	put("one");
	put("two");
	put("three");
	atomic_store(&job->said.line[1].ready, 0);
	listen(take);
	ck_assert_str_eq(heard, "one\n");
	listen(take);
	ck_assert_str_eq(heard, "");
	listen(take_last);
	ck_assert_str_eq(heard, "three\n");
	put("four");
	atomic_store(&job->said.line[3].ready, 0);
	put("five");
	listen(take);
	ck_assert_str_eq(heard, "");
	lines.stuck_ns -= 1000000000;
	listen(take);
	ck_assert_str_eq(heard, "five\n");
}
END_TEST

START_TEST(the_first_line_and_the_next_are_waited_for_each)
{
	put("one");
	atomic_store(&job->said.line[0].ready, 0);
	put("two");
	listen(take);
	ck_assert_str_eq(heard, "");
	ck_assert_uint_eq(lines.taken, 0);
	lines.stuck_ns -= 1000000000;
	atomic_store(&job->said.line[1].ready, 0);
	listen(take);
	ck_assert_str_eq(heard, "");
	ck_assert_uint_eq(lines.taken, 1);
}
END_TEST

/* Its place has the line of the last round still, which was whole. */
START_TEST(a_line_is_said_in_its_round_alone)
{
	for (unsigned i = 0; i <= SAID_LINES; i++) {
		put(i ? "line" : "old");
		listen(take);
	}
	put("late");
	atomic_store(&job->said.line[1].ready, 2);
	listen(take_last);
	ck_assert_str_eq(heard, "");
}
END_TEST

START_TEST(numbers_of_lines_begin_again)
{
	job->said.next = job->said.taken = lines.taken = UINT32_MAX - 2;
	for (unsigned i = 0; i < 6; i++)
		put("line");
	listen(take);
	ck_assert_str_eq(heard, "line\nline\nline\nline\nline\nline\n");
	ck_assert_uint_eq(job->said.taken, 3);
	/* A launcher that came late, or a page with lies. */
	job->said.next = UINT32_MAX;
	listen(take_last);
	ck_assert_uint_eq(lines.taken, UINT32_MAX);
}
END_TEST

START_TEST(a_page_of_lies_is_no_more_than_its_lines)
{
	memset(&job->said, 0xa5, sizeof(job->said));
	listen(take_last);
	ck_assert_uint_eq(lines.taken, 0xa5a5a5a5);
	for (unsigned i = 0; i < 1000; i++) {
		for (unsigned at = 0; at < sizeof(job->said) / 4; at++)
			((uint32_t *)&job->said)[at] = (uint32_t)rand();
		listen(take_last);
		ck_assert_uint_le(strlen(heard), SAID_LINES * SAID_TEXT + 100);
	}
	/* Who writes is bounded as well. */
	atomic_store(&job->said.taken, 5);
	atomic_store(&job->said.next, 4);
	put("no place");
	ck_assert_int_eq(ftruncate(page.fd, 0), 0);
	listen(take_last);
	ck_assert_str_eq(heard, "");
}
END_TEST

START_TEST(without_a_page_nothing_is_left_there)
{
	struct job_page *kept = job;

	job = NULL;
	ck_assert(!said_put("x", 1));
	job = kept;
}
END_TEST

/* ---- without a launcher ---- */

static void talk_elsewhere(void)
{
	int pipes[2], kept = dup(2);

	log_watch();
	log_warn("here");
	ck_assert_int_eq(pipe2(pipes, O_NONBLOCK), 0);
	dup2(pipes[1], 2);
	log_warn("in a pipe");
	close(2);
	log_warn("nowhere");
	dup2(kept, 2);
	log_warn("here again");
	ck_assert_int_lt(read(pipes[0], heard, 1), 0);
}

START_TEST(a_descriptor_that_became_another_one_gets_no_line)
{
	listen(talk_elsewhere);
	ck_assert_ptr_nonnull(strstr(heard, "]: here\n"));
	ck_assert_ptr_nonnull(strstr(heard, "]: here again\n"));
	ck_assert_ptr_null(strstr(heard, "where\n"));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("said");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, a_line_is_left_on_the_page_and_said_once);
	tcase_add_test(tc, nothing_that_a_terminal_would_obey_is_passed_on);
	tcase_add_test(tc, a_file_gets_no_signs_but_letters);
	tcase_add_test(tc, a_line_that_fills_its_place_has_an_end);
	tcase_add_test(tc, lines_without_a_place_are_counted);
	tcase_add_test(tc, a_long_line_is_cut);
	tcase_add_test(tc, a_line_that_is_not_whole_is_waited_for_but_not_at_the_end);
	tcase_add_test(tc, the_first_line_and_the_next_are_waited_for_each);
	tcase_add_test(tc, a_line_is_said_in_its_round_alone);
	tcase_add_test(tc, numbers_of_lines_begin_again);
	tcase_add_test(tc, a_page_of_lies_is_no_more_than_its_lines);
	tcase_add_test(tc, without_a_page_nothing_is_left_there);
	tcase_add_test(tc, a_descriptor_that_became_another_one_gets_no_line);
	return unit_run(tc, "said");
}
