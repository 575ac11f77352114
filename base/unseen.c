/* SPDX-License-Identifier: Apache-2.0 */
/* The task is made by clone without CLONE_FILES: it gets a copy of the descriptor
 * table, and what it opens is in the copy alone. Within CLONE_THREAD its end makes no
 * SIGCHLD and no zombie that a program could wait for. It is no thread to the C
 * library, so that it has no stack or lock of that, and must not come near them. */
#include "base/unseen.h"
#include "base/own_thread.h"
#include "base/sys_call.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNSEEN_STACK (64 * 1024)
#define YIELDS       8
#define NAP_NS       50000

static _Atomic bool never;

struct unseen {
	int (*fn)(void *);
	void *arg;
	int result;
	_Atomic uint32_t tid; /* cleared by the kernel when it is gone */
};

static int begin_task(void *arg)
{
	struct unseen *a = arg;

	a->result = a->fn(a->arg);
	return 0;
}

/* A program may have used up its numbers. One of the copy's is given up then. */
static int begin_in_copy(void *arg)
{
	int fd = sys_open("/", O_PATH, 0);

	if (fd >= 0)
		sys_close(fd);
	else if (fd == -EMFILE)
		sys_close(0);
	return begin_task(arg);
}

/* Waits until the kernel counts the task no more: the caller may unshare next, which
 * fails while there are other tasks, or count threads. All that the task does is end;
 * where it gets no processor, yielding would keep others from theirs. Where another
 * thread has confined the process meanwhile, nobody can be asked any more. */
static void await_end(int tid)
{
	for (unsigned asked = 0; !sys_confined && !own_thread_gone((uint32_t)tid);
	     asked++)
		if (asked < YIELDS)
			syscall(SYS_sched_yield);
		else
			sys_nap(NAP_NS);
}

/*
 * A task of our group that does not share the descriptor table: open here is not open
 * there. The C library does not know it; it lives while the caller waits, and uses the
 * caller's thread-local data (errno), which nobody else uses meanwhile.
 */
static int run_task(struct unseen *a)
{
	bool may = !atomic_load(&never) && !sys_under_valgrind();
	char *stack = may ? sys_map(UNSEEN_STACK) : NULL;
	int saved = errno, made = -1;
	uint64_t mask, cancel = 1ull << (32 - 1);

	sys_block_signals(&mask);
	/* Signal 32 cancels a thread: a caller cancelled here would never unmap the
	 * task's stack. */
	SYS_CALL(SYS_rt_sigprocmask, SIG_BLOCK, &cancel, NULL, sizeof(cancel));
	if (stack)
		made = clone(begin_in_copy, stack + UNSEEN_STACK,
			     CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD |
				     CLONE_SYSVSEM | CLONE_CHILD_CLEARTID,
			     a, NULL, NULL, &a->tid);
	while (made >= 0 && atomic_load(&a->tid))
		syscall(SYS_futex, &a->tid, FUTEX_WAIT, 1, NULL, NULL, 0);
	if (made >= 0)
		await_end(made);
	if (stack)
		munmap(stack, UNSEEN_STACK);
	errno = saved;
	sys_restore_signals(mask);
	return made < 0 ? -EAGAIN : 0;
}

int unseen_run(int (*fn)(void *), void *arg)
{
	struct unseen a = { .fn = fn, .arg = arg, .tid = 1 };
	int saved = errno;

	if (sys_confined)
		return -EPERM;
	if (run_task(&a))
		begin_task(&a);
	errno = saved;
	return a.result;
}

int unseen_only(int (*fn)(void *), void *arg)
{
	struct unseen a = { .fn = fn, .arg = arg, .tid = 1 };

	return sys_confined ? -EPERM : run_task(&a) ? -EAGAIN : a.result;
}

void unseen_never(void)
{
	atomic_store(&never, true);
}

struct reading {
	const char *path;
	char *buf;
	size_t size;
};

static int read_file(void *arg)
{
	struct reading *r = arg;

	return (int)sys_read_file(r->path, r->buf, r->size);
}

ssize_t unseen_read(const char *path, char *buf, size_t size)
{
	return unseen_run(read_file, &(struct reading){ path, buf, size });
}
