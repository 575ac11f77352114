/* SPDX-License-Identifier: Apache-2.0 */
/* Copies for the client of the records that it asked for, in buffers of its own. */
#include "agent/cupti/client/copies.h"
#include "agent/cupti/client/calls.h"
#include "agent/cupti/client/translate.h"
#include "agent/cupti/client/wants.h"
#include "agent/cupti/flow/buffers.h"
#include "agent/cupti/flow/consumer.h"
#include "agent/cupti/flow/round.h"
#include "agent/cupti/lib/kinds.h"
#include "agent/cupti/lib/layout.h"

#include <stdlib.h>
#include <string.h>

/*
 * CUPTI fills our buffers only. When one is completed, the records that the client asked
 * for are copied into a buffer that the client gives, by its own callback; that one is
 * handed over when it is full or the client flushes, never because we flush: a client
 * that counts its buffers sees as many as without us. Buffers that CUPTI had when the
 * client flushed are handed over when they come back.
 */
#define SLOTS 8u /* buffers of the client's that we hold; one for each busy thread */
#define AHEAD 64 /* records in which the call of an external id is looked for */

struct client client = { .pthreads = true };

enum { SLOT_FREE, SLOT_BUSY, SLOT_IDLE };
struct slot {
	_Atomic uint32_t state;
	uint8_t *mem; /* NULL: none yet */
	size_t size, used;
	size_t most, records; /* most 0: as many as fit */
};

static struct {
	struct slot slot[SLOTS];
	_Atomic uint64_t late; /* records of buffers up to this turn are due */
	_Atomic bool ended; /* the process ends: the client may be gone already */
	_Atomic uint32_t asking; /* ... unless it is flushing: how many threads are */
} tee;

/* What is handed on with the client's buffers, and how its copies are made. */
struct copy {
	void *context;
	uint32_t stream;
	struct slot *slot;
	struct translate_clocks clocks;
	const uint8_t *end; /* of the buffer that is read */
	bool theirs; /* the buffer is the client's: filled where it lies */
	bool refused; /* the client has no buffer for us */
};

static __thread bool inside __attribute__((tls_model("initial-exec")));

/* ---- the client's buffers ---- */

static struct slot *slot_take(void)
{
	for (uint32_t from = SLOT_IDLE;; from = SLOT_FREE) {
		for (unsigned i = 0; i < SLOTS; i++) {
			uint32_t seen = from;

			if (atomic_compare_exchange_strong(&tee.slot[i].state, &seen,
							   SLOT_BUSY))
				return &tee.slot[i];
		}
		if (from == SLOT_FREE)
			return NULL;
	}
}

static void slot_put(struct slot *s)
{
	atomic_store(&s->state, s->mem ? SLOT_IDLE : SLOT_FREE);
}

static void hand_over(struct slot *s, void *context, uint32_t stream)
{
	cupti_completed completed = atomic_load(&client.completed);
	uint8_t *mem = s->mem;

	s->mem = NULL;
	if (mem && completed)
		completed(context, stream, mem, s->size, s->used);
}

/* Asks for a buffer as CUPTI does; a buffer that is no good counts as none. */
static bool fetch_buffer(struct slot *s)
{
	cupti_requested requested = atomic_load(&client.requested);
	uint8_t *mem = NULL;
	size_t size = 0, most = 0;

	if (requested)
		requested(&mem, &size, &most);
	if (!mem || size < 8 || (uintptr_t)mem % 8)
		return false;
	s->mem = mem;
	s->size = size;
	s->most = most;
	s->used = s->records = 0;
	return true;
}

/* Registered after the client has made what its callbacks use, so that it runs before
 * that goes. */
void copies_end(void)
{
	atomic_store(&tee.ended, true);
}

