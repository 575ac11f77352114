/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys - which argument of an event a key is.
 *
 * Threads  any, once the table is made.
 * Memory   the caller's.
 * Errors   KEY_OTHER: nobody wants it.
 * Units    none.
 */
#ifndef REPORT_SCAN_KEYS_H
#define REPORT_SCAN_KEYS_H

#include "report/read.h"

/* X(the key in JSON, the name in C): arguments that are no plain numbers. */
#define KEYS_ODD(X)                               \
	X("Input Dims", INPUT_DIMS)               \
	X("Input type", INPUT_TYPE)               \
	X("Call stack", STACK)                    \
	X("Call stack of", STACK_OF)              \
	X("Call", CALL)                           \
	X("Module path", PATH)                    \
	X("flops_source", FLOPS_SOURCE)           \
	X("grid", GRID)                           \
	X("block", BLOCK)                         \
	X("blocks per SM", BLOCKS_PER_SM)         \
	X("est. achieved occupancy %", OCCUPANCY) \
	X("Process Group Name", GROUP)            \
	X("Process Group Ranks", MEMBERS)         \
	X("name", LABEL)

enum key {
	KEY_ODD = ARGS - 1, /* below: enum event_arg */
#define ODD(json, c) KEY_##c,
	KEYS_ODD(ODD)
#undef ODD
		KEYS,
	KEY_OTHER = KEYS
};

#define KEYS_SLOTS 256u

struct keys {
	uint8_t slot[KEYS_SLOTS]; /* a key and 1; 0 = none */
	uint8_t next[KEYS]; /* in the same slot, as there */
};

void keys_make(struct keys *k);
enum key keys_find(const struct keys *k, const char *text, size_t len);

#endif
