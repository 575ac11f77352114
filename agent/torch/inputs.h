/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inputs - the arguments of an operator as the byte stream of record.h.  Hot path.
 *
 * Threads  any, inside the start callback only (inputs die right after it).
 * Memory   writes into the caller's room; keeps nothing.
 * Errors   NULL when the room does not suffice; the stream before it is void.
 * Units    bytes.
 */
#ifndef TORCH_INPUTS_H
#define TORCH_INPUTS_H

#include <stdint.h>

/* Encodes all inputs of `rf` at `to`, with IN_END padding to 8 bytes. Returns the
 * end of what was written, or NULL when `limit` is too near. */
uint8_t *inputs_put(uint8_t *to, const uint8_t *limit, const void *rf);

#endif
