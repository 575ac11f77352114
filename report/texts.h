/* SPDX-License-Identifier: Apache-2.0 */
/*
 * texts - each text once, under a number.
 *
 * Threads  one at a time.
 * Memory   grows; texts_free frees all. A text stays where it is until then.
 * Errors   TEXT_NONE when there is not enough memory.
 * Units    bytes.
 */
#ifndef REPORT_TEXTS_H
#define REPORT_TEXTS_H

#include "base/array.h"

#include <string.h>

#define TEXT_NONE UINT32_MAX

struct texts {
	struct text_block *blocks;
	const char **text;
	uint32_t *slots, *hash, *len; /* len: the low 32 bits */
	size_t n, room, slots_n;
};

/* Returns the text's number, a new one at its first time. A NUL inside ends the text. */
uint32_t texts_add(struct texts *t, const char *text, size_t len);
/* Finds a text without adding it; TEXT_NONE = it is not there. */
uint32_t texts_find(const struct texts *t, const char *text);
/* "?" for TEXT_NONE, and for any number without a text. */
const char *texts_get(const struct texts *t, uint32_t id);
void texts_free(struct texts *t);

/* Does a name hold a word, in its first 4,096 bytes? A hostile one is longer. */
static inline bool text_has(const char *name, const char *word)
{
	return memmem(name, strnlen(name, 4096), word, strlen(word));
}

static inline bool text_starts_with(const char *text, const char *prefix)
{
	/* Most texts differ in the first byte: that takes no call. */
	return (!*prefix || *text == *prefix) && !strncmp(text, prefix, strlen(prefix));
}

#endif
