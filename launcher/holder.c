/* SPDX-License-Identifier: Apache-2.0 */
/* A process whose records lie in memory has a memfd, and sends the launcher its
 * descriptor by a socket whose abstract name is made of the job's id (agent/core/hold.h).
 * The launcher keeps the descriptor, gives it a number and passes both on to the
 * finisher. Where a finisher dies the numbers stay the same for the next one: by them it
 * knows which spools are done. */
#include "launcher/holder.h"
#include "agent/core/hold.h"
#include "finisher/shared.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SPARE 64 /* descriptors for the launcher's other work */

static int listening = -1;
static int held[SHARED_HELD]; /* descriptor + 1; 0 = the number is free */
static bool passed[SHARED_HELD]; /* the finisher has been told of the number */
static size_t most, held_n, used_n; /* numbers: that may be used, in use, ever used */

/* A message wakes the launcher as a child's end does: few messages fit into a socket. */
/* SIGCHLD, as the launcher waits for that in any case; F_SETSIG makes the kernel send it
 * in place of SIGIO. */
static void wake_at_messages(void)
{
	fcntl(listening, F_SETOWN, getpid());
	fcntl(listening, F_SETSIG, SIGCHLD);
	fcntl(listening, F_SETFL, O_NONBLOCK | O_ASYNC);
}

/* How many numbers may be used: a descriptor beyond the limit would be lost without a
 * word. */
static size_t count_numbers(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur > SHARED_HELD + SPARE)
		return SHARED_HELD;
	return files.rlim_cur > 2 * SPARE ? files.rlim_cur - SPARE : files.rlim_cur / 2;
}

void holder_open(const char *id)
{
	struct sockaddr_un address;
	socklen_t length = hold_address(&address, id);
	int on = 1;

	listening = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listening < 0)
		return;
	if (bind(listening, (struct sockaddr *)&address, length) ||
	    setsockopt(listening, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on))) {
		close(listening);
		listening = -1;
		return;
	}
	most = count_numbers();
	wake_at_messages();
}

/* Takes one message: its descriptor if it is our own user's; -1 = none, -2 = no more. */
static int receive_descriptor(void)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
	} control;
	char byte;
	struct iovec data = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct ucred who = { .uid = (uid_t)-1 };
	int fd = -1;

	if (recvmsg(listening, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
		return -2;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS)
			memcpy(&who, CMSG_DATA(c), sizeof(who));
		else if (c->cmsg_type == SCM_RIGHTS &&
			 c->cmsg_len == CMSG_LEN(sizeof(fd)))
			memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	}
	/* Any process of this network namespace can reach the socket. The kernel
	 * vouches for the credentials (SO_PASSCRED). */
	if (fd >= 0 && who.uid != geteuid()) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Passes a descriptor on. False: the socket is full, as the finisher is slow or stopped.
 * MSG_NOSIGNAL: a finisher that has died must not end the launcher. */
static bool pass_on(int to, int fd, int number)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec data = { &number, sizeof(number) };
	struct msghdr m = { .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control.room) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(to, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* Gives the descriptor a free number, also a used one: a job may have more processes than
 * there are numbers. */
static void hold_descriptor(int fd)
{
	size_t i = 0;

	while (held[i])
		i++;
	held[i] = fd + 1;
	passed[i] = false;
	held_n++;
	used_n = i < used_n ? used_n : i + 1;
}

void holder_receive(int to)
{
	int fd;

	while (listening >= 0 && held_n < most && (fd = receive_descriptor()) != -2)
		if (fd >= 0)
			hold_descriptor(fd);
	/* A stopped finisher's socket gets full: then the rest is passed on later. */
	for (size_t i = 0; i < used_n; i++) {
		if (!held[i] || passed[i])
			continue;
		passed[i] = pass_on(to, held[i] - 1, (int)i);
		if (!passed[i])
			return;
	}
}

uint32_t holder_left(const _Atomic uint8_t *done)
{
	uint32_t n = 0;

	for (size_t i = 0; i < used_n; i++)
		n += held[i] && !atomic_load(&done[i]);
	return n;
}

void holder_close_done(_Atomic uint8_t *done)
{
	for (size_t i = 0; i < used_n; i++) {
		if (!held[i] || !atomic_load(&done[i]))
			continue;
		close(held[i] - 1);
		held[i] = 0;
		held_n--;
		/* Nothing is done yet of the next spool with this number. */
		atomic_store(&done[i], 0);
	}
}

const int *holder_table(size_t *n)
{
	static int table[SHARED_HELD];

	for (size_t i = 0; i < used_n; i++) {
		table[i] = held[i] - 1;
		passed[i] = true;
	}
	*n = used_n;
	return table;
}
