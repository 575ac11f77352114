/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally - how often each of a few names came, for lines in words.
 *
 * Threads  any, also of other processes where it lies in shared memory, and signal
 *          handlers: a row is taken by compare-and-swap.
 * Memory   plain data, zeroed; a name is cut where a row is full.
 * Errors   what finds no row is counted without its name.
 * Units    times.
 */
#ifndef BASE_TALLY_H
#define BASE_TALLY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define TALLY_ROWS 24

struct tally_row {
	_Atomic uint64_t key; /* of its name; 0 = free */
	_Atomic uint64_t n;
	char name[64]; /* empty while it is written */
};

struct tally {
	_Atomic uint64_t more; /* of names that found no row */
	struct tally_row row[TALLY_ROWS];
};

void tally_add(struct tally *t, const char *name, size_t len, uint64_t n);
/* All of `from`, which other processes may have written to: a number above `most` counts
 * as none. */
void tally_join(struct tally *t, const struct tally *from, uint64_t most);
uint64_t tally_all(const struct tally *t);
/* The row at place `rank` by its number, 0 is the largest; NULL: there are not so
 * many. */
const struct tally_row *tally_rank(const struct tally *t, unsigned rank);

#endif
