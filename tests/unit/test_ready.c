/* SPDX-License-Identifier: Apache-2.0 */
/* Files wait for a pipe with room, and for whoever runs the command after all. */
#include "finisher/command.h"
#include "finisher/ready.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int ends[2];

static void begin(void)
{
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	signal(SIGPIPE, SIG_IGN);
}

static void add_many(unsigned n)
{
	char path[64];

	for (unsigned i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/tmp/of/a/long/enough/path/%u", i);
		ready_add(path);
	}
}

/* Paths that came through, each with its end. */
static unsigned take_all(void)
{
	static char text[1 << 20];
	ssize_t n = read(ends[0], text, sizeof(text));
	unsigned paths = 0;

	for (ssize_t i = 0; i < n; i++)
		paths += !text[i];
	return paths;
}

START_TEST(nothing_is_lost_where_the_pipe_is_full)
{
	unsigned got = 0;

	add_many(10000);
	while (ready_left()) {
		ready_send(ends[1], 0);
		ck_assert_uint_le(ready_left(), 10000);
		got += take_all();
	}
	ck_assert_uint_eq(got, 10000);
}
END_TEST

START_TEST(without_a_reader_they_stay)
{
	add_many(3);
	close(ends[0]);
	ready_send(ends[1], 0);
	ready_send(-1, 0);
	ck_assert_uint_eq(ready_left(), 3);
}
END_TEST

/* Which ones the launcher has read nobody knows: the marks tell. */
START_TEST(who_is_alone_looks_at_all_again)
{
	char dir[] = "/tmp/ready-XXXXXX", path[100], remove[100];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	for (unsigned i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%u", dir, i);
		ready_add(path);
	}
	ready_send(ends[1], 0);
	ck_assert_uint_eq(ready_left(), 0);
	command_run("true", path); /* the launcher had read that one */
	command_wait();
	ready_again();
	ready_send(ends[1], 0); /* the other thread may be about to */
	ck_assert_uint_eq(ready_left(), 3);
	ready_run("true");
	ck_assert_uint_eq(ready_left(), 0);
	ck_assert_uint_eq(command_running(), 2);
	ck_assert(command_wait());
	ck_assert(command_marked(path));
	snprintf(remove, sizeof(remove), "rm -r %s", dir);
	ck_assert_int_eq(system(remove), 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("ready");

	tcase_add_checked_fixture(tc, begin, NULL);
	tcase_add_test(tc, nothing_is_lost_where_the_pipe_is_full);
	tcase_add_test(tc, without_a_reader_they_stay);
	tcase_add_test(tc, who_is_alone_looks_at_all_again);
	return unit_run(tc, "ready");
}
