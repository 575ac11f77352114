/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts - what the files of this folder share: they start, wire and stop the others.
 *
 * Threads  agent_begin: any, once; the others as the functions they are handed to.
 * Memory   static.
 * Errors   said in one line by the part that has them.
 * Units    none.
 */
#ifndef AGENT_PARTS_H
#define AGENT_PARTS_H

#include "agent/core/config.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { AGENT_FRESH, AGENT_STARTING, AGENT_READY, AGENT_ASIDE };

struct agent {
	struct config config;
	_Atomic uint32_t state; /* of what agent_begin makes */
	uint32_t pid; /* whose memory this is: a vfork child's is another */
	bool on; /* the constructor ran and found nothing against it */
};
extern struct agent agent;

/* begin.c: all that is needed before the first record. True when it is there. */
bool agent_begin(void);
void agent_ranks(void); /* rank and world size, once more */

/* gpu.c: CUPTI and the CUDA hooks. */
struct cycle_info;
void gpu_start(void);
void gpu_look(void); /* torch was found: is there a GPU for it? */
void gpu_opened(struct cycle_info *info);
void gpu_ended(struct cycle_info *info, bool kept);
void gpu_leave(void); /* the process ends, in whatever way */
void gpu_fork_child(void);
void gpu_symbol(const char *name); /* dlsym was asked for it */
void gpu_collect(bool on);
/* torch.profiler begins (cuda: it wants the GPU) or ends. */
void gpu_profile(bool cuda, bool begins);

/* heap.c: malloc's hooks. */
void agent_heap_start(void);
void agent_heap_main(void);
void agent_heap_symbol(const char *name); /* dlsym was asked for it */
void agent_heap_fact(void);
void agent_heap_fork_child(void); /* before the scheduler's */
void agent_heap_opened_now(void); /* and cupti_now */
void agent_heap_wants(void); /* writer_wanted, writer_wake, sched_tick, ... */
void agent_heap_wake(void);
int64_t agent_heap_tick(void); /* ... not seen by the hooks */

/* agent.c: PROFLAUNCH_CPU, PROFLAUNCH_CUDA. */
void agent_collect(unsigned what, bool on);

#endif
