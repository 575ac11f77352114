/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span - finds its way in JSON text without reading all of it.
 *
 * Threads  any.
 * Memory   points into the text, which need not end with NUL.
 * Errors   false: there is no such thing; the text may be cut off or no JSON at all.
 * Units    bytes.
 */
#ifndef LAUNCHER_RECOVER_SPAN_H
#define LAUNCHER_RECOVER_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
	const char *at, *end;
};

struct span_member {
	struct span key, value; /* the key with its quotes */
	bool cut; /* the text ends inside the value, which then is empty, at its begin */
};

/* Gives the text behind the opening bracket of an object or array. */
bool span_open(struct span text, char bracket, struct span *inside);
/* Takes the next member or item off `inside`; false: there is none. */
bool span_member(struct span *inside, struct span_member *m);
bool span_item(struct span *inside, struct span *item);
bool span_is(struct span s, const char *text);
bool span_number(struct span s, uint64_t *n);
/* Makes a copy of a string's bytes, with a NUL behind them; NULL: no string, or no
 * memory. free() it. */
char *span_string(struct span s);

#endif
