/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known - code objects whose ids a thread remembers, by their addresses.
 *
 * Threads  each for itself.  Hot path.
 * Memory   the owner's.
 * Errors   none: what is not known is stored again (codes.h).
 * Units    ids as codes.h has them.
 */
#ifndef PYTHON_KNOWN_H
#define PYTHON_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#define KNOWN_MOST 2048 /* a power of two */

struct known_code { /* of an older turn: nothing is known */
	const void *code;
	uint32_t id, turn;
};
struct known {
	uint32_t turn; /* how often all of it was forgotten */
	struct known_code code[KNOWN_MOST];
};

static inline struct known_code *known_place(struct known *k, const void *code)
{
	return &k->code[((uintptr_t)code >> 4 ^ (uintptr_t)code >> 12) % KNOWN_MOST];
}

static inline bool known_is(const struct known *k, const struct known_code *at,
			    const void *code)
{
	return at->code == code && at->turn == k->turn;
}

#endif
