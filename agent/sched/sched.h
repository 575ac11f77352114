/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sched - where steps come from, and when windows open and close.
 *
 * Threads  all functions: any thread.  A boundary is made under one small lock;
 *          what it costs the program is a gate change.
 * Memory   static; cycle descriptors lie in the spool.
 * Errors   said once, in one line, by the file that meets them.
 * Units    none.
 */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

#include "agent/core/spool.h"
#include "config/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the scheduler causes in parts above it; agent.c fills it in. */
struct sched_actions {
	void (*observe)(bool on); /* operator callbacks on or off (torch) */
	void (*arm)(void); /* a window is near: the writer prepares memory */
	void (*sealed)(void); /* a cycle is ready for the writer */
	/* A window begins; a window has ended. Under the lock: stores only. */
	void (*opened)(struct cycle_info *info);
	void (*ended)(struct cycle_info *info, bool kept);
	void (*opened_now)(void); /* after `opened`, without the lock */
	void (*ending)(void); /* a window is about to end: last records go into it */
	bool (*begin)(void); /* makes spool, threads and writer; false: not there */
	/* symbol: marker (hooks). False: not there, ask again when a library came. */
	bool (*patch)(const char *symbol, void (*hit)(void));
	/* Why the function of Python's was never called, or NULL: it was, or this process
	 * has no Python. */
	const char *(*missing)(unsigned trigger);
};

/* Parses the plan and the marker; no window opens yet. Called by agent.c. */
void sched_start(const struct config *cfg, const struct sched_actions *actions);

/* libtorch was found: operators are watched until the first one, where step 0 may be
 * recorded; with time: and none step 0 begins here. */
void sched_torch_found(void);
/* main is about to run: a window for the whole run opens here, a symbol: marker is looked
 * for. */
void sched_main(bool records); /* records: there is something that needs no torch */
/* Is the run one window, as far as is known (none; auto, without torch)? */
bool sched_is_whole(void);
void sched_first_block(void); /* the heap's first block: begins what has not begun */
/* A library was mapped: a symbol: marker may be there now. */
void sched_library(void);

/* A user annotation begins. Returns a token for sched_end; 0 = of no interest. */
uint32_t sched_begin(const char *name, size_t len);
void sched_end(uint32_t token);
/* The same for operators; called only while sched_wants_ops (op-name markers). */
uint32_t sched_op_begin(const char *name, size_t len);
bool sched_wants_ops(void);
/* A CUDA call begins; kernel: the kernel that it launches, or NULL. Only while
 * sched_wants_calls. */
uint32_t sched_call_begin(const char *function, const char *kernel);
bool sched_wants_calls(void);
/* The dotted names of the function of Python's that is a marker, '|' between them, or
 * NULL; it is called; sched_end. */
#define SCHED_TRIGGERS 36 /* numbers of them, from 0 */
const char *sched_function(unsigned trigger);
uint32_t sched_function_begin(unsigned trigger);
bool sched_is_elsewhere(void); /* another thread has made the steps so far */
/* CUDA, or the heap, is recorded: without torch step 0 begins. */
void sched_used(void);
bool sched_begun(void); /* step 0 has begun */
/* Operators are recorded or not, from now on. */
void sched_collect(bool on);
/* libtorch logs an event of its API's use (c10::LogAPIUsage): `auto` waits for the steps
 * of an optimizer that was made, and not so long for those of one that may be compiled.
 */
void sched_usage(const char *event);
void sched_backward(void); /* autograd::Engine::execute is entered */
void sched_step(void); /* proflaunch_step() */

/* The observer compares *sched_follow with sched_followed at every event, before it
 * looks at the gate. They differ at a process's first event (step 0 begins, a window
 * may open), and when the ancestor that it follows opens or seals a window. */
extern _Atomic uint64_t *sched_follow; /* that ancestor's gate, or a constant 0 */
extern uint64_t sched_followed; /* its value when we last looked */
void sched_follow_changed(void);

/* atfork child (async-signal-safe: stores only). */
void sched_fork_child(void);
/* This thread is in the middle of a boundary, or of what begins step 0. */
bool sched_midway(void);
/* This process schedules nothing any more. Stores only. */
void sched_stay_out(void);
/* Normal exit: seals what is open. Does not wait. */
void sched_exit(void);
/* _exit: a follower's window is settled by stores alone; nothing is sealed. */
void sched_leave(void);
/* Tick of the keeper (about every 100 ms): time: markers and the 60 s rule. Returns ns
 * until the next tick is wanted. */
int64_t sched_tick(void);

#endif
