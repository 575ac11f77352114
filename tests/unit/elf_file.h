/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_file - a small library with one table of functions and one note, as a test says.
 *
 * Threads  one.
 * Memory   none; the file is the caller's.
 * Errors   fail the test.
 * Units    bytes.
 */
#ifndef TESTS_ELF_FILE_H
#define TESTS_ELF_FILE_H

#include "tests/unit/unit.h"

#include <elf.h>
#include <stddef.h>

struct elf_file {
	Elf64_Ehdr head;
	Elf64_Phdr note_head;
	Elf64_Shdr sections[3];
	Elf64_Sym symbols[4]; /* what has no name is none */
	char names[64];
	Elf64_Nhdr note;
	char note_name[4];
	unsigned char note_text[20];
	char behind[512];
};

static inline void elf_file_symbol(struct elf_file *f, unsigned at, const char *name,
				   uint64_t value, uint64_t size)
{
	f->symbols[at] = (Elf64_Sym){ .st_name = 1 + 16 * at,
				      .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				      .st_shndx = 1,
				      .st_value = value,
				      .st_size = size };
	strncpy(f->names + 1 + 16 * at, name, 15);
}

/* `type`: of the table of symbols. */
static inline struct elf_file elf_file_new(uint32_t type)
{
	struct elf_file f = { .head = { .e_type = ET_DYN,
					.e_machine = EM_X86_64,
					.e_version = EV_CURRENT,
					.e_phoff = offsetof(struct elf_file, note_head),
					.e_shoff = offsetof(struct elf_file, sections),
					.e_ehsize = sizeof(Elf64_Ehdr),
					.e_phentsize = sizeof(Elf64_Phdr),
					.e_shentsize = sizeof(Elf64_Shdr),
					.e_shnum = 3 } };

	memcpy(f.head.e_ident, ELFMAG, SELFMAG);
	f.head.e_ident[EI_CLASS] = ELFCLASS64;
	f.head.e_ident[EI_DATA] = ELFDATA2LSB;
	f.head.e_ident[EI_VERSION] = EV_CURRENT;
	f.sections[1] = (Elf64_Shdr){ .sh_type = type,
				      .sh_offset = offsetof(struct elf_file, symbols),
				      .sh_size = sizeof(f.symbols),
				      .sh_entsize = sizeof(Elf64_Sym),
				      .sh_link = 2 };
	f.sections[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				      .sh_offset = offsetof(struct elf_file, names),
				      .sh_size = sizeof(f.names) };
	return f;
}

/* A build id, if it is one, of the sizes that are said. */
static inline void elf_file_note(struct elf_file *f, uint32_t type, uint32_t name,
				 uint32_t text)
{
	f->head.e_phnum = 1;
	f->note_head = (Elf64_Phdr){ .p_type = PT_NOTE,
				     .p_offset = offsetof(struct elf_file, note),
				     .p_filesz = sizeof(f->note) + sizeof(f->note_name) +
						 sizeof(f->note_text) };
	f->note = (Elf64_Nhdr){ .n_type = type, .n_namesz = name, .n_descsz = text };
	memcpy(f->note_name, "GNU", 4);
	memset(f->note_text, 0xab, sizeof(f->note_text));
}

static inline void elf_file_write(const struct elf_file *f, const char *path)
{
	FILE *to = fopen(path, "w");

	ck_assert_ptr_nonnull(to);
	ck_assert_uint_eq(fwrite(f, sizeof(*f), 1, to), 1);
	ck_assert_int_eq(fclose(to), 0);
}

#endif
