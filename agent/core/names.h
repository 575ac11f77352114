/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names - text to small number, append-only, in the spool. Hot path.
 *
 * Threads  any; lock-free.  Two threads may store the same text once each in a
 *          rare race: ids are equal-for-text only most of the time, so compare text.
 * Memory   text lies in CHUNK_NAMES chunks for the life of the process.
 * Errors   id 0 when the table is full: of operators DROP_NAMES counts it, of what the
 *          GPU did the writer (CUDA_UNNAMED).
 * Units    an id is the name's spool offset / 8.
 */
#ifndef CORE_NAMES_H
#define CORE_NAMES_H

#include "agent/core/spool_view.h"

#include <string.h>

struct name { /* as it lies in the spool, 8-byte aligned */
	uint16_t len; /* bytes of the name */
	uint16_t extra_len; /* bytes of the second text (an op's overload) after it */
	uint32_t hash;
	char text[]; /* name, NUL, extra, NUL, padding */
};

uint32_t names_add(const char *text, size_t len, const char *extra, size_t extra_len);
/* The same, and nothing is stored: 0 where it has no place in the index. */
uint32_t names_find(const char *text, size_t len);
void names_forget(void); /* after fork: the spool is another one */
extern uint32_t names_epoch; /* names_forget changes it: ids kept elsewhere are void */

/* Reader: the name behind an id, or NULL if it does not lie wholly inside the spool. */
const struct name *names_get(const struct spool_view *v, uint32_t id);

static inline bool name_starts_with(const struct name *n, const char *prefix)
{
	size_t len = strlen(prefix);

	return n->len >= len && !memcmp(n->text, prefix, len);
}

static inline bool name_is_same(const struct name *a, const struct name *b)
{
	return a->len == b->len && !memcmp(a->text, b->text, a->len);
}

#endif
