/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retreat - stepping aside for a profiler that needs CUPTI for itself, and until when.
 *
 * Threads  any; of several that step aside at once, one does it.
 * Memory   static; `who` is read before the call returns.
 * Errors   false: CUPTI was not ours.
 * Units    turns of buffers.h.
 */
#ifndef CUPTI_CLIENT_RETREAT_H
#define CUPTI_CLIENT_RETREAT_H

#include <stdbool.h>
#include <stdint.h>

/* Another CUPTI is at work: kinds off, subscriber given back, a gap begins. `who`
 * stands in the line that says so. */
bool retreat_step(const char *who);
/* The same for a client of the CUPTI that we use. What it has on stays on, and its
 * callbacks are CUPTI's from here on; a subscription that served both becomes its own. */
void retreat_for_client(const char *who);
/* The same for a client that speaks the _v2 functions; also keeps us away for 2 s, in
 * which it calls the function that it asked for. */
void retreat_second_interface(void);
/* Does CUPTI hold records in buffers of up to that turn? Waits for 5 ms at most: the
 * consumer soon reads what has come back. */
bool retreat_still_out(uint64_t turn);
/* What we subscribed is given back, unless the client was first and still needs it. */
void retreat_unsubscribe(void);

/* Counts one more, or one less, use of CUPTI by the client that cannot be shared. */
void retreat_block(bool on);
void retreat_keep(
	void); /* exactly one, whatever was counted: the client has ended CUPTI */
bool retreat_blocked(void); /* we cannot come back yet */

#endif
