/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bound - the slots by which one object calls a function of another, exchanged.
 *
 * What the dynamic linker has made read-only is writable for a moment.
 *
 * Threads  any that may take the dynamic linker's lock.
 * Memory   none.
 * Errors   0 or false: nothing was changed.
 * Units    none.
 */
#ifndef HOOKS_BOUND_H
#define HOOKS_BOUND_H

#include <link.h>
#include <stdbool.h>

/* In the object that `within` lies in, points each slot for the function `name` to `to`.
 * *was becomes what such a slot held; it stays where that leads into the object itself,
 * for it was not bound yet. Nothing is changed where *was stays NULL. Returns how many.
 */
unsigned bound_exchange(const void *within, const char *name, void *to, void **was);
/* Stores a word into a slot of the object. */
bool bound_store(const struct dl_phdr_info *info, uintptr_t *slot, uintptr_t value);

#endif
