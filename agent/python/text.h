/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text - Python's str and bytes, read from memory.
 *
 * Threads  any that cannot lose the object meanwhile.
 * Memory   the caller's.
 * Errors   a length of 0: nothing is in the str, or it is of a kind that is not known.
 * Units    bytes.
 */
#ifndef PYTHON_TEXT_H
#define PYTHON_TEXT_H

#include "agent/python/layout.h"

/* As UTF-8, without a NUL; a lone surrogate becomes '?', and what is too long is cut
 * between two characters. */
size_t python_text(const struct python_layout *l, const void *str, char *to, size_t size);
static inline struct code_text python_bytes(const void *bytes)
{
	return (struct code_text){ (const char *)bytes + PYTHON_BYTES,
				   (size_t)layout_at(bytes, PYTHON_LENGTH) };
}

#endif
