/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libiberty - the C++ demangler of the static library, whose own header is not worth
 * another dependency.
 *
 * Threads  any.
 * Memory   the stack alone, and of it as much as the name is deep.
 * Errors   0: the name is not mangled, or cannot be read; what `put` got is void.
 * Units    bytes.
 */
#ifndef BASE_LIBIBERTY_H
#define BASE_LIBIBERTY_H

#include <stddef.h>

/* DMGL_PARAMS, DMGL_ANSI and DMGL_NO_RECURSE_LIMIT of its demangle.h. */
#define DEMANGLE_WHOLE (1 << 0 | 1 << 1 | 1 << 18)

/* Gives the text to `put` piece by piece. */
int cplus_demangle_v3_callback(const char *mangled, int options,
			       void (*put)(const char *text, size_t len, void *arg),
			       void *arg);

#endif
