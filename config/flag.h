/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flag - on and off, in each of their spellings.
 *
 * Threads  any.
 * Memory   the caller's.
 * Errors   false: it is neither.
 * Units    none.
 */
#ifndef CONFIG_FLAG_H
#define CONFIG_FLAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `len` bytes of v: 0 or 1 in *at. */
bool flag_read(uint32_t *at, const char *v, size_t len);

#endif