void copies_offer(void)
{
	static _Atomic bool once;
	struct slot *s;

	if (!atomic_exchange(&once, true))
		atexit(copies_end);
	consumer_start(); /* it puts our buffers back, also while no window is near */
	for (unsigned i = 0; i < SLOTS; i++)
		if (atomic_load(&tee.slot[i].state) == SLOT_IDLE)
			return;
	s = slot_take();
	if (!s)
		return;
	if (!s->mem)
		fetch_buffer(s);
	slot_put(s);
}

void copies_asking(bool on)
{
	atomic_fetch_add(&tee.asking, on ? 1 : (uint32_t)-1);
}

void copies_deliver(void)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		struct slot *s = &tee.slot[i];
		uint32_t idle = SLOT_IDLE;

		if (!atomic_compare_exchange_strong(&s->state, &idle, SLOT_BUSY))
			continue;
		hand_over(s, NULL, 0);
		slot_put(s);
	}
}

void copies_late(uint64_t turn)
{
	atomic_store(&tee.late, turn);
}

/* ---- one record ---- */

/* A record's bytes; 0: neither the library nor the walk over the buffer tells them. */
static size_t length_of(const uint8_t *record, const uint8_t *next, const uint8_t *end)
{
	uint32_t kind = (uint32_t)layout_read(record, 4);
	size_t size = kind < KIND_MOST ? layout_stride[kind] : 0;

	if (!size)
		size = (size_t)((next ? next : end) - record);
	return size <= (size_t)(end - record) ? size : 0;
}

/* Clears fields that are filled because we asked for them, not the client. */
static void blank_fields(uint8_t *record, size_t size)
{
	uint32_t kind = (uint32_t)layout_read(record, 4);

	if (kind == KIND_CONCURRENT_KERNEL && !atomic_load(&client.latency))
		memset(record + LAYOUT_AT_CONCURRENT_KERNEL_queued, 0, 16);
	if (kind == KIND_CUDA_EVENT && !atomic_load(&client.event_times) &&
	    size >= LAYOUT_AT_CUDA_EVENT_deviceTimestamp + 8)
		memset(record + LAYOUT_AT_CUDA_EVENT_deviceTimestamp, 0, 8);
}

/* The client frees the name of a device: then it is no longer ours to read. */
static void clear_device_name(uint8_t *record)
{
	if (layout_read(record, 4) == KIND_DEVICE)
		memset(record + LAYOUT_AT_DEVICE_name, 0, 8);
}

static void append_copy(struct copy *c, const uint8_t *record, size_t size)
{
	struct slot *s = c->slot;
	uint8_t *at;

	if (s->mem && (s->used + size > s->size || (s->most && s->records >= s->most)))
		hand_over(s, c->context, c->stream);
	if (!s->mem && !c->refused)
		c->refused = !fetch_buffer(s);
	if (!s->mem || s->used + size > s->size) {
		atomic_fetch_add(&client.dropped, 1);
		return;
	}
	at = s->mem + s->used;
	memmove(at, record, size);
	blank_fields(at, size);
	translate_record(at, size, &c->clocks, atomic_load(&client.pthreads));
	s->used += size;
	s->records++;
}

static uint8_t *next_record(const struct copy *c, const uint8_t *begin,
			    const uint8_t *from)
{
	void *record = (void *)from;

	if (cupti.ActivityGetNextRecord((uint8_t *)begin, (size_t)(c->end - begin),
					&record))
		return NULL;
	return record;
}

/* What our own thread asks of CUDA is nobody else's. */
static bool is_our_own(const uint8_t *record)
{
	uint32_t tid = round_thread();

	return tid && api_is_call((uint32_t)layout_read(record, 4)) &&
	       LAYOUT_GET(record, RUNTIME, threadId) == tid;
}

/* An external id goes with the call behind it: is that call for the client? */
static bool call_is_wanted(const struct copy *c, const uint8_t *begin,
			   const uint8_t *external)
{
	uint32_t id = (uint32_t)LAYOUT_GET(external, EXTERNAL_CORRELATION, correlationId);
	const uint8_t *r = external;

	for (int i = 0; i < AHEAD && (r = next_record(c, begin, r)); i++) {
		if (api_is_call((uint32_t)layout_read(r, 4)) &&
		    LAYOUT_GET(r, RUNTIME, correlationId) == id)
			return wants_wanted(r);
	}
	return true; /* the call lies in another buffer */
}

