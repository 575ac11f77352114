/* SPDX-License-Identifier: Apache-2.0 */
/*
 * method - a function of ours that Python calls, as PyCFunction_NewEx and a type take it.
 *
 * Threads  it is called by those that hold the interpreter's lock.
 * Memory   the row and its name live as long as what was made of them.
 * Errors   NULL: an exception is set.
 * Units    none.
 */
#ifndef PYTHON_METHOD_H
#define PYTHON_METHOD_H

/* METH_NOARGS, METH_O, METH_FASTCALL (Include/methodobject.h) */
enum { METHOD_NONE = 4, METHOD_ONE = 8, METHOD_FAST = 0x80 };

/* The argument is NULL for METHOD_NONE. */
typedef void *method_call(void *self, void *argument);
typedef void *method_fast_call(void *self, void *const *args, long count);

struct method { /* PyMethodDef */
	const char *name;
	union {
		method_call *call;
		method_fast_call *fast;
	};
	int flags;
	const char *doc;
};

#endif
