/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export - `proflaunch export`: stacks of trace files for flame graphs.
 *
 * Threads  one.
 * Memory   freed before it returns.
 * Errors   exit status: 0; 2 wrong options, a file that could not be read or written, or
 *          nothing to export.
 * Units    none.
 */
#ifndef LAUNCHER_EXPORT_H
#define LAUNCHER_EXPORT_H

/* argv: the words behind "export", NULL at the end. */
int export_main(char **argv);

#endif
