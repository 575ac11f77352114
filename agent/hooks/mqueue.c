/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message queue forgets its mq_notify when any task of the process closes a copy of its
 * descriptor, as a moment's task of ours does at its end: from a first notification on
 * there is none.
 */
#include "agent/hooks/enter.h"
#include "agent/hooks/libc.h"
#include "base/sys.h"
#include "base/unseen.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

typedef int (*notify_fn)(mqd_t queue, const struct sigevent *event);

/* Before glibc 2.34 it is librt's, which may have come with a library that is local. */
static notify_fn find_real(void)
{
	static _Atomic(notify_fn) known;
	notify_fn real = atomic_load(&known);
	void *librt;

	if (real)
		return real;
	real = (notify_fn)hook_next("mq_notify");
	librt = real ? NULL : dlopen("librt.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (librt)
		real = (notify_fn)hook_real_dlsym(librt, "mq_notify");
	atomic_store(&known, real);
	return real;
}

int HOOK_EXPORT(mq_notify)(mqd_t queue, const struct sigevent *event)
{
	int saved = errno;
	notify_fn real = find_real();

	errno = saved;
	if (event)
		unseen_never();
	if (real)
		return real(queue, event);
	errno = ENOSYS;
	return -1;
}
