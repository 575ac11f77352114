/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kin - a type beside that of Python's functions, for functions whose calls are to be
 * seen in 3.11.
 *
 * 3.11 executes a call of exactly a function by itself, without a look at the pointer
 * that slot.h exchanges. A function of another type it calls by that pointer. So such a
 * function's type becomes a kin of the usual one: the same, but for its address.
 *
 * Threads  kin_find: any, first. The others: one with the interpreter's lock.
 * Memory   static: the interpreter keeps a reference to the type.
 * Errors   false: this interpreter needs it, and it cannot be made, or there are too
 *          many.
 * Units    none.
 */
#ifndef PYTHON_KIN_H
#define PYTHON_KIN_H

#include <stdbool.h>

#define KIN_MOST 64 /* functions at once */

bool kin_find(void); /* looks up the interpreter's functions; false: one is missing */
/* Nothing, and true, where the interpreter is no 3.11. As often as it is set it is to be
 * unset. */
bool kin_set(void *function);
void kin_unset(void *function);
bool kin_is_type(const void *type);
const void *kin_code(const void *function); /* of that type: its code, borrowed */

#endif
