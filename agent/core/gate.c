/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/gate.h"
#include "agent/core/sys.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct gate closed;
struct gate *gate = &closed;
bool gate_fences = true;

static long membarrier(int cmd)
{
	int saved = errno;
	long r = syscall(SYS_membarrier, cmd, 0, 0);

	errno = saved;
	return r;
}

int gate_start(void)
{
	struct gate *page = sys_map(4096);
	int saved = errno;

	if (!page)
		return -ENOMEM;
	/* Fails before Linux 4.14: the atfork handler then closes the gate. */
	madvise(page, 4096, MADV_WIPEONFORK);
	errno = saved;
	atomic_store(&page->alive, 1);
	gate = page;
	if (!membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
		gate_fences = false;
	return 0;
}

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
		membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}
