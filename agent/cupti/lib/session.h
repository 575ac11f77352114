/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session - whether CUPTI is ours, which one it is, and since when it was not.
 *
 * Threads  any.
 * Memory   one structure; `config` and texts that others keep.
 * Errors   CUPTI results (api.h) as int, 0 = fine.
 * Units    ns since the epoch.
 */
#ifndef CUPTI_LIB_SESSION_H
#define CUPTI_LIB_SESSION_H

#include "agent/cupti/cupti.h"
#include "agent/cupti/lib/api.h"
#include "agent/cupti/lib/find.h"
#include "config/deny.h"

enum session_state {
	SESSION_NONE, /* no driver has answered yet */
	SESSION_STARTING,
	SESSION_READY, /* ours */
	SESSION_LEAVING, /* stepping aside: what CUPTI holds of ours still comes back */
	SESSION_ASIDE, /* in another profiler's hands: a gap */
	SESSION_DEAD, /* cannot be had: said why */
};
struct session {
	_Atomic uint32_t state; /* enum session_state */
	_Atomic bool met; /* a driver, or a client of CUPTI's, in this process */
	const struct config *config; /* session_config; NULL = not started */
	struct cupti_actions act;
	_Atomic bool other; /* another CUPTI is at work (cupti_other) */
	bool wanted; /* config.activities has cuda */
	_Atomic bool
		refused; /* kinds could not be switched on: what CUPTI gives is dropped */
	_Atomic bool missing; /* a window opened before kinds were on, which still
			       * are not: a gap lasts */
	_Atomic bool nodes; /* whole graphs were wanted, a client had their nodes */
	bool late; /* found CUDA already at work */
	bool per_thread; /* CUPTI fills a buffer for each thread */
	uint32_t version; /* cuptiGetVersion */
	uint32_t driver; /* cuDriverGetVersion, 0 = not known */
	_Atomic uint64_t kinds; /* what we ask for, as bits (kinds_for_ours) */
	unsigned deny; /* enum deny */
	const char *denied; /* the sentence, NULL = nothing is known against it */
	const char *foreign; /* another tool's CUDA_INJECTION64_PATH */
	void *subscriber;
	const char *strides; /* "probed" or "table" */
	char why[384]; /* why the GPU is not recorded */
	struct found found; /* which CUPTI */
};
extern struct session session;
const struct config *session_config(void); /* never NULL */
/* CUPTI is not ours (any more), and all that it had of us has come back. */
bool session_gone(void);
/* Nothing is recorded since `ago` ns: another profiler has CUPTI, or CUPTI is slow to
 * start. */
void session_gap_begins(int64_t ago);
void session_gap_ends(void); /* the GPU is recorded again from now on */
/* Gives a gap that ended, once; `last`: also one that still lasts, so far. The
 * consumer. */
bool session_gap(bool last, uint64_t *from, uint64_t *to);
/* cuptiActivityFlushAll, one at a time. Not from a callback of CUPTI's. */
int session_flush(uint32_t flag);
void session_fork_child(void);

#endif
