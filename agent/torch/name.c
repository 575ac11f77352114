/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/torch/name.h"
#include "agent/core/names.h"
#include "agent/core/thread.h"
#include "agent/torch/abi.h"

#include <string.h>

enum { OWN_STRING = 0, SCHEMA = 1 }; /* the variant's index */

static const void *word(const void *p, size_t at)
{
	const void *w;

	memcpy(&w, (const char *)p + at, sizeof(w));
	return w;
}

/* A std::string: pointer and length, or (old ABI) a pointer behind its length. */
static struct name_text string_at(const void *p)
{
	struct name_text s = { word(p, 0), 0 };

	if (abi.new_strings)
		s.len = (size_t)word(p, 8);
	else
		s.len = (size_t)word(s.text, 0 - (size_t)24);
	return s;
}

static bool known(void)
{
	return atomic_load_explicit(&abi.record, memory_order_relaxed) == ABI_GOOD;
}

static struct name_text by_accessor(const void *rf)
{
	struct name_text s = { abi.name(rf), 0 };

	if (!s.text)
		s.text = "";
	s.len = strlen(s.text);
	return s;
}

struct name_text name_of(const void *rf)
{
	uint8_t index;

	if (!known())
		return by_accessor(rf);
	index = ((const uint8_t *)rf)[abi.index_at];
	if (index == SCHEMA)
		return string_at(word(rf, abi.variant_at));
	if (index == OWN_STRING)
		return string_at((const char *)rf + abi.variant_at);
	return by_accessor(rf);
}

/* Length and both ends of the text. */
static uint64_t check_of(struct name_text s)
{
	uint64_t a = 0, b = 0;

	if (s.len >= 8) {
		memcpy(&a, s.text, 8);
		memcpy(&b, s.text + s.len - 8, 8);
	} else {
		memcpy(&a, s.text, s.len);
	}
	return (a * 31 + b) ^ (uint64_t)s.len << 56;
}

static uint32_t add(struct name_text s, struct name_text extra)
{
	uint32_t id = names_add(s.text, s.len, extra.text, extra.len);

	if (!id)
		thread_drop(REC_NONE, DROP_NAMES);
	return id;
}

uint32_t name_id(struct name_cache *cache, const void *rf)
{
	struct name_text s = name_of(rf), overload = { "", 0 };
	const void *schema;
	uint64_t check;
	size_t at;

	if (!known() || ((const uint8_t *)rf)[abi.index_at] != SCHEMA)
		return add(s, overload);
	schema = word(rf, abi.variant_at);
	check = check_of(s);
	if (__builtin_expect(cache->epoch != names_epoch, 0)) {
		memset(cache, 0, sizeof(*cache));
		cache->epoch = names_epoch;
	}
	at = ((uintptr_t)schema >> 4 ^ (uintptr_t)schema >> 14) & (NAME_CACHE - 1);
	if (cache->slot[at].schema == schema && cache->slot[at].check == check)
		return cache->slot[at].id;
	if (abi.schema_overload_at)
		overload = string_at((const char *)schema + abi.schema_overload_at);
	cache->slot[at].id = add(s, overload);
	cache->slot[at].check = check;
	cache->slot[at].schema = cache->slot[at].id ? schema : NULL;
	return cache->slot[at].id;
}
