/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti - the GPU as CUPTI sees it: which copy of it, when, and for which window.
 *
 * Threads  cupti_opened, cupti_sealed: the holder of the scheduler's lock, stores only.
 *          The others: any thread; what takes time is done by the consumer thread, but
 *          cupti_injected and (when a window opens unannounced) cupti_opened's follow-up
 *          cupti_now, which enable kinds in the calling thread.
 * Memory   buffers of a pool that is never unmapped; records go to core/gpu_chunk.h.
 * Errors   one line why the GPU is not recorded, and how to fix it; never more.
 * Units    ticks.
 *
 * CUPTI is called only after a driver has answered: inside InitializeInjection, else
 * after a cuInit that returned 0 (cupti_driver_ready).
 */
#ifndef CUPTI_CUPTI_H
#define CUPTI_CUPTI_H

#include "agent/core/spool.h"
#include "config/config.h"

struct cupti_actions {
	bool (*begin)(void); /* makes the spool; false: nothing is recorded here */
	void (*used)(void); /* CUDA is in use: there is something to record */
	void (*settled)(void); /* a cycle's GPU work is all in: the writer may go on */
	void (*estimate)(bool on); /* CUPTI cannot be had (any more): hooks take over */
};

/* Constructor: sets CUDA_INJECTION64_PATH to `self` unless it is set already. `config` is
 * not copied. Nothing is opened. config.activities without cuda: does nothing, ever. */
void cupti_start(const struct config *config, const struct cupti_actions *actions,
		 const char *self);
/* InitializeInjection: the driver called us. Always 1: the program goes on. */
int cupti_injected(void);
/* A cuInit returned 0, or a CUDA call succeeded (second way in; hooks). */
void cupti_driver_ready(void);
bool cupti_active(void); /* CUPTI is ours and works */

/* A window is near: kinds on, by the consumer. Cheap. */
void cupti_near(void);
/* A window begins / ended. kept false: what was recorded is thrown away. */
void cupti_opened(struct cycle_info *info);
void cupti_sealed(struct cycle_info *info, bool kept);
/* After cupti_opened, without the scheduler's lock: kinds are on when it returns, but
 * where the consumer is switching them and CUPTI takes longer than 100 ms: then a gap is
 * counted. Does nothing while CUPTI is not started. */
void cupti_now(void);
/* Switched in a running program; on: as configured. */
void cupti_collect(bool on);

/* The process ends (exit, _exit): everything CUPTI still holds, at most 2 s, and the time
 * to read what came back. */
void cupti_exit(void);
bool cupti_met(void); /* this process met a driver, or a client of CUPTI's */
void cupti_fork_child(void);

/* Another CUPTI in this process is at work, or done: one that cannot be shared. */
void cupti_other(bool begins);

/* dlsym is asked for one of CUPTI's names of the second generation (by another profiler
 * that cannot be shared with): we step aside. */
void cupti_asked_for(const char *symbol);

#endif
