/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_function - a call of a Python function; of a generator, each stretch between two
 * of its yields. And one of a C function by Python.
 *
 * Threads  as record.h.
 * Memory   plain data.
 * Errors   none.
 * Units    code and offset as codes.h has them.
 */
#ifndef CORE_RECORD_FUNCTION_H
#define CORE_RECORD_FUNCTION_H

#include "agent/core/record.h"

enum function_flag {
	FUNCTION_ENTERED = 1, /* called before the window, whose begin is the record's */
	FUNCTION_GONE = 2, /* it had returned when the thread did something else, at `end`
			    */
	FUNCTION_AGAIN = 4, /* no call: the thread was in it before, and is again */
};

/* REC_FUNCTION; its name is its code's. */
struct rec_function {
	struct record r;
	uint32_t code; /* 0 = no room for it */
	uint32_t offset; /* where it was when the record began */
};

/* REC_C_CALL is a struct record and no more: r.name is what was called. */

/* Nobody has told of its end: it is over now, at the latest. */
static inline void function_gone(struct record *r, uint64_t now)
{
	if (!r || r->end)
		return;
	r->flags |= FUNCTION_GONE;
	r->end = now;
}

_Static_assert(sizeof(struct rec_function) == 32, "a function's call");

#endif
