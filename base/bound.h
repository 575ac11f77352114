/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bound - functions of a library that is opened at run time, where it has all of them.
 *
 * Threads  as the table's owner says.
 * Memory   none.
 * Errors   false: there is no library, or it lacks a function.
 * Units    functions.
 */
#ifndef BASE_BOUND_H
#define BASE_BOUND_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

struct bound_function {
	const char *name;
	void **at; /* where its address goes */
};

static inline bool bound_all(void *library, const struct bound_function *all, size_t n)
{
	bool good = library != NULL;

	for (size_t i = 0; good && i < n; i++) {
		*all[i].at = dlsym(library, all[i].name);
		good = *all[i].at != NULL;
	}
	return good;
}

#endif
