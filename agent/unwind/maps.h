/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maps - what the kernel says of the mapping that holds one address.
 *
 * Threads  any, also in signal handlers: system calls alone, no lock, no malloc.
 * Memory   the caller's.
 * Errors   false: nothing is mapped there, or the kernel does not tell.  errno is kept.
 * Units    addresses.
 */
#ifndef UNWIND_MAPS_H
#define UNWIND_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unwind_mapping {
	uintptr_t begin, end;
	uintptr_t first; /* where the first mapping of that file begins */
	bool readable;
};
/* The mapping that holds `at`; its path goes to `path`, cut if it must be. */
bool unwind_maps_find(uintptr_t at, struct unwind_mapping *m, char *path, size_t size);
/* The same without path and file, and without a look at the other mappings where the
 * kernel can do that. */
bool unwind_maps_bounds(uintptr_t at, struct unwind_mapping *m);

#endif
