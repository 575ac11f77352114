/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c_place - a function of C that Python calls, called through one of ours.
 *
 * Python finds such a function by a pointer: of a method or a module's function in the
 * table that its module was made from (PyMethodDef), of an object that is callable
 * otherwise in itself (its vectorcall, PEP 590). With ours there its calls are records,
 * and nothing else changes: exceptions come back as a NULL result.
 *
 *	pointer -> entry 7 -> call_place: a record's begin, the real function, its end
 *
 * Threads  c_place_find, c_place_add: one with the interpreter's lock. The others: any.
 * Memory   what the pointers lie in stays for good: that is the caller's affair. Places
 *          are static, names from the arena.
 * Errors   false: there is no room for one more, or it may not be written.
 * Units    none.
 */
#ifndef PYTHON_C_PLACE_H
#define PYTHON_C_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#define C_PLACES 2048 /* c_entry.S has as many */

/* A function of at most five arguments, all of them pointers or integers. */
typedef void *c_place_function(void *a, void *b, void *c, void *d, void *e);

bool c_place_find(const void *at); /* is that pointer known already? */
bool c_place_add(void *at, const char *name, size_t len);
unsigned c_place_count(void);
/* Stores all pointers to ours while a window is open, and else those to what was there,
 * where they are ours. What somebody else has put there meanwhile stays. */
void c_place_settle(void);
void c_place_leave(void); /* those to what was there, for good */
void c_place_fork_child(void);

#endif
