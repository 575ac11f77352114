/* SPDX-License-Identifier: Apache-2.0 */
/* Texts in the spool, each once: an index by hash, private to the process, finds the id
 * of a text that is there already. */
#include "agent/core/names.h"
#include "base/hash.h"

#define TEXT_MOST 8192 /* longer names are cut */
#define SHARE     4 /* names may take cap / SHARE bytes */

static hash_index names;
static struct chunk_fill fill;

uint32_t names_epoch = 1;

/* What is looked for. */
struct wanted {
	const char *text, *extra;
	size_t len, extra_len;
	uint32_t hash;
};

static bool same_name(uint32_t id, const void *wanted)
{
	const struct name *n = (const struct name *)(spool.base + (uint64_t)id * 8);
	const struct wanted *w = wanted;

	return n->hash == w->hash && n->len == w->len && n->extra_len == w->extra_len &&
	       !memcmp(n->text, w->text, w->len) &&
	       (!w->extra_len || !memcmp(n->text + w->len + 1, w->extra, w->extra_len));
}

/* Plain stores: no thread knows the id before the index has it. */
static uint32_t store_name(const void *wanted)
{
	const struct wanted *w = wanted;
	uint32_t size =
		(uint32_t)((sizeof(struct name) + w->len + w->extra_len + 2 + 7) & ~7ull);
	uint64_t where = chunk_room(&fill, CHUNK_NAMES, size, SHARE);
	struct name *n;

	if (!where)
		return 0;
	n = (struct name *)(spool.base + where);
	memcpy(n->text, w->text, w->len);
	n->text[w->len] = '\0';
	if (w->extra_len)
		memcpy(n->text + w->len + 1, w->extra, w->extra_len);
	n->text[w->len + 1 + w->extra_len] = '\0';
	n->len = (uint16_t)w->len;
	n->extra_len = (uint16_t)w->extra_len;
	n->hash = w->hash;
	return (uint32_t)(where / 8);
}

static uint32_t store_nothing(const void *wanted)
{
	(void)wanted;
	return 0;
}

uint32_t names_find(const char *text, size_t len)
{
	struct wanted w = { .text = text, .len = len > TEXT_MOST ? TEXT_MOST : len };

	if (!spool.head)
		return 0;
	w.hash = (uint32_t)hash_bytes(text, w.len);
	return hash_intern(&names, w.hash, &w, same_name, store_nothing);
}

uint32_t names_add(const char *text, size_t len, const char *extra, size_t extra_len)
{
	struct wanted w = { .text = text, .extra = extra };

	if (!spool.head)
		return 0;
	w.len = len > TEXT_MOST ? TEXT_MOST : len;
	w.extra_len = extra_len > TEXT_MOST ? TEXT_MOST : extra_len;
	w.hash = (uint32_t)hash_bytes(text, w.len);
	if (w.extra_len)
		w.hash = w.hash * 31 + (uint32_t)hash_bytes(extra, w.extra_len);
	return hash_intern(&names, w.hash, &w, same_name, store_name);
}

void names_forget(void)
{
	hash_forget(&names);
	names_epoch++;
	atomic_store(&fill.chunk, 0);
	atomic_store(&fill.taken, 0);
}

/* All lengths are checked: the spool may be one that a crash has left half written. */
const struct name *names_get(const struct spool_view *v, uint32_t id)
{
	uint64_t where = (uint64_t)id * 8;
	const struct name *n;

	if (where < SPOOL_HEADER || where + sizeof(*n) > v->size)
		return NULL;
	n = (const struct name *)(v->base + where);
	if (n->len > TEXT_MOST || n->extra_len > TEXT_MOST ||
	    where + sizeof(*n) + n->len + n->extra_len + 2u > v->size)
		return NULL;
	return n;
}
