/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe - the two callbacks that torch calls around operators.  Hot path.
 *
 * Threads  any thread of the program; they run with or without the GIL, and
 *          sometimes while libtorch holds locks: nothing here calls back into it
 *          but the accessors of abi.h.
 * Memory   a context per recorded operation, from a slab of the thread that began
 *          it; torch destroys it through our vtable.
 * Errors   none: what cannot be recorded is dropped and counted.
 * Units    none.
 */
#ifndef TORCH_OBSERVE_H
#define TORCH_OBSERVE_H

#include "agent/torch/torch.h"

/* Operators and annotations are recorded, or only looked at for markers. */
void observe_collect(bool on);
void observe_start(const struct torch_listener *listener, bool inputs, bool native);

/* Operators, scopes 0, 1, 2: registered disabled, enabled for windows. */
void **observe_op_begin(void **slot, const void *rf);
/* User annotations, scope 7: always on, for the markers. */
void **observe_note_begin(void **slot, const void *rf);
void observe_end(const void *rf, void *context);

#endif
