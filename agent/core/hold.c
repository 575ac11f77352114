/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/hold.h"
#include "agent/core/fmt.h"
#include "agent/core/sys.h"

#include <errno.h>
#include <string.h>

socklen_t hold_address(struct sockaddr_un *a, const char *id)
{
	size_t n;

	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	/* No file: sun_path begins with a zero. */
	n = fmt(a->sun_path + 1, sizeof(a->sun_path) - 1, "proflaunch/%.*s", 72, id);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

int hold_send(const char *id, int fd)
{
	struct sockaddr_un address;
	socklen_t length = hold_address(&address, id);
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	char byte = 0;
	struct iovec data = { &byte, 1 };
	struct msghdr message = {
		.msg_name = &address,
		.msg_namelen = length,
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.room),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	int saved = errno, err = 0;
	int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (s < 0 || sendmsg(s, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		err = -errno;
	if (s >= 0)
		sys_close(s);
	errno = saved;
	return err;
}
