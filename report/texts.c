/* SPDX-License-Identifier: Apache-2.0 */
#include "report/texts.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK (256u << 10)

struct text_block {
	struct text_block *next;
	size_t used, size;
	char bytes[];
};

bool grow_array(void **array, size_t *room, size_t n, size_t each)
{
	size_t want = *room ? 2 * *room : 64;
	void *grown;

	if (n < *room)
		return true;
	if (want > SIZE_MAX / 2 / each || !(grown = realloc(*array, want * each)))
		return false;
	*array = grown;
	*room = want;
	return true;
}

static uint32_t hash_of(const char *text, size_t len)
{
	uint64_t h = len * 0x9e3779b97f4a7c15ull, word;

	for (; len >= 8; text += 8, len -= 8) {
		memcpy(&word, text, 8);
		h = (h ^ word) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, text, len);
	h = (h ^ word) * 0xff51afd7ed558ccdull;
	return (uint32_t)(h ^ h >> 32);
}

/* The slot of this text, or the empty one where it would go. */
static size_t slot_of(const struct texts *t, uint32_t hash, const char *text, size_t len)
{
	size_t at = hash & (t->slots_n - 1);

	for (; t->slots[at]; at = (at + 1) & (t->slots_n - 1)) {
		uint32_t id = t->slots[at] - 1;

		if (t->hash[id] == hash && !strncmp(t->text[id], text, len) &&
		    !t->text[id][len])
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

static const char *store(struct texts *t, const char *text, size_t len)
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

static bool more_texts(struct texts *t)
{
	size_t room = t->room;

	return GROW(t->text, room, t->n) && GROW(t->hash, t->room, t->n);
}

uint32_t texts_add(struct texts *t, const char *text, size_t len)
{
	const char *nul = memchr(text, '\0', len);
	const char *stored;
	uint32_t hash;
	size_t at;

	if (nul) /* "\u0000" in a name: what is behind it is not shown */
		len = (size_t)(nul - text);
	hash = hash_of(text, len);
	if (2 * (t->n + 1) > t->slots_n && !more_slots(t))
		return TEXT_NONE;
	at = slot_of(t, hash, text, len);
	if (t->slots[at])
		return t->slots[at] - 1;
	if (t->n >= TEXT_NONE - 1 || !more_texts(t) || !(stored = store(t, text, len)))
		return TEXT_NONE;
	t->text[t->n] = stored;
	t->hash[t->n] = hash;
	t->slots[at] = (uint32_t)++t->n;
	return (uint32_t)t->n - 1;
}

uint32_t texts_find(const struct texts *t, const char *text)
{
	size_t len = strlen(text);
	uint32_t found;

	if (!t->slots_n)
		return TEXT_NONE;
	found = t->slots[slot_of(t, hash_of(text, len), text, len)];
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
	*t = (struct texts){ 0 };
}
