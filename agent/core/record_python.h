/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_python - what Python waits for: a garbage collection, a wait for the
 * interpreter's lock, an import.
 *
 * Threads  as record.h.
 * Memory   plain data.
 * Errors   none.
 * Units    objects.
 */
#ifndef CORE_RECORD_PYTHON_H
#define CORE_RECORD_PYTHON_H

#include "agent/core/record.h"

enum pause_kind { PAUSE_GC, PAUSE_GIL, PAUSE_IMPORT, PAUSE_KINDS };
#define PAUSE_KIND   3u /* of the flags: enum pause_kind */
#define PAUSE_RAISED 4u /* an import that ended with an exception */

/* REC_PYTHON; r.name is the module's that is imported, else 0. */
struct rec_python {
	struct record r;
	/* Of a collection; 0 before its end. */
	uint32_t generation;
	uint32_t uncollectable;
	uint64_t collected;
};

_Static_assert(sizeof(struct rec_python) == 40, "an event of Python's");

#endif
