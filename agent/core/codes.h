/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codes - Python's code objects in the spool: what a frame is called, and what its line
 * is found by.  Each is stored once, however often the program makes it anew.
 *
 * A stack of Python's is one of stacks.h: a code object's id has the module's place, and
 * what is executed in it, in bytes from its first instruction, the offset's.
 *
 * Threads  any; lock-free, no malloc.  Equal code has equal ids, but for a few when the
 *          index is crowded.
 * Memory   CHUNK_STACKS chunks, for the life of the process: cap / 8 at most.
 * Errors   id 0: no room.
 * Units    an id is the entry's spool offset / 8; lengths in bytes, without the NUL.
 */
#ifndef CORE_CODES_H
#define CORE_CODES_H

#include "agent/core/spool_view.h"

#define CODES_MAGIC 0x45444f43u
#define CODES_TEXT  1023 /* of a file's name, and of a function's */
#define CODES_TABLE 57344 /* of a line table: what lies behind has no line */
#define CODES_BEGIN UINT32_MAX /* as an offset: no instruction has begun yet */

enum code_lines { /* how the table is written */
		  CODE_NO_LINES,
		  CODE_LNOTAB, /* 3.8, 3.9 */
		  CODE_LINETABLE, /* 3.10 */
		  CODE_LOCATIONS, /* since 3.11 */
};

struct code { /* as it lies in the spool, 8-byte aligned */
	uint32_t magic;
	uint32_t first_line; /* of the function */
	uint32_t table_len;
	uint16_t file_len, name_len;
	uint8_t lines; /* enum code_lines */
	uint8_t spare[7];
	char text[]; /* file, NUL, name, NUL, table; padded */
};

struct code_text { /* UTF-8; need not end with NUL */
	const char *text;
	size_t len;
};

/* ---- the writing side ---- */
uint32_t codes_add(struct code_text file, struct code_text name, uint32_t first_line,
		   enum code_lines lines, struct code_text table);
void codes_forget(void); /* after fork: the spool is another one */

/* ---- the reader's side; the spool may be damaged or hostile ---- */
/* NULL: no such code object. All of its text lies inside the view, with both NULs. */
const struct code *codes_get(const struct spool_view *v, uint32_t id);
static inline const char *code_file(const struct code *c)
{
	return c->text;
}
static inline const char *code_name(const struct code *c)
{
	return c->text + c->file_len + 1;
}
static inline const uint8_t *code_table(const struct code *c)
{
	return (const uint8_t *)c->text + c->file_len + c->name_len + 2;
}

#endif
