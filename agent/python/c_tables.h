/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c_tables - the functions of C that a module of Python has, and the methods of its
 * types: each becomes a place (c_place.h).
 *
 * It is looked through by its dictionary alone, so that no code of the program's runs.
 * What it has from elsewhere (math, functools) is left out, and so is what has two
 * underscores at its begin.
 *
 * Threads  one with the interpreter's lock.
 * Memory   of what the program has, a reference to each function that is a place.
 * Errors   what is no place is counted.
 * Units    none.
 */
#ifndef PYTHON_C_TABLES_H
#define PYTHON_C_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define C_NAME 240 /* bytes of a name */

struct c_look {
	const char *root; /* the module that was asked for; `root_len` bytes */
	size_t root_len, top_len; /* top: up to its first dot */
	char name[C_NAME]; /* of what is looked at: its module, then the rest */
	size_t len; /* of the module's part */
	unsigned missed; /* functions that could not become places */
	bool objects_only; /* only what has no table, as ufuncs */
};

bool c_tables_find(
	void); /* looks up the interpreter's functions; false: one is missing */
void c_tables_add(struct c_look *k, void *module); /* that has `name` */

/* "numpy.random" is below "numpy", and so is that itself; "numpydoc" is not. */
static inline bool c_tables_below(const char *name, size_t len, const char *root,
				  size_t root_len)
{
	return len >= root_len && !memcmp(name, root, root_len) &&
	       (len == root_len || name[root_len] == '.');
}

#endif
