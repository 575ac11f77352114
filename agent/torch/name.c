/* SPDX-License-Identifier: Apache-2.0 */
/* Names of operators: read at offsets once these are confirmed, and stored once, by the
 * address of the operator's schema. */
#include "agent/torch/name.h"
#include "agent/core/thread.h"

#include <string.h>

/* Until learn.c has confirmed the layout, and where it cannot, torch itself is asked. */
static bool layout_known(void)
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

	if (!layout_known())
		return by_accessor(rf);
	index = ((const uint8_t *)rf)[abi.index_at];
	if (index == NAME_SCHEMA)
		return name_string(field_pointer(rf, abi.variant_at));
	if (index == NAME_OWN)
		return name_string((const char *)rf + abi.variant_at);
	return by_accessor(rf);
}

/* name_check() loads 8 bytes from both ends, which a short text does not have. */
static uint64_t check_of(struct name_text s)
{
	uint64_t a = 0;

	if (s.len >= 8)
		return name_check(s);
	memcpy(&a, s.text, s.len);
	return a * 31 ^ (uint64_t)s.len << 56;
}

static uint32_t add_name(struct name_text s, struct name_text extra)
{
	uint32_t id = names_add(s.text, s.len, extra.text, extra.len);

	if (!id)
		thread_drop(REC_NONE, DROP_NAMES);
	return id;
}

/* A schema's address stands for its name while the text is what it was: a schema may be
 * freed, and another one made there. */
uint32_t name_id(struct name_cache *cache, const void *rf)
{
	struct name_text s = name_of(rf), overload = { "", 0 };
	struct name_known *k;
	const void *schema;
	uint64_t check;

	if (!layout_known() || ((const uint8_t *)rf)[abi.index_at] != NAME_SCHEMA)
		return add_name(s, overload);
	schema = field_pointer(rf, abi.variant_at);
	check = check_of(s);
	if (__builtin_expect(cache->epoch != names_epoch, 0)) {
		memset(cache, 0, sizeof(*cache));
		cache->epoch = names_epoch;
	}
	k = name_place(cache, schema);
	if (k->schema == schema && k->check == check)
		return k->id;
	if (abi.schema_overload_at)
		overload = name_string((const char *)schema + abi.schema_overload_at);
	k->id = add_name(s, overload);
	k->check = check;
	k->schema = k->id ? schema : NULL;
	return k->id;
}
