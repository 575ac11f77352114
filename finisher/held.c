/* SPDX-License-Identifier: Apache-2.0 */
#include "finisher/held.h"

#include <string.h>
#include <sys/socket.h>

/* Descriptors come with the launcher's number for each. MSG_DONTWAIT: this thread has
 * other things to do; MSG_CMSG_CLOEXEC: on_trace's command must not hold a spool. */
void held_receive(struct known_all *all, const struct finish *f)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	int number, fd;
	struct iovec data = { &number, sizeof(number) };
	struct msghdr m = { .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };

	while (f->spools >= 0 &&
	       recvmsg(f->spools, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) > 0) {
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);

		if (c && c->cmsg_type == SCM_RIGHTS &&
		    c->cmsg_len == CMSG_LEN(sizeof(fd))) {
			memcpy(&fd, CMSG_DATA(c), sizeof(fd));
			known_hold(all, fd, number);
		}
		m.msg_controllen = sizeof(control);
	}
}

void held_take(struct known_all *all, const struct finish *f)
{
	for (size_t i = 0; i < f->held_n; i++)
		if (f->held[i] >= 0)
			known_hold(all, f->held[i], (int)i);
}
