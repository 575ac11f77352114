/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls - CUDA's calls by CUPTI's numbers: their names, and which of them launch.
 *
 * Threads  one until the session is ready; ids of names: the consumer.
 * Memory   the arena; names are CUPTI's own text.
 * Errors   why there are none, as text; NULL: no such call is known.
 * Units    none.
 */
#ifndef CUPTI_LIB_CALLS_H
#define CUPTI_LIB_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum call_trait {
	CALL_KNOWN = 1,
	CALL_OURS = 2, /* we record it */
	CALL_WORKS = 4, /* launches GPU work */
	CALL_CAPTURES = 8, /* what is launched from here on makes a graph ... */
	CALL_CAPTURED = 16, /* ... up to here */
};
#define CALL_SWITCHED \
	(CALL_OURS | CALL_CAPTURES | CALL_CAPTURED) /* what CUPTI is asked for */
#define CALLS_MOST 2048u
struct call {
	const char *name; /* CUPTI's own text */
	uint16_t length; /* without its _v<digits> */
	uint8_t traits;
	uint32_t id; /* names.h; 0 = not yet */
};
const char *calls_start(bool all_driver_calls); /* why not, NULL = fine */
void calls_forget_names(void); /* the spool is another one */
/* NULL: no such call is known. */
struct call *calls_get(int domain, uint32_t cbid);

/* Some calls of one domain, a bit for each cbid. Any thread, without a lock: a change of
 * one call is atomic, of all calls it is not. A cbid that is too large is in no set. */
#define CALLS_WORDS (CALLS_MOST / 64)
struct calls_set {
	_Atomic uint64_t bits[CALLS_WORDS];
};
bool calls_has(const struct calls_set *s, uint32_t cbid);
void calls_put(struct calls_set *s, uint32_t cbid, bool on);
void calls_put_all(struct calls_set *s, bool on);

#endif
