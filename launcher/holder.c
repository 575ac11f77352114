/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/holder.h"
#include "agent/core/hold.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int listening = -1;
static int *held;
static size_t held_n;

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
	}
}

static void keep(int fd)
{
	int *more = realloc(held, (held_n + 1) * sizeof(*held));

	if (!more) {
		close(fd);
		return;
	}
	held = more;
	held[held_n++] = fd;
}

/* One message: its descriptor if it is our own user's; -1 = none, -2 = no more. */
static int receive(void)
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
	if (fd >= 0 && who.uid != geteuid()) {
		close(fd);
		fd = -1;
	}
	return fd;
}

void holder_each(_Bool (*fn)(int fd, void *arg), void *arg)
{
	size_t left = 0;
	int fd;

	while (listening >= 0 && (fd = receive()) != -2)
		if (fd >= 0)
			keep(fd);
	for (size_t i = 0; i < held_n; i++) {
		if (fn(held[i], arg))
			close(held[i]);
		else
			held[left++] = held[i];
	}
	held_n = left;
}
