/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout - where the fields of CUPTI's records lie, in the library that is in use.
 *
 * Threads  layout_start: one, before anybody reads; then read-only.
 * Memory   static; records are the caller's and need not be aligned.
 * Errors   a stride of 0: this library has no such kind, or did not tell.
 * Units    bytes.
 *
 * A field never moves: one table of (offset, width) serves every release, and a field
 * is there when the record reaches behind it. How long a record is, the library says.
 */
#ifndef CUPTI_LIB_LAYOUT_H
#define CUPTI_LIB_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* KIND_KERNEL serialises kernels, and is never enabled by us; KIND_MEMCPY2 is copies
 * between devices. */
#define RELEASE(release, version)
#define STRIDES(kind, KIND, ...) \
	KIND_##KIND              \
	= (kind),
#define FIELD(KIND, name, offset, bytes)
enum layout_kind {
#include "agent/cupti/lib/layouts.def"
	KIND_MOST = 64
};
#undef STRIDES
#undef FIELD

extern uint16_t layout_stride[KIND_MOST]; /* of a record, by kind */

/* Asks the library (cuptiActivityGetNextRecord); where it does not answer, the table
 * for `version` serves. `major` is the library's own. True: it answered. */
bool layout_start(uint32_t version, int major);

#define STRIDES(kind, KIND, ...)
#define FIELD(KIND, name, offset, bytes)          \
	LAYOUT_AT_##KIND                          \
	##_##name = (offset), LAYOUT_WIDTH_##KIND \
	##_##name = (bytes),
enum layout_field {
#include "agent/cupti/lib/layouts.def"
};
#undef RELEASE
#undef STRIDES
#undef FIELD

/* With a constant width this is one load. */
static inline uint64_t layout_read(const uint8_t *at, unsigned width)
{
	uint64_t value = 0;

	memcpy(&value, at, width < sizeof(value) ? width : sizeof(value));
	return value;
}

/* A field that every release from 11.7 on has. */
#define LAYOUT_GET(record, KIND, name) \
	layout_read((record) + LAYOUT_AT_##KIND##_##name, LAYOUT_WIDTH_##KIND##_##name)
#define LAYOUT_HAS(KIND, name)         \
	(layout_stride[KIND_##KIND] >= \
	 LAYOUT_AT_##KIND##_##name + LAYOUT_WIDTH_##KIND##_##name)
/* A newer field; 0 where it is not there. */
#define LAYOUT_MAY(record, KIND, name) \
	(LAYOUT_HAS(KIND, name) ? LAYOUT_GET(record, KIND, name) : 0)

#endif
