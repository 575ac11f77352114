/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C library keeps the stacks that it makes for threads, and the blocks that belong to
 * them, and frees both later in whatever thread comes by: such a free would be seen as
 * the program's. With a stack of our own a thread frees what is its own at its own end.
 */
#include "base/own_thread.h"
#include "base/elf.h"
#include "base/fmt.h"
#include "base/guard.h"
#include "base/roomy.h"
#include "base/sys_call.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define STACK     (1024 * 1024)
#define LEAVES_IN 1000000000ll /* ns: no thread takes so long to end */
#define GUARD     (64 * 1024) /* a page of any size */
#define OWN_TABLE UINT32_MAX /* the table is there; other values are errors */

/* The kernel forgets a thread's number a moment before it counts the thread no more,
 * and holds the lock of all tasks in between. waitid takes that lock to look for ended
 * children, and so returns after the thread is uncounted; WNOWAIT leaves every child
 * where it is. */
bool own_thread_gone(uint32_t tid)
{
	if (SYS_CALL(SYS_tgkill, sys_pid(), tid, 0) != -ESRCH)
		return false;
	SYS_CALL(SYS_waitid, P_ALL, 0, NULL, WEXITED | WNOHANG | WNOWAIT, NULL);
	return true;
}

/* Long after its end another thread may have its number. */
static bool has_left(_Atomic uint32_t *who, int64_t ended)
{
	uint32_t tid = atomic_load(who);

	if (!tid)
		return true;
	if (own_thread_gone(tid)) {
		atomic_compare_exchange_strong(who, &tid, 0);
		return true;
	}
	return ended && sys_clock_ns(CLOCK_MONOTONIC) - ended > LEAVES_IN;
}

bool own_thread_left(struct own_thread *t)
{
	return has_left(&t->before, atomic_load(&t->before_ns)) &&
	       has_left(&t->last, atomic_load(&t->ended_ns));
}

__thread bool own_thread_mine __attribute__((tls_model("initial-exec")));
static _Atomic uint32_t count; /* threads of ours */
/* glibc's, from 2.32 on: it has one thread, and had no other. NULL = not known. */
static const _Atomic char *one_thread;

/* stat counts the tasks of a process in its task directory's links. */
static uint64_t count_tasks(void)
{
	struct sys_stat st;

	return sys_stat("/proc/self/task", &st) || st.links < 2 ? 0 : st.links - 2;
}

/* The first thread left by pthread_exit: it stays as a zombie, which has no memory and
 * so no program. */
static bool first_is_gone(void)
{
	char path[64], link[8];

	fmt(path, sizeof(path), "/proc/self/task/%u/exe", sys_pid());
	return sys_readlink(path, link, sizeof(link)) == -ENOENT;
}

/* Without /proc: the word that the kernel clears as the process's first thread ends. NULL
 * = not known. */
static const _Atomic uint32_t *first_tid;

/* By the first thread. */
static void find_first(void)
{
	const _Atomic uint32_t *at = NULL;

	if (SYS_CALL(SYS_prctl, PR_GET_TID_ADDRESS, &at))
		at = NULL;
	first_tid = at;
}

static bool first_lives(void)
{
	return first_tid && atomic_load(first_tid);
}

/* The first thread is among the tasks even when it has ended by pthread_exit: hence
 * the one more. */
bool own_thread_alone(void)
{
	uint64_t all = count_tasks(), ours = atomic_load(&count);

	if (!all)
		return !first_lives();
	return all <= ours || (all == ours + 1 && first_is_gone());
}

unsigned own_thread_others(void)
{
	uint64_t all = count_tasks(), ours = atomic_load(&count);

	if (!all && one_thread && atomic_load(one_thread))
		return 1;
	return all > ours ? (unsigned)(all - ours) : 2;
}

/* A program may have a copy of the variable, which the linker finds first: as glibc
 * 2.32 changes that one alone. */
void own_thread_look(void)
{
	if (count_tasks())
		return;
	one_thread = elf_data("__libc_single_threaded");
	find_first();
}

void own_thread_forget(void)
{
	atomic_store(&count, 0);
	if (first_tid)
		find_first();
}

/* A container's seccomp filter may refuse close_range, which is newer than the filter,
 * and unshare. */
