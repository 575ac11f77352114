/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pile - an array that grows, in memory of its own.
 *
 * Threads  one at a time.
 * Memory   anonymous maps, given back by pile_free; zeroed when new.
 * Errors   NULL when the kernel has no memory left: the pile is as it was.
 * Units    elements of `each` bytes.
 */
#ifndef WRITER_PILE_H
#define WRITER_PILE_H

#include <stddef.h>

struct pile {
	void *mem;
	size_t bytes; /* mapped */
	size_t n; /* elements in use */
};

/* Adds n elements of `each` bytes behind the last, and returns the first of them. */
void *pile_extend(struct pile *p, size_t n, size_t each);
/* As pile_extend, for one element. */
void *pile_push(struct pile *p, size_t each);
/* Adds a copy of `one`. 0 or -ENOMEM. */
int pile_add(struct pile *p, const void *one, size_t each);
/* The pile is empty afterwards, and may be filled anew. */
void pile_free(struct pile *p);

/* Plain maps with a size of their own, for what never grows. */
void *pile_map(size_t bytes);
void pile_unmap(void *mem, size_t bytes);

#endif
