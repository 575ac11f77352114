/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pager - a text on the terminal, through the user's pager where it is longer than that.
 *
 * $PAGER, as git has it: empty or "cat" is none; where it is not set, less with FRX.
 *
 * Threads  one.
 * Memory   none.
 * Errors   false: the text could not be written, errno says why. A reader that has gone
 *          is no error.
 * Units    bytes.
 */
#ifndef LAUNCHER_PAGER_H
#define LAUNCHER_PAGER_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the text to standard output. */
bool pager_write(const char *text, size_t len);

#endif
