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
	_Atomic uint32_t state; /* AGENT_*: how far agent_begin has come */
	uint32_t pid; /* of the process whose memory this is; a vfork child has another */
	bool on; /* the constructor ran and found nothing against it */
	bool out; /* a fork child stays out: what was beginning goes no further */
	struct config config; /* last: most of it is never touched */
};
extern struct agent agent;

/*
 * begin.c: agent_place opens what has to be opened, in the constructor; agent_place_child
 * does so before fork returns in the child. False: this process stays out. agent_begin
 * makes all that the first record needs, and opens nothing; true when it is there.
 */
bool agent_place(void);
bool agent_place_child(void);
bool agent_begin(void);
bool agent_begins_here(void); /* is the calling thread in agent_begin? */
void agent_unrecorded(void); /* counts this process, for the job's closing words */
bool agent_launched(void); /* a launcher's finisher makes the files */

/* leave.c: the process ends, in whatever way: the spool keeps what is left. */
void agent_leave(void);

/* library.c: libtorch is looked for, and what waits for it begins: as main is about to
 * run, and by any thread of the program's that asks dlsym for `name`. */
void library_main(void);
void library_symbol(const char *name);

/* ranks.c: notes rank and world size again, as they are now. */
void agent_ranks(void);

/* facts.c */
void agent_facts(void); /* of torch; written after each window until they are settled */
void agent_facts_cpus(void); /* once, by the thread that ends a window */
void agent_facts_forget(void); /* a fork child has to find them again */

/* fork.c: members of struct hook_listener. */
void fork_prepare(void);
void fork_parent(void);
void fork_child(void);

/* midway.c: has a signal's handler interrupted this thread in the middle of something of
 * ours? */
bool agent_midway(void);

/* limits.c: members of struct hook_listener, all on threads of the program. */
void limits_alone(bool begins);
bool limits_confine(bool clock);
void limits_unconfine(void);
bool limits_lock(void);
bool limits_lock_less(void);
void limits_locked(bool ours, bool done, bool future);
void limits_limit(int resource, uint64_t bytes);
void limits_fork_child(void);
/* Stores only, where the kernel may be asked for nothing: the closed gate alone protects
 * the parent's records. */
void agent_stay_out(void);

/* wire_gpu.c: CUPTI and the CUDA hooks. */
struct cycle_info;
struct thread;
/* `begin` is agent_begin, here and below. */
void wire_gpu_start(bool (*begin)(void));
void wire_gpu_look(void); /* torch was found: has the machine a GPU for it? */
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
void agent_heap_fork_child(void); /* call it before sched_fork_child */
void agent_heap_off(void); /* the hooks record no more, for good */
void agent_heap_opened_now(void); /* a window has just opened: heap_mark and cupti_now */
void agent_heap_wants(void); /* writer_wanted, unseen by malloc's hooks; writer_wake: */
void agent_heap_wake(void);
int64_t agent_heap_tick(void); /* sched_tick, likewise unseen */
void agent_heap_sample(void); /* heap_tick, likewise unseen */

/* agent.c: PROFLAUNCH_CPU, PROFLAUNCH_CUDA. */
void agent_collect(unsigned what, bool on);

#endif
