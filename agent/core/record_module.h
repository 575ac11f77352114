/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_module - a call of an nn.Module.
 *
 * Threads  as record.h.
 * Memory   plain data.
 * Errors   none.
 * Units    ids as names.h has them.
 */
#ifndef CORE_RECORD_MODULE_H
#define CORE_RECORD_MODULE_H

#include "agent/core/record.h"

#define MODULE_LEVELS 64 /* of a thread's calls with MODULE_ENTERED in a window */

enum module_flag {
	MODULE_ENTERED = 1, /* called before the window, whose begin is the record's */
	MODULE_GONE =
		2, /* it had returned when the thread did something else, at `end` */
};

/* REC_MODULE; r.name is the name of its class. */
struct rec_module {
	struct record r;
	uint64_t self; /* the object's address: it may be another one's later */
	uint32_t path; /* where it is in the outermost module; 0 = not known */
	uint32_t spare;
};

_Static_assert(sizeof(struct rec_module) == 40, "a module's call");

#endif
