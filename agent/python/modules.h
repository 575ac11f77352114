/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules - each call of an nn.Module: its begin and end, its class, and its path.
 *
 * torch.nn.Module.__call__ is one function, whose slot (slot.h) is ours while a window is
 * open. It is found when torch.nn has been imported: until then the slot of the function
 * that imports is ours.
 *
 * Threads  modules_look: one that holds the interpreter's lock; nothing happens in
 *          others. modules_opened, modules_ended: the holder of the scheduler's lock;
 *          modules_opened_now: without it.
 * Memory   paths.h; of what the program has, a reference to each of three functions.
 * Errors   a line says why there are none.
 * Units    none.
 */
#ifndef PYTHON_MODULES_H
#define PYTHON_MODULES_H

#include "agent/core/thread.h"

#include <stdbool.h>

/* From the agent's constructor: else nothing happens. by_frames: their calls are seen by
 * their frames (track.h), and no slot is exchanged for them. */
void modules_want(bool by_frames);
void modules_look(void);
void modules_opened(void); /* a window is about to open */
void modules_opened_now(void); /* one has, by this thread */
void modules_ended(void); /* one has ended; the next may be open */
void modules_fork_child(void);
/* A record of a call that begins now, and whose end is stored later; by a thread that
 * holds the interpreter's lock, between emit_enter and emit_leave. NULL: no room. */
struct record *modules_put(struct thread *t, const void *self, uint8_t flags);

#endif
