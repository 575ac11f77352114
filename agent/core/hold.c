/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor of our memory goes to the launcher over a datagram socket, so that the
 * memory outlives a process that is killed. */
#include "agent/core/hold.h"
#include "base/fmt.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define WAIT_US 20000 /* at most so long; a launcher that is there takes far less */

socklen_t hold_address(struct sockaddr_un *a, const char *id)
{
	size_t n;

	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	/* An abstract address has no file: its sun_path begins with a zero. */
	n = fmt(a->sun_path + 1, sizeof(a->sun_path) - 1, "proflaunch/%.*s", 72, id);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

/* The socket's queue holds few messages (net.unix.max_dgram_qlen: 10). A sender that
 * finds it full waits for a place, but no longer than WAIT_US: the launcher may be
 * stopped. */
static int send_it(int s, const struct msghdr *message)
{
	struct timeval most = { 0, WAIT_US };
	long sent = syscall(SYS_sendmsg, s, message, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (sent < 0 && errno == EAGAIN &&
	    !syscall(SYS_setsockopt, s, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most)))
		sent = syscall(SYS_sendmsg, s, message, MSG_NOSIGNAL);
	return sent < 0 ? -errno : 0;
}

int hold_send(const char *id, int fd)
{
	struct sockaddr_un address;
	socklen_t length = hold_address(&address, id);
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	/* unix(7): a message with a descriptor should have a byte in it, too. */
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
	int saved = errno, err;
	int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	err = s < 0 ? -errno : send_it(s, &message);
	if (s >= 0)
		sys_close(s);
	errno = saved;
	return err;
}
