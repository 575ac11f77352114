/* SPDX-License-Identifier: Apache-2.0 */
/*
 * imported - what a module that the program has imported has by a name.
 *
 * Dictionaries alone are read: no __getattr__ and nothing else of the program's runs, and
 * nothing is imported for it.
 *
 * Threads  imported_find: any, first. imported_item: one with the interpreter's lock and
 *          no exception set, which it leaves so.
 * Memory   what is returned is borrowed.
 * Errors   NULL: no such module, or none of the interpreter's own type, or no such name.
 * Units    none.
 */
#ifndef PYTHON_IMPORTED_H
#define PYTHON_IMPORTED_H

#include <stdbool.h>

bool imported_find(
	void); /* looks up the interpreter's functions; false: one is missing */
void *imported_item(const char *module, const char *name);
bool imported_is(void *module); /* is there one of that name, a str? */

#endif
