/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The word that says which window is open, on a page of its own. A thread stores that it
 * is writing and then looks at the word; the writer finds the word changed and then looks
 * at the threads. Both need a full fence in between, and membarrier(2), where the kernel
 * has it, makes the writer pay for both.
 */
#include "agent/core/gate.h"
#include "base/sys.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct gate closed;
struct gate *gate = &closed;
bool gate_fences = true;

static long call_membarrier(int cmd)
{
	int saved = errno;
	long r = syscall(SYS_membarrier, cmd, 0, 0);

	errno = saved;
	return r;
}

static int make_page(void)
{
	struct gate *page = sys_map(4096);
	int saved = errno;

	if (!page)
		return -ENOMEM;
	/* Before Linux 4.14 this fails: the atfork handler then closes the gate. */
	madvise(page, 4096, MADV_WIPEONFORK);
	errno = saved;
	gate = page;
	return 0;
}

/* A fork child keeps its parent's page, which the kernel has wiped. */
int gate_start(void)
{
	if (gate == &closed && make_page())
		return -ENOMEM;
	atomic_store(&gate->alive, 1);
	gate_fences = call_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0;
	return 0;
}

/* cycle_at goes first: a thread that sees the new number finds its descriptor. */
void gate_set(uint64_t cycle, uint64_t cycle_at)
{
	atomic_store_explicit(&gate->cycle_at, cycle_at, memory_order_relaxed);
	atomic_store_explicit(&gate->cycle, cycle, memory_order_seq_cst);
}

void gate_barrier(void)
{
	if (gate_fences)
		atomic_thread_fence(memory_order_seq_cst);
	else
		call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}
