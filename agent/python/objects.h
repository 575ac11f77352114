/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects - Python's small objects, which lie in pools of its own: allocators of ours
 * stand in front of what the interpreter calls for its domains `mem` and `object` while a
 * window is open.
 *
 * Threads  objects_begin, objects_ended: the holder of the scheduler's lock.
 *          objects_begin_late, objects_unseen, objects_leave: any, between emit_enter and
 * emit_leave, so that the window's descriptor stays. objects_idle: one of ours, whose
 * caller holds the interpreter's lock. objects_missing, objects_look: any. Memory static;
 * what lies in the interpreter is written to. Errors   where they cannot be had nothing
 * is exchanged, and a line says why. Units    none.
 */
#ifndef PYTHON_OBJECTS_H
#define PYTHON_OBJECTS_H

#include "agent/core/cycle_info.h"
#include "agent/hooks/allocator.h"

#include <stdbool.h>

/* From the agent's constructor; as allocators_prepare. */
void objects_prepare(const struct allocator *ours, struct allocator *next);
/* One of ours was called, and there is nothing to record: a tool has put back what it had
 * found in a window, and after that they go. */
void objects_idle(const struct allocator *ours);
/* Has nobody put ours in place in this window (0: none is open)? Hot path. */
bool objects_missing(uint64_t cycle);
/* Finds them, by a thread that holds the interpreter's lock; nothing happens in
 * others. */
void objects_look(void);
/* A window is about to open. Where they were not found yet, as objects_look, but for
 * 3.13 and later: whoever calls this may be in the middle of an allocation. */
void objects_begin(struct cycle_info *info);
void objects_begin_late(struct cycle_info *info); /* it is open already */
/* The interpreter was not found in time: small objects are allocated unseen. */
void objects_unseen(struct cycle_info *info);
/* Are ours still in place? The process leaves, and nobody will end its window. */
void objects_leave(struct cycle_info *info);
/* A window has ended: that, and what was there is put back. */
void objects_ended(struct cycle_info *info);
void objects_fork_child(void);

#endif
