/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc - doctor's lines about the heap: whose malloc, and who names its callers.
 *
 * Threads  one.
 * Memory   none.
 * Errors   as verdicts.
 * Units    none.
 */
#ifndef LAUNCHER_DOCTOR_MALLOC_H
#define LAUNCHER_DOCTOR_MALLOC_H

#include "config/config.h"

/* `image`: the program; `loaded`: the libraries that the loader says it loads. */
void doctor_malloc(const struct config *c, const char *image, const char *loaded);

#endif
