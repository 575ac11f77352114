/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_quote - values in quotes, as lines of options have them.
 *
 * Threads  any.
 * Memory   the caller's.
 * Errors   none.
 * Units    bytes.
 */
#ifndef CONFIG_CONFIG_QUOTE_H
#define CONFIG_CONFIG_QUOTE_H

#include <stddef.h>

/* A value in quotes, if it would lose something without. Returns the length, like fmt. */
size_t config_quote(const char *value, size_t len, char *buf, size_t size);
/* Where the value begins that `s` is without blanks and quotes around it. */
const char *config_unquote(const char *s, size_t *len);

#endif