static int make_table(struct own_thread *t)
{
	int err = t->files == OWN_THREAD_NONE ? 0 : sys_unshare_files();

	atomic_store(&t->table, err ? (uint32_t)-err : OWN_TABLE);
	sys_futex_wake(&t->table);
	return err;
}

static void *thread_main(void *arg)
{
	struct own_thread *t = arg;

	guard_word = GUARD_OURS;
	own_thread_mine = true;
	prctl(PR_SET_NAME, "proflaunch", 0, 0, 0);
	atomic_store(&t->last, sys_tid());
	if (!make_table(t))
		t->run(NULL);
	/* The last one that returns runs the program's handlers of exit. Without /proc
	 * nobody knows whether it is the last. */
	if (t->files == OWN_THREAD_NONE && count_tasks() && own_thread_alone())
		sys_restore_signals(t->mask);
	atomic_fetch_sub(&count, 1);
	atomic_store(&t->ended_ns, sys_clock_ns(CLOCK_MONOTONIC));
	return NULL;
}

/* The stack of the thread before, if the kernel says that it has left it. Else that
 * stack is lost: 1 MiB of addresses, of which few pages were touched, and rarely. */
static bool have_stack(struct own_thread *t)
{
	if (t->stack && has_left(&t->before, 0))
		return true;
	t->stack = sys_map(GUARD + STACK);
	return t->stack && !mprotect(t->stack, GUARD, PROT_NONE);
}

static int create_thread(struct own_thread *t, bool own_stack)
{
	pthread_attr_t attr;
	pthread_t id;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (own_stack)
		pthread_attr_setstack(&attr, t->stack + GUARD, STACK);
	err = pthread_create(&id, &attr, thread_main, t);
	pthread_attr_destroy(&attr);
	return err;
}

/* Two threads may be on their way out at once, and there is room to remember one: the
 * older one is waited for, 50 ms at most. */
static void replace_last(struct own_thread *t)
{
	for (unsigned i = 0; i < 1000 && atomic_load(&t->before) &&
			     !has_left(&t->before, atomic_load(&t->before_ns));
	     i++)
		sys_nap(50000);
	if (!has_left(&t->last, 0)) {
		atomic_store(&t->before, atomic_load(&t->last));
		atomic_store(&t->before_ns, atomic_load(&t->ended_ns));
	}
	atomic_store(&t->last, 0);
	atomic_store(&t->ended_ns, 0);
}

struct start {
	struct own_thread *t;
	int err;
};

static void start_thread(void *arg)
{
	struct start *s = arg;

	if (have_stack(s->t))
		s->err = create_thread(s->t, true);
	if (!s->err)
		return;
	/* E.g. the program has more thread-local data than the stack has room for. */
	if (s->t->stack)
		munmap(s->t->stack, GUARD + STACK);
	s->t->stack = NULL;
	s->err = create_thread(s->t, false);
}

/* Waits until the new thread has a descriptor table of its own, or has said why it has
 * none. */
static int wait_table(struct own_thread *t)
{
	uint32_t said;

	if (t->files == OWN_THREAD_NONE)
		return 0;
	while (!(said = atomic_load(&t->table)))
		sys_futex_wait(&t->table, 0, 100000000);
	return said == OWN_TABLE ? 0 : -(int)said;
}

int own_thread_start(struct own_thread *t, void *(*run)(void *))
{
	uintptr_t guard;
	struct start s = { t, EAGAIN };
	uint64_t mask;

	/* A filter may kill a process that makes a thread; where maps are locked in
	 * memory (mlockall) its stack would count against the program's limit. */
	if (sys_confined || sys_no_maps)
		return -EPERM;
	t->run = run;
	replace_last(t);
	atomic_store(&t->table, 0);
	guard = guard_enter();
	/* The thread is born with all signals blocked: none of the program's handlers
	 * runs in it. */
	sys_block_signals(&mask);
	t->mask = mask;
	atomic_fetch_add(&count, 1);
	roomy_call(start_thread, &s);
	if (s.err)
		atomic_fetch_sub(&count, 1);
	sys_restore_signals(mask);
	guard_leave(guard);
	return s.err ? -s.err : wait_table(t);
}
