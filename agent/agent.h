/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent - what the files of this folder share: they start, wire and stop the others.
 *
 * Threads  agent_begin: any, once; the others as the functions they are handed to.
 * Memory   static.
 * Errors   said in one line by the part that has them.
 * Units    none.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "config/config.h"

#include <stdbool.h>
#include <stdint.h>

enum { AGENT_FRESH, AGENT_STARTING, AGENT_READY, AGENT_ASIDE };

struct agent {
	_Atomic uint32_t state; /* of what agent_begin makes */
	uint32_t pid; /* whose memory this is: a vfork child's is another */
	bool on; /* the constructor ran and found nothing against it */
	bool out; /* a child that stays out: what was beginning goes no further */
	struct config config; /* last: most of it is never touched */
};
extern struct agent agent;

/*
 * begin.c: what has to be opened, in the constructor and before a fork returns in the
 * child; false: stay out of it. Then all that is needed before the first record, where
 * nothing is opened any more; true when it is there.
 */
bool agent_place(void);
bool agent_place_child(void);
bool agent_begin(void);
bool agent_begins_here(void); /* is the calling thread in the middle of that? */
void agent_unrecorded(void); /* counted where the job's closing words see it */
bool agent_launched(void); /* a launcher's finisher makes the files */

/* leave.c: the process ends, in whatever way: what is left lies in the spool. */
void agent_leave(void);

/* ranks.c: rank and world size, again as they are now. */
void agent_ranks(void);

/* facts.c */
void agent_facts(void); /* of torch; each time a window ended, until they are settled */
void agent_facts_forget(void); /* a fork child has to find them again */

/* fork.c: members of struct hook_listener. */
void fork_prepare(void);
void fork_parent(void);
void fork_child(void);

/* limits.c: members of struct hook_listener, all on threads of the program. */
void limits_alone(bool begins);
bool limits_confine(bool clock);
void limits_unconfine(void);
void limits_lock(bool begins, bool future);
void limits_limit(int resource, uint64_t bytes);
/* Nothing may be asked of the kernel: the gate alone protects what is a parent's. */
void agent_stay_out(void);

/* wire_gpu.c: CUPTI and the CUDA hooks. */
struct cycle_info;
/* `begin`: agent_begin, here and below. */
void wire_gpu_start(bool (*begin)(void));
void wire_gpu_look(void); /* torch was found: is there a GPU for it? */
void wire_gpu_opened(struct cycle_info *info);
void wire_gpu_ended(struct cycle_info *info, bool kept);
void wire_gpu_leave(void); /* the process ends, in whatever way */
void wire_gpu_fork_child(void);
void wire_gpu_symbol(const char *name); /* dlsym was asked for it */
void wire_gpu_collect(bool on);
/* torch.profiler begins (cuda: it wants the GPU) or ends. */
void wire_gpu_profile(bool cuda, bool begins);

/* wire_heap.c: malloc's hooks. */
void agent_heap_start(bool (*begin)(void));
void agent_heap_main(void);
void agent_heap_symbol(const char *name); /* dlsym was asked for it */
void agent_heap_fact(void);
void agent_heap_fork_child(void); /* before the scheduler's */
void agent_heap_off(void); /* for good */
void agent_heap_opened_now(void); /* and cupti_now */
void agent_heap_wants(void); /* writer_wanted, writer_wake, sched_tick, ... */
void agent_heap_wake(void);
int64_t agent_heap_tick(void); /* ... not seen by the hooks */
void agent_heap_sample(void); /* heap_tick, likewise */

/* agent.c: PROFLAUNCH_CPU, PROFLAUNCH_CUDA. */
void agent_collect(unsigned what, bool on);

#endif
