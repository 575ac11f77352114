/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room for environments that do not fit on the stack.
 *
 * A vfork child has its parent's memory, and when its exec succeeds nobody is left to
 * give the room back.  So the kernel does it, as it does for a thread's id: it clears the
 * word that set_tid_address names when the child leaves the memory that it shares.  Rooms
 * are never unmapped: there are as many as were once in use together.
 */
#include "agent/core/self.h"
#include "agent/hooks/exec.h"
#include "base/sys.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LEAST 16384 /* bytes */

struct copy {
	struct copy *next;
	size_t size; /* with this */
	_Atomic uint32_t user; /* 0: free */
	bool watched; /* the kernel clears `user`, and cleared this before: */
	void *cleared;
};

static struct copy *_Atomic copies;

static struct copy *find_free(size_t size)
{
	for (struct copy *c = atomic_load(&copies); c; c = c->next) {
		uint32_t free = 0;

		if (c->size >= size && atomic_compare_exchange_strong(&c->user, &free, 1))
			return c;
	}
	return NULL;
}

static struct copy *map_copy(size_t least)
{
	size_t size = LEAST;
	struct copy *c;

	while (size < least)
		size *= 2;
	c = sys_map(size);
	if (!c)
		return NULL;
	c->size = size;
	c->user = 1;
	c->next = atomic_load(&copies);
	while (!atomic_compare_exchange_weak(&copies, &c->next, c))
		;
	return c;
}

/* The kernel clears a word of the child's as that execs or ends: for the time of the call
 * it clears c->user, so that the copy is free then. Where the kernel does not tell which
 * word it would clear, that word stays: it could not be put back. */
static void free_at_child_exit(struct copy *c)
{
	int saved = errno;

	c->watched =
		self.pid != sys_pid() && !prctl(PR_GET_TID_ADDRESS, &c->cleared, 0, 0, 0);
	if (c->watched)
		syscall(SYS_set_tid_address, &c->user);
	errno = saved;
}

void *exec_copy_take(size_t size)
{
	struct copy *c = find_free(size + sizeof(*c));

	if (!c)
		c = map_copy(size + sizeof(*c));
	if (!c)
		return NULL;
	free_at_child_exit(c);
	return c + 1;
}

void exec_copy_give(void *room)
{
	struct copy *c = (struct copy *)room - 1;
	int saved = errno;

	if (c->watched)
		syscall(SYS_set_tid_address, c->cleared);
	errno = saved;
	atomic_store(&c->user, 0);
}
