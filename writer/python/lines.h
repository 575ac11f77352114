/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines - the source line of an instruction, by the tables that CPython keeps.
 *
 * Formats: 3.8, 3.9 Objects/lnotab_notes.txt; 3.10 PEP 626; since 3.11
 * Objects/locations.md (later InternalDocs/code_objects.md).
 *
 * Threads  any.
 * Memory   none; the table may be damaged or hostile.
 * Errors   0: the table does not tell, or gives the instruction no line.
 * Units    offset: bytes from the first instruction.
 */
#ifndef WRITER_PYTHON_LINES_H
#define WRITER_PYTHON_LINES_H

#include "agent/core/codes.h"

uint32_t lines_find(const struct code *c, uint32_t offset);

#endif
