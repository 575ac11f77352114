/* SPDX-License-Identifier: Apache-2.0 */
/* One object's file and its symbol table; all bounds are checked. */
#include "agent/patch/steps.h"
#include "base/sys.h"
#include "base/unseen.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

struct opening {
	struct patch_elf *elf;
	const char *path;
};

static int map_file(void *arg)
{
	const struct opening *o = arg;
	int fd = sys_open(o->path, O_RDONLY, 0);
	struct sys_stat st;
	void *p = MAP_FAILED;

	if (fd < 0)
		return false;
	if (!sys_fstat(fd, &st) && st.size >= sizeof(Elf64_Ehdr))
		p = mmap(NULL, st.size, PROT_READ, MAP_PRIVATE, fd, 0);
	sys_close(fd);
	if (p == MAP_FAILED)
		return false;
	o->elf->file = p;
	o->elf->size = st.size;
	return true;
}

bool patch_elf_open(struct patch_elf *elf, const char *path)
{
	struct opening o = { elf, path };

	elf->file = NULL;
	elf->size = 0;
	return unseen_run(map_file, &o);
}

void patch_elf_close(struct patch_elf *elf)
{
	if (elf->file)
		munmap((void *)elf->file, elf->size);
	elf->file = NULL;
}

bool patch_elf_is(const struct patch_elf *elf, const void *mapped, size_t mapped_size)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)elf->file;
	size_t size = sizeof(*h) + (size_t)h->e_phnum * sizeof(Elf64_Phdr);

	if (memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 ||
	    h->e_phoff != sizeof(*h) || size > elf->size || size > mapped_size)
		return false;
	return !memcmp(h, mapped, size);
}

bool patch_elf_holds(const struct dl_phdr_info *info, uintptr_t where)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD &&
		    where - (info->dlpi_addr + p->p_vaddr) < p->p_memsz)
			return true;
	}
	return false;
}

/* [offset, offset + count * each) of the file, if it is all there. */
static const void *file_part(const struct patch_elf *elf, uint64_t offset, uint64_t count,
			     uint64_t each)
{
	if (offset > elf->size || offset % 8 ||
	    (each && count > (elf->size - offset) / each))
		return NULL;
	return elf->file + offset;
}

static const Elf64_Shdr *section_of_type(const struct patch_elf *elf, uint32_t type)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)elf->file;
	const Elf64_Shdr *s = file_part(elf, h->e_shoff, h->e_shnum, sizeof(*s));

	if (!s || h->e_shentsize != sizeof(*s))
		return NULL;
	for (unsigned i = 0; i < h->e_shnum; i++)
		if (s[i].sh_type == type && s[i].sh_link < h->e_shnum)
			return &s[i];
	return NULL;
}

/* The name table that belongs to a symbol table; its last byte must end a name. */
static const char *find_name_table(const struct patch_elf *elf, const Elf64_Shdr *table,
				   uint64_t *size)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)elf->file;
	const Elf64_Shdr *s =
		(const Elf64_Shdr *)(elf->file + h->e_shoff) + table->sh_link;

	*size = s->sh_size;
	if (s->sh_type != SHT_STRTAB || s->sh_offset > elf->size || !s->sh_size ||
	    s->sh_size > elf->size - s->sh_offset ||
	    elf->file[s->sh_offset + s->sh_size - 1])
		return NULL;
	return (const char *)elf->file + s->sh_offset;
}

void patch_elf_symtab(const struct patch_elf *elf, const char *name,
		      struct patch_symbols *out)
{
	const Elf64_Shdr *table = section_of_type(elf, SHT_SYMTAB);
	const Elf64_Sym *sym;
	const char *names;
	uint64_t size;

	memset(out, 0, sizeof(*out));
	if (!table)
		return;
	names = find_name_table(elf, table, &size);
	sym = file_part(elf, table->sh_offset, table->sh_size / sizeof(*sym),
			sizeof(*sym));
	for (uint64_t i = 0; names && sym && i < table->sh_size / sizeof(*sym); i++) {
		unsigned type = ELF64_ST_TYPE(sym[i].st_info);

		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || !sym[i].st_shndx ||
		    sym[i].st_name >= size || strcmp(names + sym[i].st_name, name))
			continue;
		if (out->count && out->value == sym[i].st_value)
			continue;
		if (!out->count++) {
			out->value = sym[i].st_value;
			out->size = sym[i].st_size;
			out->ifunc = type == STT_GNU_IFUNC;
		}
	}
}
