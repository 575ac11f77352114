/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that change who all threads are. The C library makes each thread repeat them, and
 * aborts the program where one may and another may not: as a thread of ours may not that
 * was made before its program's only one got capabilities, or kept them
 * (PR_SET_KEEPCAPS), which is a thread's own affair. So there is no thread of ours
 * meanwhile; a new one is as who makes it.
 */
#include "agent/hooks/enter.h"
#include "agent/hooks/libc.h"
#include "base/tls.h"

#include <errno.h>
#include <grp.h>
#include <unistd.h>

static bool begin_alone(void)
{
	bool tells = hook_to.alone && tls_is_there();
	int saved;

	if (!tells)
		return false;
	saved = errno;
	hook_to.alone(true);
	errno = saved;
	return true;
}

static void end_alone(bool tells)
{
	int saved;

	if (!tells)
		return;
	saved = errno;
	hook_to.alone(false);
	errno = saved;
}

#define IDENTITY(name, parameters, arguments)                                \
	int HOOK_EXPORT(name) parameters                                     \
	{                                                                    \
		int(*real) parameters = (int(*) parameters)hook_next(#name); \
		bool tells = begin_alone();                                  \
		int result = real arguments;                                 \
                                                                             \
		end_alone(tells);                                            \
		return result;                                               \
	}

IDENTITY(setuid, (uid_t id), (id))
IDENTITY(setgid, (gid_t id), (id))
IDENTITY(seteuid, (uid_t id), (id))
IDENTITY(setegid, (gid_t id), (id))
IDENTITY(setreuid, (uid_t real_id, uid_t id), (real_id, id))
IDENTITY(setregid, (gid_t real_id, gid_t id), (real_id, id))
IDENTITY(setresuid, (uid_t real_id, uid_t id, uid_t saved), (real_id, id, saved))
IDENTITY(setresgid, (gid_t real_id, gid_t id, gid_t saved), (real_id, id, saved))
IDENTITY(setgroups, (size_t n, const gid_t *groups), (n, groups))
IDENTITY(initgroups, (const char *user, gid_t group), (user, group))
