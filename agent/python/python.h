/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python - finds the interpreter in this process, and has it confirm its layout.
 *
 * What is read is memory: no code of the program's runs for it, and the interpreter's
 * lock (the GIL) is never asked for. Only where a thread has it is the interpreter itself
 * called, to compare (check.h), and once to be told of its end (goodbye.h).
 *
 * Threads  python_look, python_path: one that holds the interpreter's lock; they notice
 *          if it does not.
 *          python_facts: any.
 * Memory   static.
 * Errors   an interpreter that does not confirm its row of layout.h is left alone
 *          (interpreter.h).
 * Units    none.
 */
#ifndef PYTHON_PYTHON_H
#define PYTHON_PYTHON_H

#include <stdbool.h>

/* Finds its functions, unless they were found. *why is set where it is here, but is left
 * alone. */
bool python_find(const char **why);
/* Finds the interpreter and has it confirm what we know, until that was possible once;
 * and asks it to tell us of its end. True: stacks can be had. */
bool python_look(void);
/* Notes the folders that modules are imported from, once: torch's profiler takes them as
 * they are when torch is imported. After python_look. */
void python_path(void);
/* Finds what python_ask needs: from the agent's constructor. */
void python_prepare(void);
/* Has the interpreter, once it runs, call python_look: from its main thread, between two
 * instructions. May be called from within malloc. */
void python_ask(void);
/* Tells the spool: the version, and the folders that modules are imported from. */
void python_facts(void);

#endif
