/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8 - characters as bytes.
 *
 * Threads  any.
 * Memory   none.
 * Errors   0: the bytes are no character.
 * Units    bytes.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>

/* Bytes of the well-formed UTF-8 character at `s` (of `len` > 0 bytes), or 0. */
size_t utf8_length(const unsigned char *s, size_t len);
/* Writes a character of at most four bytes; how many they are. */
size_t utf8_put(char *to, unsigned c);

#endif
