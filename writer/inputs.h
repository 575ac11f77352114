/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inputs - an operator's arguments (record.h) in torch's spelling.
 *
 * Threads  one at a time.
 * Memory   1.5 MiB for a cache, as the same arguments come again and again; 1 MiB of
 *          text.
 * Errors   a description that breaks off, or nests deeper than torch does, gives
 *          nothing at all.
 * Units    bytes.
 */
#ifndef WRITER_INPUTS_H
#define WRITER_INPUTS_H

#include "writer/json.h"

struct inputs;

struct inputs *inputs_new(void); /* NULL: no memory */
void inputs_free(struct inputs *in);
/* Writes `"Concrete Inputs": ..., "Input type": ..., "Input Strides": ...,
 * "Input Dims": ..., ` or nothing for an empty or a broken description. */
void inputs_write(struct inputs *in, struct json *j, const uint8_t *blob, size_t len);

#endif
