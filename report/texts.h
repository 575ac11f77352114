/* SPDX-License-Identifier: Apache-2.0 */
/*
 * texts - each text once, under a number.  And how arrays grow.
 *
 * Threads  one at a time.
 * Memory   grows; texts_free frees all. A text stays where it is until then.
 * Errors   TEXT_NONE, or false, when there is not enough memory.
 * Units    bytes.
 */
#ifndef REPORT_TEXTS_H
#define REPORT_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_NONE UINT32_MAX

struct texts {
	struct text_block *blocks;
	const char **text;
	uint32_t *slots, *hash;
	size_t n, room, slots_n;
};

uint32_t texts_add(struct texts *t, const char *text, size_t len);
/* The same text again, without adding it; TEXT_NONE = not there. */
uint32_t texts_find(const struct texts *t, const char *text);
const char *texts_get(const struct texts *t, uint32_t id);
void texts_free(struct texts *t);

/* Room for one more of `each` bytes in an array that holds n; false: none. */
bool grow_array(void **array, size_t *room, size_t n, size_t each);
#define GROW(array, room, n) grow_array((void **)&(array), &(room), (n), sizeof(*(array)))

#endif
