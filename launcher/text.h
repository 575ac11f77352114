/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text - bytes that are appended to each other in memory.
 *
 * Threads  one for each text.
 * Memory   malloc; the caller frees `mem`.
 * Errors   false, and `failed` stays: nothing is appended any more.
 * Units    bytes.
 */
#ifndef LAUNCHER_TEXT_H
#define LAUNCHER_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
	char *mem;
	size_t n, room;
	bool failed; /* no memory */
};

bool text_put(struct text *t, const void *text, size_t len);

#endif
