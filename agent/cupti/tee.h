/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tee - the program's own profiler beside us, on the one CUPTI that there is.
 *
 * Threads  any: the client's calls come on its threads, buffers on CUPTI's. Buffers of
 *          the client are taken and put back by compare and swap; its callbacks are
 *          called without any lock of ours. Switching takes a lock for a few stores.
 * Memory   static; buffers are the client's own, from its own callback.
 * Errors   a record that finds no room is dropped and counted for the client.
 * Units    ns of CUPTI's clock; the client's ticks when it has a clock of its own.
 *
 * yield.c stands in front of the functions that a client calls and decides who gets
 * them; tee.c copies records; tee_when.c knows what was asked for at which time.
 */
#ifndef CUPTI_TEE_H
#define CUPTI_TEE_H

#include "agent/cupti/parts.h"

/* ---- for session.c and consumer.c ---- */

/* CUPTI has become ours (again): all that the client has on is switched on once more
 * through kinds_theirs. */
void tee_ready(void);
/* The client's buffer callbacks; false: it has none. */
bool tee_callbacks(cupti_requested *requested, cupti_completed *completed);
/* The client was the first to subscribe, through us: its handle serves both, and error
 * 39 means nobody else. NULL: it has not. */
void *tee_subscriber(void);
/* What CUPTI calls back on the subscriber that serves both. */
void tee_callback(int domain, uint32_t cbid, const void *data);
/* CUPTI told us that `n` records were dropped; returns what it told the client. */
uint64_t tee_dropped(uint64_t n);
/* The process ends: the client hears of nothing any more, but when it asks. */
void tee_end(void);
/* The client does what cannot be shared: we cannot come back yet. */
bool tee_blocks(void);

/* ---- tee_when.c: what the client asked for, and when ---- */

/* The client switches a kind at `ns`; a single API call of domain 1 or 2. */
void when_kind(uint32_t kind, bool on, uint64_t ns);
void when_call(int domain, uint32_t cbid, bool on, uint64_t ns);
bool when_on(uint32_t kind);
bool when_any(void); /* is anything on? */
/* Switches on what is on, and off what is off, once more, through kinds_theirs. */
void when_replay(void);
/* A record goes by: calls tell which correlation ids came before and after. */
void when_learn(const uint8_t *record);
/* Would the client have had this record without us? */
bool when_wanted(const uint8_t *record);
void when_forget(void);

/* ---- tee_shape.c: where in a record what differs for the client lies ---- */

struct shape {
	uint8_t kind;
	uint8_t correlation; /* offsets; 0 = none */
	uint8_t thread;
	uint8_t object; /* what it is about, if that is a thread */
	bool gpu; /* times are the GPU's: when it was asked for is told by its call */
	uint8_t time[5];
};
const struct shape *shape_of(uint32_t kind); /* NULL: nothing is known of it */

/* The client's clock: NULL = CUPTI's own. */
#define SHAPE_MOMENTS 64u
struct shape_clocks {
	struct shape_moment {
		uint64_t ns, theirs;
	} at[SHAPE_MOMENTS];
	unsigned n;
};
void shape_clock(uint64_t (*clock)(void));
void shape_sample(void); /* both clocks, now */
bool shape_clocks(struct shape_clocks *c); /* as known now; false: it has none */
/* As the client would see it: its clock, its kind of thread id. `record` is a copy. */
void shape_translate(uint8_t *record, size_t size, const struct shape_clocks *c,
		     bool pthreads);
void shape_forget(void);

/* ---- tee.c ---- */

struct client {
	_Atomic(cupti_requested) requested;
	_Atomic(cupti_completed) completed;
	_Atomic(cupti_callback) callback; /* as subscriber */
	void *callback_arg;
	void *handle; /* it was the first: its subscriber, on our callback */
	_Atomic bool pthreads; /* thread ids as pthread_self: CUPTI's default */
	_Atomic bool latency, event_times; /* it asked for these fields */
	_Atomic bool own_clock; /* CUPTI itself runs on the client's clock */
	_Atomic uint64_t dropped; /* it has not been told yet */
	_Atomic uint64_t dropped_ours; /* it was told, we were not */
};
extern struct client client;

void tee_offer(void); /* asks the client for its first buffer, as CUPTI does */
void tee_asking(bool on); /* the client flushes: it is there */
void tee_deliver(void); /* what is in its buffers goes to the client */
void tee_late(uint64_t turn); /* deliver at once what comes of buffers up to `turn` */

/* ---- yield_real.c ---- */

void yield_fork_child(void);

#endif
