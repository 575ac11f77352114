/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named - functions of Python's by their dotted names: of a module, or of the script
 * itself, whose module is called __main__.
 *
 * Only what members.h gives is looked at: nothing of the program's runs, and nothing is
 * imported for it.
 *
 * Threads  named_find: any, before all others. named_state, named_why: the one that ends
 *          the process, too. The others: one with the interpreter's lock and no exception
 *          set, which they leave so.
 * Memory   what is returned is borrowed; the names' strings are kept for good.
 * Errors   named_look: NULL, and named_state says why.
 * Units    none.
 */
#ifndef PYTHON_NAMED_H
#define PYTHON_NAMED_H

#include <stdbool.h>
#include <stddef.h>

#define NAMED_MOST 48 /* names */

enum named_state {
	NAMED_UNSEEN, /* nobody has looked yet */
	NAMED_NO_MODULE, /* nor has the script that name */
	NAMED_NO_NAME, /* a module was found, which has no such name */
	NAMED_OTHER, /* it is something else */
	NAMED_MAKER, /* a call makes a generator or a coroutine */
	NAMED_FOUND
};

bool named_find(void); /* looks up the interpreter's functions; false: one is missing */

struct named;
/* `name` stays the caller's, for good. NULL: it has too many parts, there are too many
 * names, or no memory. */
struct named *named_add(const char *name);
void named_round(void); /* before some are looked for */
/* The function that has the name now. */
void *named_look(struct named *n);
/* Is that the code of the function that was found last? Compared alone. */
bool named_is_code(const struct named *n, const void *code);

enum named_state named_state(const struct named *n);
void named_meant(struct named *n); /* right after named_look: what may have been meant */
/* Why the last look found nothing, as text. */
const char *named_why(const struct named *n);

#endif
