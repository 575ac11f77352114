/* SPDX-License-Identifier: Apache-2.0 */
/*
 * imports - each import of a module that is not there yet.
 *
 * Threads  imports_begin, imports_end: one with the interpreter's lock and no exception
 *          set. imports_opened, imports_closed: any.
 * Memory   a reference to the importer's function.
 * Errors   text that says why there are none.
 * Units    none.
 */
#ifndef PYTHON_IMPORTS_H
#define PYTHON_IMPORTS_H

const char *imports_begin(void);
void imports_end(void);
/* A window has opened, or ended: where the function was found before, nobody has to be
 * asked. */
void imports_opened(void);
void imports_closed(void);

#endif
