/* SPDX-License-Identifier: Apache-2.0 */
/* Keys are told apart by their lengths first: few have the same. */
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

void keys_make(struct keys *k)
{
	uint8_t n = 0;

	for (size_t len = 0; len <= KEYS_LONGEST; len++) {
		k->from[len] = n;
		for (unsigned i = 0; i < KEYS; i++)
			if (names[i].len == len)
				k->key[n++] = (uint8_t)i;
	}
	k->from[KEYS_LONGEST + 1] = n;
}

enum key keys_find(const struct keys *k, const char *text, size_t len)
{
	if (len > KEYS_LONGEST)
		return KEY_OTHER;
	for (unsigned i = k->from[len]; i < k->from[len + 1]; i++)
		if (!memcmp(names[k->key[i]].text, text, len))
			return (enum key)k->key[i];
	return KEY_OTHER;
}
