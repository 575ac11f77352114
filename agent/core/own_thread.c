/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C library keeps the stacks that it makes for threads, and the blocks that belong to
 * them, and frees both later in whatever thread comes by: such a free would be seen as
 * the program's. With a stack of our own a thread frees what is its own at its own end.
 */
#include "agent/core/own_thread.h"
#include "agent/core/sys.h"
#include "agent/core/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK (1024 * 1024)
#define GUARD (64 * 1024) /* a page of any size */

bool own_thread_gone(uint32_t tid)
{
	int saved = errno;
	bool gone = syscall(SYS_tgkill, sys_pid(), tid, 0) && errno == ESRCH;

	errno = saved;
	return gone;
}

static void *begin(void *arg)
{
	struct own_thread *t = arg;

	thread_guard = THREAD_OURS;
	prctl(PR_SET_NAME, "proflaunch", 0, 0, 0);
	atomic_store(&t->last, sys_tid());
	return t->run(NULL);
}

/* The last one's, if that has left it. Else it is lost: some pages, and rarely. */
static bool have_stack(struct own_thread *t)
{
	uint32_t last = atomic_load(&t->last);

	if (t->stack && last && own_thread_gone(last))
		return true;
	t->stack = sys_map(GUARD + STACK);
	return t->stack && !mprotect(t->stack, GUARD, PROT_NONE);
}

static int create(struct own_thread *t, bool own_stack)
{
	pthread_attr_t attr;
	pthread_t id;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (own_stack)
		pthread_attr_setstack(&attr, t->stack + GUARD, STACK);
	atomic_store(&t->last, 0);
	err = pthread_create(&id, &attr, begin, t);
	pthread_attr_destroy(&attr);
	return err;
}

int own_thread_start(struct own_thread *t, void *(*run)(void *))
{
	uintptr_t guard = thread_guard;
	uint64_t mask;
	int err = EAGAIN;

	t->run = run;
	thread_guard = THREAD_OURS;
	/* Born with all signals blocked: none of the program's handlers runs in it. */
	sys_block_signals(&mask);
	if (have_stack(t))
		err = create(t, true);
	if (err) { /* e.g. a program with more thread-local data than that */
		t->stack = NULL;
		err = create(t, false);
	}
	sys_restore_signals(mask);
	thread_guard = guard;
	return -err;
}
