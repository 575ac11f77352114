/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shown - what a verb prints: made whole, then on standard output or in a file.
 *
 * Threads  one.
 * Memory   that of the text, freed.
 * Errors   2, after a line on stderr.
 * Units    none.
 */
#ifndef LAUNCHER_SHOWN_H
#define LAUNCHER_SHOWN_H

#include "report/view/screen.h"

/* `print` says false where memory is short. `output`: NULL = standard output. Returns the
 * verb's exit status. */
int shown_print(const char *output, bool colour,
		bool (*print)(const void *what, const struct screen *to),
		const void *what);

#endif
