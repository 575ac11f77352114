/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named - a function of Python's by its dotted name: of a module, or of the script
 * itself, whose module is called __main__.
 *
 * Dictionaries alone are read, of modules and of classes: no descriptor, no __getattr__
 * and nothing else of the program's runs, and nothing is imported for it.
 *
 * Threads  named_find: any, before all others. The others: one with the interpreter's
 *          lock and no exception set, which they leave so.
 * Memory   what is returned is borrowed; the name's strings are kept for good.
 * Errors   named_look: NULL, and `named` says why.
 * Units    none.
 */
#ifndef PYTHON_NAMED_H
#define PYTHON_NAMED_H

#include <stdbool.h>
#include <stddef.h>

enum named {
	NAMED_UNSEEN, /* nobody has looked yet */
	NAMED_NO_MODULE, /* nor has the script that name */
	NAMED_NO_NAME, /* a module was found, which has no such name */
	NAMED_OTHER, /* it is something else */
	NAMED_MAKER, /* a call makes a generator or a coroutine */
	NAMED_FOUND
};

bool named_find(void); /* looks up the interpreter's functions; false: one is missing */
/* Takes the name; false: it has too many parts, or there is no memory. */
bool named_start(const char *name);
void *named_look(enum named *how);
/* How many names the script has; changes when it gets one. */
long named_script_size(void);
/* Is that the code of the function that was found last? Compared alone. */
bool named_is_code(const void *code);
/* Why the last look found nothing, as text; with what was meant, right after it. */
const char *named_why(enum named how, bool near);

#endif
