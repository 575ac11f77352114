/* SPDX-License-Identifier: Apache-2.0 */
/*
 * members - what a module, or a class with those that it inherits from, has by a name.
 *
 * Dictionaries alone are read: no descriptor, no __getattr__ and nothing else of the
 * program's runs, and nothing is imported for it.
 *
 * Threads  members_find: any, before all others. The others: one with the interpreter's
 *          lock and no exception set, which they leave so.
 * Memory   what is returned is borrowed.
 * Errors   NULL: there is none.
 * Units    none.
 */
#ifndef PYTHON_MEMBERS_H
#define PYTHON_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>

bool members_find(void); /* looks up the interpreter's functions; false: one is missing */
void *members_module(void *name); /* what sys.modules has, a module or not */
bool members_is_module(const void *object);
void *members_item(void *module, void *name);
long members_count(void *module);
/* Of a module, a class, or the class of any other object. */
void *members_of(void *object, void *name);
/* The name that was meant by `word`, or "". */
void members_meant(void *object, const char *word, char *to, size_t size);

#endif
