/* SPDX-License-Identifier: Apache-2.0 */
/*
 * windows - windows that wait for GPU work: since when, for how much, and when that ends.
 *
 * Threads  the consumer, but where said.
 * Memory   static.
 * Errors   NULL or false: there is no such window; what is missed is counted.
 * Units    ns of CUPTI's clock, but where said.
 */
#ifndef CUPTI_FLOW_WINDOWS_H
#define CUPTI_FLOW_WINDOWS_H

#include "agent/core/gpu_chunk.h"

#include <stdbool.h>
#include <stdint.h>

#define WINDOWS_MOST 256u
enum window_state { WINDOW_FREE, WINDOW_OPEN, WINDOW_SEALED, WINDOW_OVER };
struct window {
	enum window_state state;
	bool thrown; /* nobody wants it any more: nothing of it is missed */
	uint32_t number; /* our own count, from 1; its low bits are the slot */
	struct cycle_info *info; /* NULL once it is over */
	struct side side;
	uint64_t begin, end; /* ns; end UINT64_MAX while open */
	uint64_t gap_end; /* ns: of the last gap that was counted */
	uint64_t launched, matched; /* calls that launch, and those with GPU work */
	bool called; /* calls were seen in it: */
	uint32_t first_call, last_call; /* their correlation ids */
	uint64_t turn; /* buffers_turn at the seal */
	unsigned flushes; /* since the seal */
	bool flushing; /* a flush is under way that began after the seal */
	int64_t sealed_at, news_at; /* CLOCK_MONOTONIC ns */
};
extern int64_t windows_now; /* CLOCK_MONOTONIC when the consumer last looked */

void windows_collect(void); /* takes what the scheduler has stored */
struct window *windows_at(uint64_t ns); /* open, sealed or over; NULL */
struct window *windows_get(uint32_t number); /* the same, by number */
/* A pending window with calls before and after the one of this correlation id; NULL. */
struct window *windows_around(uint32_t correlation);
unsigned windows_pending(bool *open); /* not yet over; is one open? */
bool windows_fresh(void); /* is one open, or sealed a moment ago? */
bool windows_overdue(void); /* will one soon be given up? */
bool windows_complete(void); /* all calls have their work, CUPTI holds nothing */
/* Settles windows that are complete or too old; `all`: all that are sealed. `waits`: does
 * work that ran in it wait for its call? */
void windows_settle(bool all, bool (*waits)(const struct window *w));
void windows_end(void); /* recording ends: all of them, also those that are open */
void windows_flush(void); /* a flush begins */
void windows_flushed(void); /* the flush is over, and all that came is decoded */
void windows_moment(void); /* takes a moment, into every pending one */
void windows_count(enum cuda_count what, uint64_t n); /* to the newest pending one */
void windows_late(const struct window *w);
void windows_gap(uint64_t from, uint64_t to); /* ns */
void windows_fork_child(void);

#endif
