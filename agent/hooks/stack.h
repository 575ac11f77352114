/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack - the native call stack of the calling thread, as a record.
 *
 * Threads  any, in windows.
 * Memory   as agent/hooks/unwind.h.
 * Errors   a stack of id 0: no room for it.
 * Units    none.
 */
#ifndef HOOKS_STACK_H
#define HOOKS_STACK_H

#include <stdint.h>

void stack_take(uint32_t name); /* REC_STACK; name: what is about to be called */

#endif
