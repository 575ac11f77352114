/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auto - which of torch's own events end a step, when the user names no marker.
 *
 * Threads  a struct auto_state belongs to one thread; pure.
 * Memory   the caller's; zeroed is the start.
 * Errors   none.
 * Units    now: any clock, as long as it is always the same one.
 */
#ifndef SCHED_AUTO_H
#define SCHED_AUTO_H

#include <stdbool.h>
#include <stdint.h>

#define AUTO_LEARN 3u /* boundaries after which a choice stands, but for an optimizer */
#define AUTO_HOLD \
	32u /* batches (or backwards) to wait for an optimizer known to be there */
#define AUTO_PATIENCE \
	4096u /* the same, where that can only be gradient accumulation, or no update */
#define AUTO_UPDATES \
	16u /* updates without a batch that say: the loader does not drive the loop */

enum auto_choice {
	AUTO_UNDECIDED,
	AUTO_BY_PROFILER, /* ProfilerStep# of the program's own torch.profiler */
	AUTO_BY_LOADER, /* DataLoader __next__ after an Optimizer.step */
	AUTO_BY_OPTIMIZER, /* the first Optimizer.step after a backward */
	AUTO_BY_BATCH, /* DataLoader __next__ alone */
	AUTO_BY_BACKWARD, /* bursts of backward */
	AUTO_CHOICES
};

enum auto_known { /* of the process */
		  AUTO_OPTIMIZER = 1, /* a step or zero_grad was seen in any thread, or an
					 optimizer was made */
		  AUTO_COMPILED = 2, /* torch.compile was called: on a step, perhaps */
};

enum auto_event {
	AUTO_PROFILER_STEP, /* ProfilerStep#N begins */
	AUTO_CLEAR, /* an optimizer's zero_grad begins */
	AUTO_NEXT, /* a DataLoader's __next__ begins */
	AUTO_UPDATE, /* an outermost Optimizer.step# has ended */
	AUTO_BACKWARD /* autograd's engine is entered */
};

struct auto_state {
	enum auto_choice choice;
	uint32_t boundaries; /* made since this state began to learn */
	uint32_t updates; /* optimizer steps since the last boundary */
	uint32_t waited; /* turns of a loop, as far as we know, that made no boundary */
	uint32_t between; /* batches, or backwards, between two zero_grads */
	bool loader; /* a DataLoader was seen */
	bool sure; /* waited for an optimizer in vain */
	bool backward_seen, backward_fresh;
	bool batch_backward; /* there was a backward since the first batch */
	bool clears, cleared; /* a zero_grad was seen; ... since the last turn */
	uint64_t last_backward, long_gap;
};

/*
 * Takes one event; true: it is a step boundary. `known`: enum auto_known.
 */
bool auto_take(struct auto_state *a, enum auto_event event, unsigned known, uint64_t now);
/* The choice in words, for the closing lines. */
const char *auto_text(enum auto_choice choice);

#endif
