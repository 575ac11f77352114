/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdw - elfutils' libdw, opened at run time: the types of it that are needed here, so
 * that neither building nor running depends on it.
 *
 * Threads  one.
 * Memory   as libdw's own documentation says.
 * Errors   all members of `libdw` are NULL until symbol_libdw_open has returned true.
 * Units    as libdw's.
 */
#ifndef LAUNCHER_SYMBOLS_LIBDW_H
#define LAUNCHER_SYMBOLS_LIBDW_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

#ifndef _LIBDWFL_H /* a test includes the real one first */
typedef struct Elf Elf;
typedef struct Dwfl Dwfl;
typedef struct Dwfl_Module Dwfl_Module;
typedef struct Dwarf Dwarf;
typedef struct Dwarf_CU Dwarf_CU;
typedef struct Dwarf_Line_s Dwarf_Line;
typedef struct Dwarf_Files_s Dwarf_Files;
typedef Elf64_Sym GElf_Sym;
typedef Elf64_Addr GElf_Addr, Dwarf_Addr;
typedef Elf64_Word GElf_Word;
typedef Elf64_Half Dwarf_Half;
typedef Elf64_Xword Dwarf_Word;

typedef struct {
	unsigned int code, form;
	unsigned char *valp;
	Dwarf_CU *cu;
} Dwarf_Attribute;

typedef struct {
	void *addr;
	Dwarf_CU *cu;
	void *abbrev;
	long padding;
} Dwarf_Die;

typedef struct {
	int (*find_elf)(Dwfl_Module *, void **, const char *, Dwarf_Addr, char **,
			Elf **);
	int (*find_debuginfo)(Dwfl_Module *, void **, const char *, Dwarf_Addr,
			      const char *, const char *, GElf_Word, char **);
	int (*section_address)(Dwfl_Module *, void **, const char *, Dwarf_Addr,
			       const char *, GElf_Word, const Elf64_Shdr *, Dwarf_Addr *);
	char **debuginfo_path;
} Dwfl_Callbacks;
#endif

_Static_assert(sizeof(Dwarf_Attribute) == 24, "libdw's");
_Static_assert(sizeof(Dwarf_Die) == 32, "libdw's");
_Static_assert(sizeof(Dwfl_Callbacks) == 32, "libdw's");

/* Numbers that DWARF defines. */
enum {
	TAG_CLASS_TYPE = 0x02,
	TAG_LEXICAL_BLOCK = 0x0b,
	TAG_COMPILE_UNIT = 0x11,
	TAG_STRUCTURE_TYPE = 0x13,
	TAG_UNION_TYPE = 0x17,
	TAG_INLINED_SUBROUTINE = 0x1d,
	TAG_MODULE = 0x1e,
	TAG_WITH_STMT = 0x22,
	TAG_CATCH_BLOCK = 0x25,
	TAG_SUBPROGRAM = 0x2e,
	TAG_TRY_BLOCK = 0x32,
	TAG_NAMESPACE = 0x39,
	TAG_SKELETON_UNIT = 0x4a,
	AT_CALL_FILE = 0x58,
	AT_CALL_LINE = 0x59,
	AT_LINKAGE_NAME = 0x6e,
	AT_MIPS_LINKAGE_NAME = 0x2007,
};

struct symbol_libdw {
#define LIBDW(result, name, arguments) result(*name) arguments;
#include "launcher/symbols/libdw.def"
#undef LIBDW
};
extern struct symbol_libdw libdw;

#endif
