/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c_call - the record of a call of a C function, as it begins.
 *
 * Threads  as emit.h and emit_short.h.  Hot path.
 * Memory   the thread's chunk.
 * Errors   NULL: it was dropped, and counted.
 * Units    ids as names.h has them.
 */
#ifndef PYTHON_C_CALL_H
#define PYTHON_C_CALL_H

#include "agent/core/emit_short.h"

/* Between emit_enter and emit_leave. */
static inline struct record *c_call_put(struct thread *t, uint32_t name)
{
	struct record *r = emit_reserve(t, REC_C_CALL, sizeof(*r));

	if (!r)
		return NULL;
	r->name = name;
	r->end = 0;
	r->begin = clock_ticks();
	emit_commit(t, r, REC_C_CALL, 0, sizeof(*r));
	return r;
}

/* Behind emit_ready with room for it; leaves. */
static inline struct record *c_call_put_short(struct thread *t, uint32_t name)
{
	struct record *r = (struct record *)t->at;

	r->name = name;
	r->end = 0;
	r->begin = clock_tsc();
	if (!emit_done(t, r, REC_C_CALL, 0, sizeof(*r))) {
		thread_late(REC_C_CALL);
		emit_leave(t);
	}
	return r;
}

#endif
