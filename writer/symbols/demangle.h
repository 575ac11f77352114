/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle - C++ names as people write them.
 *
 * Threads  one at a time.
 * Memory   its own: a stack for the demangler, and the demangled names, each once, up to
 *          a bound; then all are forgotten.
 * Errors   a text that is no mangled name, is too long, or becomes too long stays as it
 *          is.
 * Units    bytes.
 */
#ifndef WRITER_SYMBOLS_DEMANGLE_H
#define WRITER_SYMBOLS_DEMANGLE_H

#include "agent/core/names.h"
#include "agent/core/spool_view.h"

struct demangle;

struct demangle *demangle_new(void); /* NULL: no memory */
void demangle_free(struct demangle *d);
/* Name `id` demangled and escaped for JSON; "unknown" when there is no such name. Valid
 * until the next call. A part behind a blank ("_Z1fv (libx.so+0x12)") stays as it is. */
const char *demangle_json(struct demangle *d, const struct spool_view *v, uint32_t id,
			  size_t *len);

#endif