static void copy_records(struct copy *c, uint8_t *begin)
{
	uint8_t *r, *next;
	size_t size;

	for (r = next_record(c, begin, NULL); r; r = next_record(c, begin, r))
		wants_learn(r);
	for (r = next_record(c, begin, NULL); r; r = next) {
		next = next_record(c, begin, r);
		size = length_of(r, next, c->end);
		if (!size || !wants_wanted(r) || is_our_own(r))
			continue;
		if (layout_read(r, 4) == KIND_EXTERNAL_CORRELATION &&
		    !call_is_wanted(c, begin, r))
			continue;
		append_copy(c, r, size);
		if (!c->theirs)
			clear_device_name(r);
	}
}

/* ---- buffers that come back ---- */

/* A buffer of the client's that CUPTI still had when we came: its records are ours,
 * too, so they are put into buffers of our own, which then come back as usual. */
static void keep_ours(void *context, uint32_t stream, const uint8_t *buffer, size_t valid)
{
	const struct copy whole = { .end = buffer + valid };
	const uint8_t *r = next_record(&whole, buffer, NULL), *next;

	inside = true;
	while (r) {
		size_t size = 0, most, used = 0, length;
		uint8_t *mem = NULL;

		buffers_requested(&mem, &size, &most);
		for (; mem && r; r = next) {
			next = next_record(&whole, buffer, r);
			length = length_of(r, next, whole.end);
			if (used + length > size)
				break;
			memcpy(mem + used, r, length);
			used += length;
		}
		if (mem)
			buffers_completed(context, stream, mem, size, used);
		if (!used)
			break;
	}
	inside = false;
}

static void copy_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			size_t valid, bool theirs)
{
	struct copy c = { context, stream, slot_take(), .theirs = theirs,
			  .end = buffer + valid };

	if (!c.slot)
		return; /* more threads at once than slots: cannot be */
	translate_sample();
	translate_clocks(&c.clocks);
	if (theirs) {
		hand_over(c.slot, context, stream);
		*c.slot = (struct slot){ SLOT_BUSY, buffer, size };
	}
	copy_records(&c, buffer);
	if (theirs || buffers_turn_of(buffer) <= atomic_load(&tee.late))
		hand_over(c.slot, context, stream);
	slot_put(c.slot);
}

bool copies_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
		      size_t valid)
{
	bool theirs;

	if (inside || !atomic_load_explicit(&client.completed, memory_order_acquire))
		return false;
	theirs = !buffers_ours(buffer);
	if (atomic_load(&tee.ended) && !atomic_load(&tee.asking))
		return theirs;
	if (valid > size)
		valid = size;
	if (theirs && kinds_ours_on())
		keep_ours(context, stream, buffer, valid);
	copy_buffer(context, stream, buffer, size, valid, theirs);
	return theirs;
}

void copies_flushed(void)
{
	translate_sample();
}

/* ---- for the others ---- */

bool copies_callbacks(cupti_requested *requested, cupti_completed *completed)
{
	*requested = atomic_load(&client.requested);
	*completed = atomic_load(&client.completed);
	return *completed;
}

void copies_ready(void)
{
	wants_replay();
	if (wants_any())
		copies_offer();
}

uint64_t copies_dropped(uint64_t n)
{
	if (atomic_load(&client.completed))
		atomic_fetch_add(&client.dropped, n);
	return atomic_exchange(&client.dropped_ours, 0);
}

void copies_fork_child(void)
{
	memset((void *)&tee, 0, sizeof(tee));
	memset((void *)&client, 0, sizeof(client));
	atomic_store(&client.pthreads, true);
	wants_forget();
	translate_forget();
	real_fork_child();
}
