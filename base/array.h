/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array - memory that grows by doubling; not for the agent, which allocates nothing.
 *
 * Threads  as the array's owner says.
 * Memory   realloc'ed; the owner frees it.
 * Errors   false when there is none: the array stays as it is.
 * Units    elements.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more of `each` bytes in the array at *array, which holds n. */
static inline bool grow_array(void *array, size_t *room, size_t n, size_t each)
{
	size_t want = *room ? 2 * *room : 64;
	void *at;

	if (n < *room)
		return true;
	memcpy(&at, array, sizeof(at));
	if (want > SIZE_MAX / 2 / each || !(at = realloc(at, want * each)))
		return false;
	memcpy(array, &at, sizeof(at));
	*room = want;
	return true;
}
#define GROW(array, room, n) grow_array(&(array), &(room), (n), sizeof(*(array)))

#endif
