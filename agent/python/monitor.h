/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitor - a tool of sys.monitoring (PEP 669), since 3.12: functions of C that the
 * interpreter calls at each begin and end of a Python function.
 *
 * Threads  one with the interpreter's lock.
 * Memory   references to our functions, until the first event after the window.
 * Errors   text that says why calls cannot be had.
 * Units    none.
 */
#ifndef PYTHON_MONITOR_H
#define PYTHON_MONITOR_H

#include <stdbool.h>

/* Of calls of Python functions, of C functions, or both. The tool ends by itself at the
 * first event without a window. NULL: done. */
const char *monitor_begin(bool python, bool c);

#endif
