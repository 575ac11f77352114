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

#include <sys/types.h>

/* `print` says false where memory is short. `output`: NULL = standard output. Returns the
 * verb's exit status. */
/* `most`: the permissions of the file: result_most. */
int shown_print(const char *output, mode_t most, bool colour,
		bool (*print)(const void *what, const struct screen *to),
		const void *what);

#endif
