/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's table of spools in memory. */
#include "agent/core/hold.h"
#include "finisher/shared.h"
#include "launcher/holder.h"
#include "tests/unit/seam.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static int ends[2]; /* the finisher's socket: ours, and its */
static uid_t shift; /* whoever sends is another user, as far as the launcher sees */

uid_t geteuid(void)
{
	return getuid() + shift;
}

static void set_up(void)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	holder_open("unit_holder");
}

/* What a process sends that has it in memory. */
static void send_spool(void)
{
	int fd = memfd_create("spool", MFD_CLOEXEC);

	ck_assert_int_eq(hold_send("unit_holder", fd), 0);
	close(fd);
}

/* The number of the next one that the finisher is told of; -1 = none. */
static int told(void)
{
	int number = -1;

	return recv(ends[1], &number, sizeof(number), MSG_DONTWAIT) > 0 ? number : -1;
}

/* A launcher that sleeps until something happens to a child would let ten wait. */
START_TEST(one_that_comes_wakes_the_launcher)
{
	sigset_t child;
	siginfo_t info;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (int i = 0; i < 30; i++) {
		send_spool();
		ck_assert_int_eq(sigtimedwait(&child, &info, &(struct timespec){ 60 }),
				 SIGCHLD);
		holder_receive(ends[0]);
		ck_assert_int_eq(told(), i);
	}
}
END_TEST

/* A job may have any number of processes, but not at once. */
START_TEST(numbers_are_used_again)
{
	_Atomic uint8_t *done = calloc(SHARED_HELD, 1);
	unsigned files = 0;

	for (unsigned i = 0; i < 3 * SHARED_HELD; i++) {
		int number;

		send_spool();
		holder_receive(ends[0]);
		number = told();
		ck_assert_int_ge(number, 0);
		ck_assert_uint_eq(holder_left(done), 1);
		done[number] = 1;
		ck_assert_uint_eq(holder_left(done), 0);
		holder_close_done(done);
		ck_assert_uint_eq(done[number], 0);
		files = files ? files : seam_open_files();
		ck_assert_uint_eq(seam_open_files(), files);
	}
	free((void *)done);
}
END_TEST

/* More than we may have open wait in the socket, and are no loss that nobody sees. */
START_TEST(what_does_not_fit_waits)
{
	_Atomic uint8_t *done = calloc(SHARED_HELD, 1);
	struct rlimit few = { 40, 40 };
	int got = 0, late = 0;

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	holder_open("unit_few");
	for (int i = 0; i < 25; i++) {
		int fd = memfd_create("spool", MFD_CLOEXEC);

		ck_assert_int_eq(hold_send("unit_few", fd), 0);
		close(fd);
		holder_receive(ends[0]);
	}
	while (told() >= 0)
		got++;
	ck_assert_int_ge(got, 10);
	ck_assert_int_lt(got, 25);
	for (int i = 0; i < got; i++)
		done[i] = 1;
	holder_close_done(done);
	holder_receive(ends[0]);
	while (told() >= 0)
		late++;
	ck_assert_int_eq(got + late, 25);
	free((void *)done);
}
END_TEST

/* A finisher that is busy, or stopped: what its socket has no room for comes later. */
START_TEST(what_a_full_socket_does_not_take_comes_later)
{
	int little = 1, sent = 0, files;

	ck_assert_int_eq(
		setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &little, sizeof(little)), 0);
	for (; sent < 60; sent++) {
		send_spool();
		holder_receive(ends[0]);
	}
	for (int i = 0; i < sent; i += files) {
		for (files = 0; told() == i + files;)
			files++;
		ck_assert_int_gt(files, 0);
		ck_assert_int_lt(files, sent); /* it was full */
		holder_receive(ends[0]);
	}
	ck_assert_int_eq(told(), -1);
}
END_TEST

/* It has these from its start, and is not told of them again. */
START_TEST(a_new_finisher_has_the_table)
{
	_Atomic uint8_t done[SHARED_HELD] = { 0 };
	const int *table;
	size_t n;

	for (int i = 0; i < 3; i++) {
		send_spool();
		holder_receive(ends[0]);
		ck_assert_int_eq(told(), i);
	}
	done[1] = 1;
	holder_close_done(done);
	table = holder_table(&n);
	ck_assert_uint_eq(n, 3);
	ck_assert_int_ge(table[0], 0);
	ck_assert_int_eq(table[1], -1);
	ck_assert_int_ge(table[2], 0);
	holder_receive(ends[0]);
	ck_assert_int_eq(told(), -1);
}
END_TEST

START_TEST(a_stranger_hands_us_nothing)
{
	unsigned files = seam_open_files();

	shift = 1;
	send_spool();
	holder_receive(ends[0]);
	ck_assert_int_eq(told(), -1);
	ck_assert_uint_eq(seam_open_files(), files);
	shift = 0;
	send_spool();
	holder_receive(ends[0]);
	ck_assert_int_eq(told(), 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("holder");

	tcase_add_checked_fixture(tc, set_up, NULL);
	tcase_add_test(tc, one_that_comes_wakes_the_launcher);
	tcase_add_test(tc, numbers_are_used_again);
	tcase_add_test(tc, what_does_not_fit_waits);
	tcase_add_test(tc, what_a_full_socket_does_not_take_comes_later);
	tcase_add_test(tc, a_new_finisher_has_the_table);
	tcase_add_test(tc, a_stranger_hands_us_nothing);
	return unit_run(tc, "holder");
}
