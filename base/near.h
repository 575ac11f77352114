/* SPDX-License-Identifier: Apache-2.0 */
/*
 * near - the word that a user meant who misspelt it.
 *
 * Threads  any.
 * Memory   none; the words stay the caller's.
 * Errors   best is NULL: no word is near.
 * Units    edits; two letters swapped are one.
 */
#ifndef BASE_NEAR_H
#define BASE_NEAR_H

struct near {
	const char *word;
	const char *best; /* of those that were tried; NULL = none is near */
	unsigned edits; /* one more than may differ */
};

struct near near_begin(const char *word);
/* Of two candidates that are as near the first one stays. Letters of either case are the
 * same, and so are a dash and an underscore. */
void near_try(struct near *n, const char *candidate);

#endif
