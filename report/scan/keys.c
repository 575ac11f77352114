/* SPDX-License-Identifier: Apache-2.0 */
/* Keys are told apart by their lengths and ends first: few have the same. */
#include "report/scan/keys.h"

#include <string.h>

static const struct {
	const char *text;
	size_t len;
} names[KEYS] = {
#define ARG(json, c) { json, sizeof(json) - 1 },
	EVENT_ARGS(ARG) KEYS_ODD(ARG)
#undef ARG
};

/* Most keys that nobody wants have an empty slot. */
static unsigned slot_of(const char *text, size_t len)
{
	unsigned first = (unsigned char)text[0], last = (unsigned char)text[len - 1];

	return ((unsigned)len * 37 + first * 5 + last * 11) % KEYS_SLOTS;
}

void keys_make(struct keys *k)
{
	memset(k, 0, sizeof(*k));
	for (unsigned i = 0; i < KEYS; i++) {
		uint8_t *slot = &k->slot[slot_of(names[i].text, names[i].len)];

		k->next[i] = *slot;
		*slot = (uint8_t)(i + 1);
	}
}

enum key keys_find(const struct keys *k, const char *text, size_t len)
{
	unsigned i = len ? k->slot[slot_of(text, len)] : 0;

	for (; i; i = k->next[i - 1])
		if (names[i - 1].len == len && !memcmp(names[i - 1].text, text, len))
			return (enum key)(i - 1);
	return KEY_OTHER;
}
