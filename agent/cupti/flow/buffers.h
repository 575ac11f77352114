/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffers - memory for CUPTI's records: handed out, come back, read, used again.
 *
 * Threads  requested, completed: any, compare and swap alone; else as said.
 * Memory   one map of the whole cap, which is never unmapped.
 * Errors   NULL or false: there is no room.
 * Units    turns count requests.
 */
#ifndef CUPTI_FLOW_BUFFERS_H
#define CUPTI_FLOW_BUFFERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
	uint8_t *mem;
	size_t size, valid;
	_Atomic uint64_t turn; /* number of the request that got it */
	_Atomic uint32_t held; /* enum: by CUPTI, or not yet read */
	bool discard; /* of last resort: its records are counted only */
	struct buffer *next;
	_Atomic uint32_t next_free;
};
/* Sees each buffer that comes back before it is queued, on the thread that brings it.
 * True: the buffer is not of this pool, and nothing more is to be done with it. */
typedef bool (*buffers_before)(void *context, uint32_t stream, uint8_t *buffer,
			       size_t size, size_t valid);
/* `null_is_safe`: this CUPTI lives with being refused a buffer. `before` may be NULL.
 * Idempotent: the pool stays as it was first made. */
bool buffers_start(uint32_t mb, bool per_thread, bool null_is_safe,
		   buffers_before before);
/* CUPTI's two callbacks, on any thread. */
void buffers_requested(uint8_t **buffer, size_t *size, size_t *most);
void buffers_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
		       size_t valid);
extern void (*buffers_wake)(void); /* called when a buffer has come back */
bool buffers_ours(const uint8_t *mem); /* any thread */
uint64_t buffers_turn_of(const uint8_t *mem); /* of which request; 0: not ours */
/* The consumer: what has come back, oldest first; each to be given back cleared. */
struct buffer *buffers_take(void);
void buffers_give(struct buffer *b);
bool buffers_prepare(void); /* touches a buffer ahead of need; false: none is needed */
uint64_t buffers_turn(void); /* requests so far */
/* Does CUPTI hold records in a buffer that it asked for at or before `turn`, or has
 * one come back that is not yet read? */
bool buffers_held(uint64_t turn);
/* Requests that got NULL, less those that buffers_told was told of; any thread. */
uint64_t buffers_refused(void);
void buffers_told(uint64_t n); /* CUPTI has told what it dropped for want of these */
void buffers_fork_child(void);

#endif
