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

#include "agent/core/names.h"
#include "agent/torch/abi.h"
#include "agent/torch/field.h"

#define NAME_CACHE 1024 /* a power of two */

struct name_cache {
	uint32_t epoch; /* names_epoch of the ids */
	struct name_known {
		const void *schema;
		uint64_t check; /* of the text: a schema may be freed and another one made
				   there */
		uint32_t id;
	} known[NAME_CACHE];
};

struct name_text {
	const char *text;
	size_t len;
};

struct name_text name_of(const void *rf);
uint32_t name_id(struct name_cache *cache, const void *rf);

enum {
	NAME_OWN = 0,
	NAME_SCHEMA = 1
}; /* what RecordFunction's std::variant
    * holds: a string, or the schema */

/* A std::string: pointer and length, or (old ABI) a pointer behind its length. */
static inline struct name_text name_string(const void *p)
{
	struct name_text s = { field_pointer(p, 0), 0 };

	if (__builtin_expect(abi.new_strings, 1))
		s.len = (size_t)field_word(p, 8);
	else
		s.len = (size_t)field_word(s.text, 0 - (size_t)24);
	return s;
}

/* Length and both ends of the text, which has 8 bytes or more. */
static inline uint64_t name_check(struct name_text s)
{
	uint64_t a, b;

	memcpy(&a, s.text, 8);
	memcpy(&b, s.text + s.len - 8, 8);
	return (a * 31 + b) ^ (uint64_t)s.len << 56;
}

static inline struct name_known *name_place(struct name_cache *cache, const void *schema)
{
	uintptr_t at = (uintptr_t)schema >> 4 ^ (uintptr_t)schema >> 14;

	return &cache->known[at & (NAME_CACHE - 1)];
}

/* What name_id would say, where that needs no more than a look into the cache; else 0. */
static inline uint32_t name_again(struct name_cache *cache, const void *rf)
{
	const struct name_known *known;
	const void *schema;
	struct name_text s;

	if (atomic_load_explicit(&abi.record, memory_order_relaxed) != ABI_GOOD ||
	    ((const uint8_t *)rf)[abi.index_at] != NAME_SCHEMA)
		return 0;
	schema = field_pointer(rf, abi.variant_at);
	known = name_place(cache, schema);
	s = name_string(schema);
	if (known->schema != schema || s.len < 8 || known->check != name_check(s) ||
	    cache->epoch != names_epoch)
		return 0;
	return known->id;
}

#endif
