/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main_module - the module of the script that the interpreter executes, __main__, and
 * what a user calls it.
 *
 * Threads  main_module_find: any, after members_find. The others: one with the
 *          interpreter's lock and no exception set, which they leave so.
 * Memory   what is returned is borrowed; the name of its file is kept for good.
 * Errors   false: the interpreter lacks a function, or there is no memory.
 * Units    none.
 */
#ifndef PYTHON_MAIN_MODULE_H
#define PYTHON_MAIN_MODULE_H

#include <stdbool.h>

bool main_module_find(void); /* looks up the interpreter's functions */
bool main_module_start(void *(*intern)(const char *text));
/* How many names it has; changes when it gets one. */
long main_module_size(void);
/* It is what it is now: NULL, or the module. */
void *main_module_look(void);
/* A number for each file that it has had, the last one's; 0: it has had none. */
unsigned main_module_turn(void);
/* Are these first `parts` parts of a dotted name what a user calls that file? */
bool main_module_is(const char *name, unsigned parts);

#endif
