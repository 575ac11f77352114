/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name - the name of a RecordFunction, as text and as an id.  Hot path.
 *
 * Threads  any, inside the start callback only.
 * Memory   a cache of schema pointers for each thread, given by the caller.
 * Errors   id 0 when the name table is full; counted.
 * Units    bytes.
 */
#ifndef TORCH_NAME_H
#define TORCH_NAME_H

#include <stddef.h>
#include <stdint.h>

#define NAME_CACHE 1024 /* a power of two */

struct name_cache {
	uint32_t epoch; /* names_epoch of the ids */
	struct {
		const void *schema;
		uint64_t check; /* of the text: a schema may be freed and another one made
				   there */
		uint32_t id;
	} slot[NAME_CACHE];
};

struct name_text {
	const char *text;
	size_t len;
};

struct name_text name_of(const void *rf);
uint32_t name_id(struct name_cache *cache, const void *rf);

#endif
