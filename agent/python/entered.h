/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entered - modules that a thread is in when a window begins, whose calls nobody has
 * seen.
 *
 * Their frames are still there: at a thread's first event in a window they are looked
 * for, and each becomes a record from the window's begin on. Nobody sees it return: at
 * each later event of the thread the frame is looked for again, and the one that does not
 * find it ends the record (MODULE_GONE). A call that was seen in the window before ends
 * exactly.
 *
 * Threads  entered_find: once, before the rest. entered_forget: a fork's child. The
 *          others: each for itself, with the interpreter's lock or without.
 * Memory   1.5 KiB for each thread that was in one, from the arena.
 * Errors   what is no module, and what more than 64 are around, is left out and counted
 *          (PYTHON_LEFT_OUT).
 * Units    ticks.
 */
#ifndef PYTHON_ENTERED_H
#define PYTHON_ENTERED_H

#include "agent/core/gate.h"
#include "agent/core/thread.h"

/* nn.Module.__call__'s code, and the type nn.Module. */
void entered_find(const void *code, const void *type);
extern _Atomic bool entered_found;
/* The same where calls are seen by their frames: nothing is looked for here. */
void entered_know(const void *code, const void *type);
extern const void *_Atomic entered_code; /* nn.Module.__call__'s; NULL: not known */
static inline bool entered_is_call(const void *code)
{
	return code == atomic_load_explicit(&entered_code, memory_order_relaxed);
}
/* What a frame of that is called with; NULL: it is no module. */
const void *entered_self(const void *frame);
/* The window in which this thread has nothing to look for. */
extern __thread uint64_t entered_settled __attribute__((tls_model("initial-exec")));

void entered_look(void);
/* An operator or module of this thread is about to begin. Hot path. */
static inline void entered_event(void)
{
	uint64_t cycle = gate_cycle();

	if (__builtin_expect(cycle && entered_settled != cycle, 0))
		entered_look();
}
bool entered_knows(const struct thread *t, uint64_t window);
/* A window may open before the record's begin: has this thread, which has entered one,
 * not looked in that yet? With entered_found. */
static inline bool entered_missed(const struct thread *t)
{
	uint64_t window = atomic_load_explicit(&t->emitting, memory_order_relaxed);

	return entered_settled != window && !entered_knows(t, window);
}
/* As emit_enter, in a window in which the thread has looked. */
struct thread *entered_enter(enum record_kind kind);
/* A call that began in an earlier window has returned. */
void entered_return(const void *self, uint64_t now);
/* This thread has opened a window: the interpreter is read, and nothing asked. */
void entered_opened(void);
/* The window is about to end. */
void entered_ending(void);
void entered_forget(void);

#endif
