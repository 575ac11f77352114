/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks - which of many processes this one is, as whoever started it says.
 *
 * Threads  any.
 * Memory   the texts are those of the environment.
 * Errors   a text that is not a number is not there.
 * Units    decimal digits, 1 to 9 of them.
 */
#ifndef CORE_RANKS_H
#define CORE_RANKS_H

#include <stdbool.h>

struct ranks { /* NULL: not said */
	const char *rank, *local, *size;
};

/* false: nobody says a rank, and all three are NULL. */
bool ranks_find(struct ranks *r, char *const *env);

#endif
