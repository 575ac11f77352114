/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout - where CPython keeps a thread's frames and what they execute, by its version.
 *
 * Source   each version's own headers: Include/cpython/pystate.h, code.h, bytesobject.h,
 *          unicodeobject.h, Include/internal/pycore_frame.h.
 * Threads  any; constant.
 * Memory   static.
 * Errors   NULL: a version that nobody has looked at. What is found is right only once
 *          the interpreter has confirmed it (check.h).
 * Units    bytes from the object's start.
 */
#ifndef PYTHON_LAYOUT_H
#define PYTHON_LAYOUT_H

#include "agent/core/codes.h"

#include <stdbool.h>

/* How a frame says what it executes. */
enum python_kind {
	PYTHON_INDEX, /* to 3.10: the code object and an index into it */
	PYTHON_POINTER, /* since 3.11: the instruction's address, which lies in the code
			 */
};

struct python_layout {
	uint8_t minor; /* of 3.x */
	uint8_t kind; /* enum python_kind */
	uint8_t lines; /* enum code_lines */
	uint8_t state_frame; /* PyThreadState: the innermost frame, or what has it */
	uint8_t through; /* 3.11, 3.12: PyThreadState has a _PyCFrame, that the frame ...
			  */
	uint8_t cframe_frame; /* ... here */
	uint8_t caller, code, where; /* of a frame */
	uint8_t entry; /* 3.11: not 0 = C called it; 0 = no frame says so */
	uint8_t owner; /* 0 = frames have none */
	uint8_t helper; /* from this owner on a frame is not Python's, but C's; 0 = none
			   is */
	uint8_t unit; /* bytes that an index counts */
	uint8_t code_file, code_name, code_line, code_table; /* of a code object */
	uint8_t code_first; /* the first instruction of the source, as an index; 0 = none
			     */
	uint8_t code_start; /* instructions */
	uint8_t ascii, wide; /* of a str: its characters */
	uint8_t vectorcall; /* of a function: the C function that executes it */
	uint16_t local; /* of a frame: the first argument; since 3.14 with a tag */
};

/* Of a bytes object and a str, the same in all versions. */
enum { PYTHON_LENGTH = 16, PYTHON_BYTES = 32, PYTHON_STATE = 32 };
#define LAYOUT_TYPE 8 /* of any object: its type */
/* Of a type (Include/cpython/object.h): its name, where its objects have their
 * vectorcall, its flags, the table of its methods, its base, and what it has. */
enum {
	LAYOUT_NAME = 24,
	LAYOUT_CALL = 56,
	LAYOUT_FLAGS = 168,
	LAYOUT_METHODS = 232,
	LAYOUT_BASE = 256,
	LAYOUT_DICT = 264,
};
#define LAYOUT_IS_TYPE (1ul << 31) /* of the flags: Py_TPFLAGS_TYPE_SUBCLASS */

static inline const void *layout_at(const void *object, unsigned offset)
{
	const void *word;

	__builtin_memcpy(&word, (const char *)object + offset, sizeof(word));
	return word;
}

static inline uint32_t layout_word(const void *object, unsigned offset)
{
	uint32_t word;

	__builtin_memcpy(&word, (const char *)object + offset, sizeof(word));
	return word;
}

/* `version`: Py_GetVersion(). *why is set where the result is NULL. */
const struct python_layout *python_layout(const char *version, const char **why);

#endif
