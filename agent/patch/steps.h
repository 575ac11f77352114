/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps - the steps of patching a function, one file each.
 *
 * Threads  one at a time.
 * Memory   static, and the pages that patch_near makes.
 * Errors   NULL for fine, else why not, as text; true or false where only asked.
 * Units    bytes and addresses.
 */
#ifndef PATCH_STEPS_H
#define PATCH_STEPS_H

#include "base/maps.h"

#include <link.h>

/* ---- patch/find.c: where is it ---- */

struct patch_found {
	uintptr_t at; /* 0: not found */
	size_t size;
	bool ifunc; /* `at` is a resolver */
	unsigned others; /* more functions of that name in the same object */
	char object[256]; /* file name, for the lines */
};

/* Looks through the mapped objects that were not looked through before. */
bool patch_find(const char *library, size_t library_len, const char *name,
		struct patch_found *found);

/* ---- patch/elf.c: one object's tables, all bounds checked ---- */

struct patch_elf {
	const uint8_t *file; /* the whole file, mapped; NULL = not needed */
	size_t size;
};

struct patch_symbols { /* what a table says about one name */
	uintptr_t value; /* before the load address is added */
	size_t size;
	bool ifunc;
	unsigned count; /* different addresses under that name */
};

/* Is the address in a segment of this mapped object? */
bool patch_elf_holds(const struct dl_phdr_info *info, uintptr_t where);
bool patch_elf_open(struct patch_elf *elf, const char *path);
void patch_elf_close(struct patch_elf *elf);
/* Is it the file that is mapped there? Compares the first page's headers. */
bool patch_elf_is(const struct patch_elf *elf, const void *mapped, size_t mapped_size);
void patch_elf_symtab(const struct patch_elf *elf, const char *name,
		      struct patch_symbols *out);

/* ---- patch/decode.c: one instruction, by a library that is opened at run time ---- */

#define PATCH_LONGEST 15 /* bytes of one instruction */
enum insn_kind { INSN_OTHER, INSN_CALL, INSN_JUMP, INSN_BRANCH, INSN_RETURN, INSN_KINDS };

struct patch_insn {
	uint8_t length;
	uint8_t opcode;
	bool relative; /* has a branch target */
	int64_t target; /* from its end */
	bool rip; /* has memory relative to its end */
	bool stack; /* its memory may be relative to the stack pointer */
	uint8_t modrm_at;
	uint8_t disp_at;
	int32_t disp;
	enum insn_kind kind;
	uint32_t category; /* the library's number for its kind */
};

const char *patch_decode_open(void);
bool patch_decode(const uint8_t *code, size_t size, struct patch_insn *insn);

/* ---- patch/code.c: its first instructions ---- */

#define PATCH_JUMP 5 /* bytes of jmp rel32 */
#define PATCH_CODE 128 /* room for relocated instructions */

struct patch_plan {
	uintptr_t at; /* where the jump goes: the entry, or behind its endbr64 */
	uint8_t length; /* bytes of whole instructions that it replaces */
	uint8_t first; /* bytes of the first one */
};

const char *patch_code_plan(const struct patch_found *f, struct patch_plan *plan);
/* Writes the replaced instructions, changed to run at `code` itself, and a jump behind
 * them; at most PATCH_CODE bytes. */
const char *patch_code_move(const struct patch_plan *plan, uint8_t *code, size_t *used);

/* ---- patch/stub.c: memory near it, and the way to `hit` ---- */

/* A page within 2 GiB of `at`, writable until patch_seal; NULL. */
uint8_t *patch_near(uintptr_t at);
bool patch_seal(uint8_t *page);
/* Writes the stub's beginning: calls hit(). Returns its length. */
size_t patch_stub_begin(uint8_t *code);
/* Writes a jump to any address; a page has room for one. Returns its length. */
size_t patch_stub_jump(uint8_t *code, uintptr_t to);
/* Writes a push of any value; a page has room for one. Returns its length. */
size_t patch_stub_push(uint8_t *code, uintptr_t value);
void patch_stub_hit(void (*hit)(void));

/* ---- patch/maps.c: what /proc/self/maps says ---- */

/* Calls fn for each mapping, lowest first, until it returns true. */
bool patch_maps(maps_fn fn, void *arg);
int patch_prot(uintptr_t at); /* protection of the page at `at`, -1 = not mapped */

/* ---- patch/got.c: the slots that lead to it ---- */

/* Points the slots to `stub`. Returns how many; the address that they held goes to
 * `ready`, which completes the stub, before the first slot is changed. */
unsigned patch_got(const char *name, const struct patch_found *f, uintptr_t stub,
		   bool (*ready)(uintptr_t original, void *arg), void *arg);

#endif
