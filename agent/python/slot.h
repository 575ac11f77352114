/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot - the C function that a function of Python's is called by, exchanged for ours.
 *
 * A function object has a pointer to what executes it (its `vectorcall`, PEP 590). With
 * ours there, calls of that function are seen, and nothing else changes: exceptions come
 * back as a NULL result, and no Python code can see it. Several watchers may have the
 * same function: each of ours calls the next one, the last one the interpreter's own.
 *
 * Threads  slot_find, slot_set_locked: one with the interpreter's lock; slot_start: as
 *          interpreter_find; slot_fork_child: a fork's child; the others: any.
 * Memory   struct slot is the caller's and stays for good, as does the reference to the
 *          function that slot_find takes.
 * Errors   slot_find: text that says why there is none. slot_set: false, and nothing was
 *          changed: what is there is neither the interpreter's nor ours.
 * Units    none.
 */
#ifndef PYTHON_SLOT_H
#define PYTHON_SLOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* `count`: how many of `args` are given by place, and a flag in the highest bit. */
typedef void *slot_call(void *function, void *const *args, size_t count, void *names);
#define SLOT_COUNT(count) ((count) & ~((size_t)1 << (8 * sizeof(size_t) - 1)))

struct slot {
	slot_call *_Atomic *at; /* NULL: slot_find has found nothing yet */
	slot_call *ours;
	slot_call *_Atomic next; /* what ours calls; stays when ours is taken away */
	void *function;
	struct slot *other; /* of all that were found */
};

/* Finds what is needed: when the interpreter's functions are looked up. */
void slot_start(void);
/* `function` is to be exactly a function of Python's. NULL: it is found; a slot that has
 * another function, and is not set, is found anew. */
const char *slot_find(struct slot *s, void *function, slot_call *ours);

/* Stores: calls from C arrive from then on, as do f(*args) and, but for 3.11, other calls
 * of Python's. Call sites that 3.12 and later have specialised for this function do not.
 */
bool slot_set(struct slot *s);
/* The same, and those look again. */
bool slot_set_locked(struct slot *s);
/* Where somebody else has put a pointer over ours it stays, and passes calls on. */
void slot_unset(struct slot *s);
void slot_fork_child(void);

static inline slot_call *slot_next(struct slot *s)
{
	return atomic_load_explicit(&s->next, memory_order_acquire);
}

#endif
