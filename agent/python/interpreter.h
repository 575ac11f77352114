/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interpreter - the CPython in this process, and whether it may be read.
 *
 * Threads  the struct does not change once interpreter_on is true.
 * Memory   static.
 * Errors   interpreter_why says why it is left alone, and one line does.
 * Units    none.
 */
#ifndef PYTHON_INTERPRETER_H
#define PYTHON_INTERPRETER_H

#include "agent/python/layout.h"

#include <stdatomic.h>
#include <stddef.h>

struct interpreter {
	const struct python_layout *layout;
	bool entries; /* frames say whether C called them, and that was checked: 3.11 */
	void *(*thread_state)(void); /* the calling thread's, without the lock */
	void *(*holder)(void); /* the state of the thread that has the lock; since 3.12
				  NULL where it is not the calling one */
	int (*finalizing)(void);
	const void *code; /* PyCode_Type */
	const char *version; /* Py_GetVersion() */
	unsigned proven; /* frames of the self check */
};
extern struct interpreter interpreter;

struct interpreter_symbol {
	const char *name;
	void *to; /* where its address goes */
	bool optional;
};
extern _Atomic bool interpreter_on; /* it may be read */
extern _Atomic bool interpreter_stacks; /* and operators' stacks are wanted */
/* It will call us before it frees what is read: without that only a thread that has its
 * lock may read, which nobody can end meanwhile. */
extern _Atomic bool interpreter_tells_end;

/* Looks up the interpreter's functions and objects; false: one is missing. */
bool interpreter_find(const struct interpreter_symbol *symbol, size_t n);
/* What it is read for: the text of the line below says it. */
void interpreter_want(bool stacks, const char *what);
void interpreter_begin(void); /* it may be read */
/* It is not read any more, and a line says so. */
void interpreter_off(const char *why);
/* The same without a line: the interpreter ends. Another one that the program begins
 * later is left alone as well. */
void interpreter_end(void);
bool interpreter_ended(void);
const char *interpreter_why(void); /* NULL: stacks can be had, or nobody knows yet */

#endif
