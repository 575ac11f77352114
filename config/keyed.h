/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keyed - "key = value\n", one for each key: options whose names are the user's.
 *
 * Threads  parsing: one at a time; filled lines are read-only.
 * Memory   CONFIG_METADATA bytes of the caller's.
 * Errors   NULL for fine, else why not.
 * Units    bytes.
 */
#ifndef CONFIG_KEYED_H
#define CONFIG_KEYED_H

#include <stdbool.h>
#include <stddef.h>

struct keyed_row {
	const char *key, *value; /* neither ends with a NUL */
	size_t key_len, value_len;
};

/* The row at *at, which moves behind it; false at the end. */
bool keyed_next(const char **at, struct keyed_row *row);
/* The key's row; false: there is none. */
bool keyed_find(const char *lines, const char *key, struct keyed_row *row);
/* Puts a row at the end, and takes the key's old one away. A key has neither blanks nor
 * '=' in it, and no blanks are around the value: they could not be read back. */
const char *keyed_set(char *lines, const char *key, const char *v, size_t len);
void keyed_drop(char *lines, const char *key);

#endif
