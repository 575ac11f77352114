/* SPDX-License-Identifier: Apache-2.0 */
/* Lines for whoever reads them, and for who does not. */
#include "launcher/say.h"
#include "tests/unit/said.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends[2];

/* Says a line into the pipe, in a process that a signal may end; its status. */
static int say_there(void)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		say_warn("%s", "a line");
		_exit(7);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

/* The command's status is what the caller gets, not that of a SIGPIPE. */
START_TEST(nobody_reads)
{
	int status;

	ck_assert_int_eq(pipe(ends), 0);
	close(ends[0]);
	ends[0] = -1;
	status = say_there();
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 7);
}
END_TEST

/* Whoever started us may read when we have ended, and not before. */
START_TEST(a_full_pipe_is_not_waited_for)
{
	char some[4096] = { 0 };
	int status;

	ck_assert_int_eq(pipe(ends), 0);
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	while (write(ends[1], some, sizeof(some)) > 0)
		;
	fcntl(ends[1], F_SETFL, 0);
	status = say_there();
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 7);
}
END_TEST

START_TEST(who_reads_gets_the_line)
{
	char text[64] = "";

	ck_assert_int_eq(pipe(ends), 0);
	say_there();
	ck_assert_int_gt(read(ends[0], text, sizeof(text) - 1), 0);
	ck_assert_str_eq(text, "proflaunch: a line\n");
}
END_TEST

/* A line that is too long is cut, and ends. */
START_TEST(a_long_line_ends)
{
	static char word[20000];
	char last[2] = "";
	off_t size;

	memset(word, 'x', sizeof(word) - 1);
	said_start();
	say_warn("%s", word);
	size = lseek(said_by.file, 0, SEEK_END);
	ck_assert_int_eq(pread(said_by.file, last, 2, size - 2), 2);
	ck_assert(last[0] == 'x' && last[1] == '\n');
	said();
	ck_assert_int_ge(size, 8000);
	ck_assert_int_le(size, 8192);
}
END_TEST

/* Names in it may come from anywhere. */
START_TEST(no_line_obeys)
{
	said_start();
	say_warn("%s", "a\033[31mb\302\233c");
	ck_assert_str_eq(said(), "proflaunch: a?[31mb??c\n");
}
END_TEST

START_TEST(quiet_is_for_notes)
{
	const char *text;

	say_quiet = true;
	said_start();
	say_note("a note");
	say_warn("a warning");
	text = said();
	ck_assert_str_eq(text, "proflaunch: a warning\n");
}
END_TEST

START_TEST(numbers_are_read_by_people)
{
	ck_assert_str_eq(say_number(0), "0");
	ck_assert_str_eq(say_number(999), "999");
	ck_assert_str_eq(say_number(1000), "1,000");
	ck_assert_str_eq(say_number(UINT64_MAX), "18,446,744,073,709,551,615");
	ck_assert_str_eq(say_count(1, "process"), "1 process");
	ck_assert_str_eq(say_count(2, "process"), "2 processes");
	ck_assert_str_eq(say_count(0, "batch"), "0 batches");
	ck_assert_str_eq(say_count(1234, "step"), "1,234 steps");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("say");

	tcase_add_test(tc, nobody_reads);
	tcase_add_test(tc, a_full_pipe_is_not_waited_for);
	tcase_add_test(tc, who_reads_gets_the_line);
	tcase_add_test(tc, a_long_line_ends);
	tcase_add_test(tc, no_line_obeys);
	tcase_add_test(tc, quiet_is_for_notes);
	tcase_add_test(tc, numbers_are_read_by_people);
	return unit_run(tc, "say");
}
