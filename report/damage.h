/* SPDX-License-Identifier: Apache-2.0 */
/*
 * damage - what could not be read of a trace file, or by a guess alone.
 *
 * Threads  one at a time.
 * Memory   none.
 * Errors   none.
 * Units    bytes of the text, which is longer than a gzip file.
 */
#ifndef REPORT_DAMAGE_H
#define REPORT_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct damage {
	const char *broken_why; /* why nothing was read from broken_at on; NULL = whole */
	uint64_t broken_at;
	uint64_t repaired; /* events that are no JSON as they stand, and were read */
	uint64_t passed, passed_bytes, passed_at; /* stretches that were passed over, the
						     first one at passed_at */
};

/* Is anything missing? What was repaired is not. */
static inline bool damage_is(const struct damage *d)
{
	return d->broken_why || d->passed;
}

/* Is a reader's reason that the file just ends? It may be that somebody writes it. */
bool damage_is_cut(const char *why);
/* Writes why the file is not to be trusted, without a line end; "" where it is. */
void damage_words(const struct damage *d, char *to, size_t size);
/* Prints a line for each kind of damage; nothing for a good file. */
void damage_print(const struct damage *d, FILE *out);
/* Prints members of a JSON object: broken_at and broken_why (null: whole), repaired and
 * passed_over. */
void damage_json(const struct damage *d, FILE *out);

#endif
