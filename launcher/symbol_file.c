/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/symbol_parts.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool symbol_file_open(struct symbol_file *f, const char *path)
{
	/* What a trace names may be a pipe by now: never wait for it. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const Elf64_Ehdr *h;
	struct stat st;

	*f = (struct symbol_file){ .fd = fd };
	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    st.st_size >= (off_t)sizeof(Elf64_Ehdr)) {
		f->size = (size_t)st.st_size;
		f->base = mmap(NULL, f->size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (f->base == MAP_FAILED)
			f->base = NULL;
	}
	h = (const Elf64_Ehdr *)f->base;
	if (h && !memcmp(h->e_ident, ELFMAG, SELFMAG) &&
	    h->e_ident[EI_CLASS] == ELFCLASS64 && h->e_ident[EI_DATA] == ELFDATA2LSB)
		return true;
	symbol_file_close(f);
	return false;
}

void symbol_file_close(struct symbol_file *f)
{
	if (f->base)
		munmap((void *)f->base, f->size);
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct symbol_file){ .fd = -1 };
}

/* [offset, offset + size) of the file, if it is all there. */
static const void *part(const struct symbol_file *f, uint64_t offset, uint64_t size)
{
	if (offset > f->size || size > f->size - offset)
		return NULL;
	return f->base + offset;
}

/* ---- the build id ---- */

static uint64_t padded(uint64_t n)
{
	return (n + 3) & ~3ull;
}

static unsigned id_of_notes(const uint8_t *at, uint64_t size, uint8_t id[SYMBOL_ID])
{
	Elf64_Nhdr n;

	while (size >= sizeof(n)) {
		uint64_t all;

		memcpy(&n, at, sizeof(n));
		all = sizeof(n) + padded(n.n_namesz) + padded(n.n_descsz);
		if (all > size)
			break;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    !memcmp(at + sizeof(n), "GNU", 4)) {
			unsigned len = n.n_descsz < SYMBOL_ID ? n.n_descsz : SYMBOL_ID;

			memcpy(id, at + sizeof(n) + 4, len);
			return len;
		}
		at += all;
		size -= all;
	}
	return 0;
}

unsigned symbol_file_id(const struct symbol_file *f, uint8_t id[SYMBOL_ID])
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)f->base;
	unsigned len = 0;

	for (unsigned i = 0; i < h->e_phnum && !len; i++) {
		const void *at =
			part(f, h->e_phoff + i * sizeof(Elf64_Phdr), sizeof(Elf64_Phdr));
		Elf64_Phdr p;

		if (!at)
			break;
		memcpy(&p, at, sizeof(p));
		at = p.p_type == PT_NOTE ? part(f, p.p_offset, p.p_filesz) : NULL;
		if (at)
			len = id_of_notes(at, p.p_filesz, id);
	}
	return len;
}

/* ---- symbols ---- */

struct section {
	Elf64_Shdr h;
	bool there;
};

static struct section section(const struct symbol_file *f, unsigned i)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)f->base;
	struct section s = { .there = false };
	const void *at = NULL;

	if (i < h->e_shnum && h->e_shentsize == sizeof(s.h) && h->e_shoff <= f->size)
		at = part(f, h->e_shoff + i * sizeof(s.h), sizeof(s.h));
	if (at)
		memcpy(&s.h, at, sizeof(s.h));
	s.there = at != NULL;
	return s;
}

/* Calls one() for each symbol of a table. */
static void each(const struct symbol_file *f, const struct section *table,
		 bool (*one)(const char *name, const Elf64_Sym *s, void *arg), void *arg)
{
	struct section text = section(f, table->h.sh_link);
	const uint8_t *at = part(f, table->h.sh_offset, table->h.sh_size);
	const char *names = NULL;

	if (text.there && text.h.sh_type == SHT_STRTAB && text.h.sh_size)
		names = part(f, text.h.sh_offset, text.h.sh_size);
	if (!at || !names || names[text.h.sh_size - 1])
		return;
	for (uint64_t i = 0; i < table->h.sh_size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym s;

		memcpy(&s, at + i * sizeof(s), sizeof(s));
		if (s.st_name < text.h.sh_size && s.st_shndx != SHN_UNDEF &&
		    !one(names + s.st_name, &s, arg))
			return;
	}
}

static void each_of_type(const struct symbol_file *f, uint32_t type,
			 bool (*one)(const char *name, const Elf64_Sym *s, void *arg),
			 void *arg)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)f->base;

	for (unsigned i = 0; i < h->e_shnum; i++) {
		struct section s = section(f, i);

		if (s.there && s.h.sh_type == type)
			each(f, &s, one, arg);
	}
}

static bool add(const char *name, const Elf64_Sym *s, void *arg)
{
	symbol_add(arg, name, s->st_value, s->st_size, s->st_info);
	return true;
}

void symbol_file_read(const struct symbol_file *f, struct symbol_table *t)
{
	each_of_type(f, SHT_SYMTAB, add, t);
	if (!t->n)
		each_of_type(f, SHT_DYNSYM, add, t);
}

struct wanted {
	const char *name;
	bool found;
};

static bool compare(const char *name, const Elf64_Sym *s, void *arg)
{
	struct wanted *w = arg;

	w->found = ELF64_ST_TYPE(s->st_info) == STT_FUNC && !strcmp(name, w->name);
	return !w->found;
}

bool symbol_file_hides(const struct symbol_file *f, const char *name)
{
	struct wanted seen = { .name = name }, all = seen;

	each_of_type(f, SHT_DYNSYM, compare, &seen);
	each_of_type(f, SHT_SYMTAB, compare, &all);
	return all.found && !seen.found;
}

bool symbol_file_defines(const struct symbol_file *f, const char *name)
{
	struct wanted w = { .name = name };

	each_of_type(f, SHT_DYNSYM, compare, &w);
	if (!w.found)
		each_of_type(f, SHT_SYMTAB, compare, &w);
	return w.found;
}
