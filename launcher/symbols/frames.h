/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames - what the files of `proflaunch symbolize` share.
 *
 * Threads  one.
 * Memory   malloc, given back by the process's end.
 * Errors   a damaged part reads as if it were not there.
 * Units    addresses are the ELF file's virtual ones.
 */
#ifndef LAUNCHER_SYMBOLS_FRAMES_H
#define LAUNCHER_SYMBOLS_FRAMES_H

#include "launcher/text.h"

#include <stdint.h>

#define SYMBOL_ID 20 /* bytes of a build id that are compared */

/* ---- symbols/file.c: an ELF file, mapped; nothing in it is believed ---- */

struct symbol_file {
	int fd;
	const uint8_t *base;
	size_t size;
};

/* False: it is no regular file of this machine's kind. */
bool symbol_file_open(struct symbol_file *f, const char *path);
void symbol_file_close(struct symbol_file *f);
/* The file's build id, cut to SYMBOL_ID bytes; 0 = it has none. */
unsigned symbol_file_id(const struct symbol_file *f, uint8_t id[SYMBOL_ID]);
/* Calls add() for each function of the file's symbol tables. */
struct symbol_table;
void symbol_file_read(const struct symbol_file *f, struct symbol_table *t);
/* Does the file define a function of that name? */
bool symbol_file_defines(const struct symbol_file *f, const char *name);
/* Have the file's local functions no names? */
bool symbol_file_stripped(const struct symbol_file *f);
/* Calls one() for each name in the file's tables that it defines as a function, and for
 * each that it refers to in other files. */
void symbol_file_functions(const struct symbol_file *f,
			   void (*one)(const char *name, bool defined, void *arg),
			   void *arg);
/* Does the file define the function unseen by others? The agent cannot find it either. */
bool symbol_file_hides(const struct symbol_file *f, const char *name);

/* ---- symbols/table.c: functions by address ---- */

struct symbol {
	uint64_t value, size;
	const char *name; /* points into the file */
	unsigned rank; /* the name of a place with the lowest rank is taken */
};

struct symbol_table {
	struct symbol *at;
	size_t n, room;
	bool sorted;
};

void symbol_add(struct symbol_table *t, const char *name, uint64_t value, uint64_t size,
		unsigned char info);
const char *symbol_find(struct symbol_table *t, uint64_t pc); /* NULL: none */

/* ---- symbols/text.c: answers ---- */

/* Writes "name (file.c:12)", demangled; without a file "name (lib.so+0x12)". NULL name:
 * "??". */
void symbol_put_line(struct text *t, const char *name, const char *file, unsigned line);
void symbol_put_offset(struct text *t, const char *name, const char *module,
		       uint64_t offset);
void symbol_put_end(struct text *t); /* ends a frame's texts */

/* ---- symbols/dwarf.c ---- */

struct symbol_frame {
	uint64_t pc;
	size_t text; /* in symbol_dwarf's own answers; 0 = none */
};

struct symbol_dwarf;

/* NULL: there is no libdw, or it cannot read the file. `f` stays the caller's. */
struct symbol_dwarf *symbol_dwarf_open(const struct symbol_file *f, const char *path);
/* Writes what DWARF tells of the frames, which are sorted by pc: their texts go into
 * `t`. */
void symbol_dwarf_find(struct symbol_dwarf *d, struct symbol_frame *frame, size_t n,
		       struct text *t, struct symbol_table *names);
void symbol_dwarf_names(struct symbol_dwarf *d, struct symbol_table *t);

/* ---- symbols/libdw.c ---- */

bool symbol_libdw_open(void); /* false: libdw is not there, or too old */

#endif
