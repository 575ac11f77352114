/* SPDX-License-Identifier: Apache-2.0 */
/* Each text once: blocks that never move, and a table of hashes over them. */
#include "report/texts.h"
#include "base/hash.h"

#include <stdlib.h>

#define BLOCK (256u << 10)

struct text_block {
	struct text_block *next;
	size_t used, size;
	char bytes[];
};

/* The slot of this text, or the empty slot where it would go. */
static size_t slot_of(const struct texts *t, uint32_t hash, const char *text, size_t len)
{
	size_t at = hash & (t->slots_n - 1);

	for (; t->slots[at]; at = (at + 1) & (t->slots_n - 1)) {
		uint32_t id = t->slots[at] - 1;

		if (t->hash[id] == hash && t->len[id] == (uint32_t)len &&
		    !memcmp(t->text[id], text, len))
			break;
	}
	return at;
}

static bool more_slots(struct texts *t)
{
	size_t n = t->slots_n ? 2 * t->slots_n : 1024;
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return false;
	free(t->slots);
	t->slots = slots;
	t->slots_n = n;
	for (size_t id = 0; id < t->n; id++) {
		size_t at = t->hash[id] & (n - 1);

		while (slots[at])
			at = (at + 1) & (n - 1);
		slots[at] = (uint32_t)id + 1;
	}
	return true;
}

static const char *store_text(struct texts *t, const char *text, size_t len)
{
	struct text_block *b = t->blocks;
	char *to;

	if (!b || b->size - b->used <= len) {
		size_t size = len < BLOCK ? BLOCK : len + 1;

		b = malloc(sizeof(*b) + size);
		if (!b)
			return NULL;
		*b = (struct text_block){ .next = t->blocks, .size = size };
		t->blocks = b;
	}
	to = b->bytes + b->used;
	memcpy(to, text, len);
	to[len] = '\0';
	b->used += len + 1;
	return to;
}

/* The arrays grow together; `room` counts for the last. */
static bool more_texts(struct texts *t)
{
	size_t text = t->room, hash = t->room;

	return GROW(t->text, text, t->n) && GROW(t->hash, hash, t->n) &&
	       GROW(t->len, t->room, t->n);
}

uint32_t texts_add(struct texts *t, const char *text, size_t len)
{
	const char *nul = memchr(text, '\0', len);
	const char *stored;
	uint32_t hash;
	size_t at;

	if (nul) /* a "\u0000" in a name: the text behind it is not shown */
		len = (size_t)(nul - text);
	hash = (uint32_t)hash_bytes(text, len);
	if (2 * (t->n + 1) > t->slots_n && !more_slots(t))
		return TEXT_NONE;
	at = slot_of(t, hash, text, len);
	if (t->slots[at])
		return t->slots[at] - 1;
	if (t->n >= TEXT_NONE - 1 || !more_texts(t) ||
	    !(stored = store_text(t, text, len)))
		return TEXT_NONE;
	t->text[t->n] = stored;
	t->hash[t->n] = hash;
	t->len[t->n] = (uint32_t)len;
	t->slots[at] = (uint32_t)++t->n;
	return (uint32_t)t->n - 1;
}

uint32_t texts_find(const struct texts *t, const char *text)
{
	size_t len = strlen(text);
	uint32_t found;

	if (!t->slots_n)
		return TEXT_NONE;
	found = t->slots[slot_of(t, (uint32_t)hash_bytes(text, len), text, len)];
	return found ? found - 1 : TEXT_NONE;
}

const char *texts_get(const struct texts *t, uint32_t id)
{
	return id < t->n ? t->text[id] : "?";
}

void texts_free(struct texts *t)
{
	while (t->blocks) {
		struct text_block *next = t->blocks->next;

		free(t->blocks);
		t->blocks = next;
	}
	free(t->text);
	free(t->slots);
	free(t->hash);
	free(t->len);
	*t = (struct texts){ 0 };
}
