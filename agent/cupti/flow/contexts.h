/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contexts - CUDA's contexts: CUPTI calls back when one begins and before one ends.
 *
 * Threads  any; the callbacks come on the program's threads.
 * Memory   static.
 * Errors   a CUPTI that tells of no context is no error: the first buffers stand in.
 * Units    none.
 */
#ifndef CUPTI_FLOW_CONTEXTS_H
#define CUPTI_FLOW_CONTEXTS_H

#include <stddef.h>
#include <stdint.h>

/* Before contexts_watch: `created` is called when a context begins, perhaps more often.
 */
void contexts_start(void (*created)(void));
/* Switches the callbacks on for session.subscriber, again after a client's switches. */
void contexts_watch(void);
/* What CUPTI calls back, for ours and what else is on. Before a context ends the callback
 * waits for a flush, at most 100 ms: what CUPTI holds of that context goes with it. */
void contexts_callback(int domain, uint32_t cbid, const void *data);
/* As buffers_requested, for CUPTI's use. */
void contexts_request(uint8_t **buffer, size_t *size, size_t *most);

#endif
