/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion - what a shell reads to complete proflaunch's command line.
 *
 * Threads  one.
 * Memory   none.
 * Errors   2 for a shell that is none of these.
 * Units    none.
 */
#ifndef COMPLETION_COMPLETION_H
#define COMPLETION_COMPLETION_H

#define COMPLETION_SHELLS "bash|zsh|fish"
int completion_print(const char *shell); /* NULL: none was named */

#endif
