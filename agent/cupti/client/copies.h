/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copies - the program's own profiler beside us, on the one CUPTI that there is.
 *
 * Threads  any: the client's calls come on its threads, buffers on CUPTI's. Buffers of
 *          the client are taken and put back by compare and swap; its callbacks are
 *          called without any lock of ours. Switching takes a lock for a few stores.
 * Memory   static; buffers are the client's own, from its own callback.
 * Errors   a record that finds no room is dropped and counted for the client.
 * Units    ns of CUPTI's clock; the client's ticks when it has a clock of its own.
 *
 * client/calls.c stands in front of the functions that a client calls and decides who
 * gets them; client/copies.c copies records; client/wants.c knows what was asked for at
 * which time.
 */
#ifndef CUPTI_CLIENT_COPIES_H
#define CUPTI_CLIENT_COPIES_H

#include "agent/cupti/lib/api.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- for the other folders ---- */

/*
 * In the completed callback (any thread of CUPTI's), before the buffer is queued: gives
 * the client a copy of what it asked for. True: the buffer was not ours but the
 * client's, and is served: nothing more is to be done.
 */
bool copies_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
		      size_t valid);
/* A flush of ours has returned: all that was complete went through copies_completed. */
void copies_flushed(void);
void copies_fork_child(void);

/* CUPTI has become ours (again): all that the client has on is switched on once more
 * through kinds_theirs. */
void copies_ready(void);
/* The client's buffer callbacks; false: it has none. */
bool copies_callbacks(cupti_requested *requested, cupti_completed *completed);
/* Hands on what CUPTI calls back on the subscriber that serves both. */
void client_callback(int domain, uint32_t cbid, const void *data);
/* CUPTI told us that `n` records were dropped; returns how many it told the client
 * alone. */
uint64_t copies_dropped(uint64_t n);
/* The process ends: from here on the client hears only what it asks for. */
void copies_end(void);

/* ---- client/copies.c ---- */

struct client {
	_Atomic(cupti_requested) requested;
	_Atomic(cupti_completed) completed;
	_Atomic(cupti_callback) callback; /* as subscriber */
	void *callback_arg;
	/* The client was the first to subscribe, through us: its handle serves both, with
	 * our callback, and CUPTI's error 39 (subscribed already) then means the client
	 * itself. NULL: it was not the first. */
	void *handle;
	_Atomic bool pthreads; /* thread ids as pthread_self: CUPTI's default */
	_Atomic bool latency, event_times; /* it asked for these fields */
	_Atomic bool own_clock; /* CUPTI itself runs on the client's clock */
	_Atomic uint64_t dropped; /* the client has not been told of these yet */
	_Atomic uint64_t dropped_ours; /* the client was told of these, we were not */
};
extern struct client client;

void copies_offer(void); /* asks the client for its first buffer, as CUPTI does */
void copies_asking(bool on); /* a flush of the client's begins, ends */
void copies_deliver(void); /* hands the client its buffers as they are */
void copies_late(uint64_t turn); /* deliver at once what comes of buffers up to `turn` */

#endif
