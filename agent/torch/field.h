/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field - a field of an object of torch's, by its offset.  Hot path.
 *
 * Threads  any.
 * Memory   none.
 * Errors   none: a caller that names an offset knows that it lies in the object.
 * Units    offsets in bytes.
 */
#ifndef TORCH_FIELD_H
#define TORCH_FIELD_H

#include <stdint.h>
#include <string.h>

/* By memcpy, as the object has another type than its 8 bytes here; one load. */
static inline uint64_t field_word(const void *object, size_t at)
{
	uint64_t word;

	memcpy(&word, (const uint8_t *)object + at, sizeof(word));
	return word;
}

static inline const void *field_pointer(const void *object, size_t at)
{
	return (const void *)(uintptr_t)field_word(object, at);
}

#endif
