/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_calls - a buffer of records: walked, and what the CPU did decoded.
 *
 * Threads  the consumer.
 * Memory   none.
 * Errors   what cannot be read is counted in the newest window.
 * Units    bytes; records.
 */
#ifndef CUPTI_FLOW_DECODE_CALLS_H
#define CUPTI_FLOW_DECODE_CALLS_H

#include <stddef.h>
#include <stdint.h>

/* `consumer`: its thread id; its own calls are left out; 0 = none. */
void decode_buffer(const uint8_t *at, size_t valid, uint32_t consumer);
uint64_t decode_count(const uint8_t *at, size_t valid); /* records, unread */
extern uint64_t decode_records; /* decoded so far */

#endif
