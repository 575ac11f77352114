/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/hold.h"
#include "tests/unit/seam.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

START_TEST(each_has_an_address_of_its_own)
{
	struct sockaddr_un a, b;
	socklen_t n = hold_address(&a, "vm_12.34");

	ck_assert_uint_eq(n, offsetof(struct sockaddr_un, sun_path) + 1 +
				     strlen("proflaunch/vm_12.34"));
	ck_assert_uint_eq(hold_address(&b, "vm_12.35"), n);
	ck_assert_int_ne(memcmp(&a, &b, n), 0);
	ck_assert_int_eq(memcmp(a.sun_path, "\0proflaunch/vm_12.34", 20), 0);
}
END_TEST

START_TEST(a_long_name_is_cut)
{
	char id[300] = { 0 };
	struct sockaddr_un a;

	memset(id, 'x', sizeof(id) - 1);
	ck_assert_uint_le(hold_address(&a, id), sizeof(a));
}
END_TEST

/* A launcher gets a descriptor of what is meant; without one that is said. */
START_TEST(a_descriptor_is_handed_over_or_it_is_said)
{
	char byte, room[CMSG_SPACE(sizeof(int))];
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = room,
				  .msg_controllen = sizeof(room) };
	int s = socket(AF_UNIX, SOCK_DGRAM, 0), pipes[2], there;
	unsigned before;
	struct sockaddr_un a;

	ck_assert_int_eq(pipe(pipes), 0);
	before = seam_open_files();
	errno = 4711;
	ck_assert_int_eq(hold_send("unit_hold", pipes[1]), -ECONNREFUSED);
	ck_assert_int_eq(bind(s, (struct sockaddr *)&a, hold_address(&a, "unit_hold")),
			 0);
	ck_assert_int_eq(hold_send("unit_hold", -1), -EBADF);
	ck_assert_int_eq(hold_send("unit_hold", pipes[1]), 0);
	ck_assert_int_eq(errno, 4711);
	ck_assert_uint_eq(seam_open_files(), before);
	ck_assert_int_eq(recvmsg(s, &message, MSG_DONTWAIT), 1);
	memcpy(&there, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(there));
	ck_assert_int_eq(write(there, "x", 1), 1);
	ck_assert_int_eq(read(pipes[0], &byte, 1), 1);
}
END_TEST

/* One after the other, each as soon as it sleeps no more. */
static void *take_all(void *arg)
{
	int s = *(int *)arg;
	char byte;

	usleep(2000);
	while (recv(s, &byte, 1, 0) == 1 && byte == 0)
		;
	return NULL;
}

/* Ten wait in line; one more has its turn when there is somebody who reads. */
START_TEST(a_line_that_is_full_is_waited_for)
{
	int s = socket(AF_UNIX, SOCK_DGRAM, 0), err = 0;
	struct sockaddr_un a;
	socklen_t n = hold_address(&a, "unit_line");
	pthread_t reader;
	unsigned before, sent = 0, lost = 0;

	ck_assert_int_eq(bind(s, (struct sockaddr *)&a, n), 0);
	before = seam_open_files();
	errno = 4711;
	while (!(err = hold_send("unit_line", 0)))
		ck_assert_uint_lt(++sent, 10000);
	ck_assert_int_eq(err, -EAGAIN);
	ck_assert_int_eq(errno, 4711);
	ck_assert_uint_eq(seam_open_files(), before);
	ck_assert_int_eq(pthread_create(&reader, NULL, take_all, &s), 0);
	for (unsigned i = 0; i < 10 * sent; i++)
		lost += hold_send("unit_line", 0) != 0;
	/* A reader that gets no processor for that long is nobody's fault. */
	ck_assert_uint_lt(lost, 5 * sent);
	ck_assert_int_eq(sendto(s, "x", 1, 0, (struct sockaddr *)&a, n), 1);
	pthread_join(reader, NULL);
	close(s);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("hold");

	tcase_add_test(tc, each_has_an_address_of_its_own);
	tcase_add_test(tc, a_long_name_is_cut);
	tcase_add_test(tc, a_descriptor_is_handed_over_or_it_is_said);
	tcase_add_test(tc, a_line_that_is_full_is_waited_for);
	return unit_run(tc, "hold");
}
