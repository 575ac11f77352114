/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocators - where the interpreter has its allocators of the domains `mem` and
 * `object`, and ours in front of what is there: its own, or a tool's.
 *
 * Ours have places, each for what it was in front of first; a tool that keeps one of ours
 * may call it for ever. Pointers to functions alone are exchanged, so that whoever is
 * called gets the context of what is there: a tool's own.
 *
 * Threads  allocators_find: one that holds the interpreter's lock. allocators_exchange
 *          and allocators_put_back: any, without a lock: each pointer is exchanged only
 * if it is the one that is expected. The rest: any. Memory   static; what lies in the
 * interpreter is written to. Errors   what allocators_exchange says; what is not ours
 * stays. Units    none.
 */
#ifndef PYTHON_ALLOCATORS_H
#define PYTHON_ALLOCATORS_H

#include "agent/hooks/allocator.h"

#include <stdbool.h>

#define ALLOCATORS_DOMAINS 2 /* mem, object */
#define ALLOCATORS_PLACES  6 /* the first: in front of the interpreter's own */

enum allocators_state { ALLOCATORS_UNASKED, ALLOCATORS_HIDDEN, ALLOCATORS_FOUND };

/* Both have ALLOCATORS_PLACES times ALLOCATORS_DOMAINS; `next` is what ours are to call.
 * False: this is no interpreter that can be asked. */
bool allocators_prepare(const struct allocator *ours, struct allocator *next);
bool allocators_used(void); /* has the interpreter begun? */
enum allocators_state allocators_state(void);
enum allocators_state allocators_find(void);
/* The interpreter has said what it calls its own: nothing is left to be asked. */
bool allocators_named(void);

/* The rest: ALLOCATORS_FOUND. */
bool allocators_are_mallocs(void); /* each call is one of malloc's, which has hooks */
const char *allocators_exchange(void); /* NULL: ours are there now; or why not */
void allocators_put_back(void);
bool allocators_are_ours(void);
bool allocators_reach_ours(void); /* they are, or a tool in front of ours is there */
bool allocators_is_there(const struct allocator *ours); /* that very one */

#endif
