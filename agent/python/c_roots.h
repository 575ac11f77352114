/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c_roots - the modules whose C functions were asked for, and those below them, as far as
 * they have been imported.
 *
 * A function has the name of the first module that leads to it: that which was asked for,
 * then those below it without an underscore, then the others. A module that has as much
 * as when it was looked at is not looked at again.
 *
 * Threads  one with the interpreter's lock.
 * Memory   static.
 * Errors   as c_tables.h.
 * Units    none.
 */
#ifndef PYTHON_C_ROOTS_H
#define PYTHON_C_ROOTS_H

#include <stdbool.h>

bool c_roots_find(void); /* looks up the interpreter's functions; false: one is missing */
bool c_roots_grown(void); /* has anything been imported since the last look? */
/* `modules`: names with commas between; objects_only: c_tables.h. Returns how many
 * functions there were that could not become places. */
unsigned c_roots_look(const char *modules, bool objects_only);
/* Is the name, a str, one of those modules, or one below? */
bool c_roots_have(const char *modules, const void *name);

#endif
