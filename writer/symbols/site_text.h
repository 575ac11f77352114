/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_text - a call stack's name in one line: the frames that ask for memory.
 *
 * Threads  any.
 * Memory   the caller's.
 * Errors   none.
 * Units    bytes.
 */
#ifndef WRITER_SYMBOLS_SITE_TEXT_H
#define WRITER_SYMBOLS_SITE_TEXT_H

#include <stddef.h>

#define SITE_DEPTH 3 /* frames that name a call site */
#define SITE_WIDE  200 /* bytes of each frame's text */
#define SITE_ROOM  (SITE_DEPTH * (SITE_WIDE + 4))

/* `frame` gives the text of frame i, 0 the innermost; NULL: there are no more. Returns
 * the length; 0: the stack is empty. */
size_t site_text(const char *(*frame)(void *arg, unsigned i), void *arg,
		 char text[SITE_ROOM]);

#endif
