/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file, mapped; nothing in it is believed. */
#include "launcher/symbols/frames.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool symbol_file_open(struct symbol_file *f, const char *path)
{
	/* A path in a trace may be a pipe by now: O_NONBLOCK never waits for it. */
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

/* The part [offset, offset + size) of the file; NULL: not all of it is there. */
static const void *file_part(const struct symbol_file *f, uint64_t offset, uint64_t size)
{
	if (offset > f->size || size > f->size - offset)
		return NULL;
	return f->base + offset;
}

/* ---- the build id ---- */

static uint64_t pad_to_4(uint64_t n)
{
	return (n + 3) & ~3ull;
}

static unsigned id_of_notes(const uint8_t *at, uint64_t size, uint8_t id[SYMBOL_ID])
{
	Elf64_Nhdr n;

	while (size >= sizeof(n)) {
		uint64_t all;

		memcpy(&n, at, sizeof(n));
		all = sizeof(n) + pad_to_4(n.n_namesz) + pad_to_4(n.n_descsz);
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
		const void *at = file_part(f, h->e_phoff + i * sizeof(Elf64_Phdr),
					   sizeof(Elf64_Phdr));
		Elf64_Phdr p;

		if (!at)
			break;
		memcpy(&p, at, sizeof(p));
		at = p.p_type == PT_NOTE ? file_part(f, p.p_offset, p.p_filesz) : NULL;
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

/* Copies a section header, for a hostile file's headers need not be aligned; `there` is
 * false for a header behind the file's end. */
static struct section section_at(const struct symbol_file *f, unsigned i)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)f->base;
	struct section s = { .there = false };
	const void *at = NULL;

	if (i < h->e_shnum && h->e_shentsize == sizeof(s.h) && h->e_shoff <= f->size)
		at = file_part(f, h->e_shoff + i * sizeof(s.h), sizeof(s.h));
	if (at)
		memcpy(&s.h, at, sizeof(s.h));
	s.there = at != NULL;
	return s;
}

/* Calls one() for each symbol of a table. */
static void each_symbol(const struct symbol_file *f, const struct section *table,
			bool (*one)(const char *name, const Elf64_Sym *s, void *arg),
			void *arg)
{
	struct section text = section_at(f, table->h.sh_link);
	const uint8_t *at = file_part(f, table->h.sh_offset, table->h.sh_size);
	const char *names = NULL;

	if (text.there && text.h.sh_type == SHT_STRTAB && text.h.sh_size)
		names = file_part(f, text.h.sh_offset, text.h.sh_size);
	/* A table of strings that does not end in a NUL would be read beyond its end. */
	if (!at || !names || names[text.h.sh_size - 1])
		return;
	for (uint64_t i = 0; i < table->h.sh_size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym s;

		memcpy(&s, at + i * sizeof(s), sizeof(s));
		if (s.st_name < text.h.sh_size && !one(names + s.st_name, &s, arg))
			return;
	}
}

static void each_of_type(const struct symbol_file *f, uint32_t type,
			 bool (*one)(const char *name, const Elf64_Sym *s, void *arg),
			 void *arg)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)f->base;

	for (unsigned i = 0; i < h->e_shnum; i++) {
		struct section s = section_at(f, i);

		if (s.there && s.h.sh_type == type)
			each_symbol(f, &s, one, arg);
	}
}

static bool add_symbol(const char *name, const Elf64_Sym *s, void *arg)
{
	if (s->st_shndx != SHN_UNDEF)
		symbol_add(arg, name, s->st_value, s->st_size, s->st_info);
	return true;
}

void symbol_file_read(const struct symbol_file *f, struct symbol_table *t)
{
	each_of_type(f, SHT_SYMTAB, add_symbol, t);
	if (!t->n)
		each_of_type(f, SHT_DYNSYM, add_symbol, t);
}

struct wanted {
	const char *name;
	bool found;
};

static bool compare_name(const char *name, const Elf64_Sym *s, void *arg)
{
	struct wanted *w = arg;

	w->found = s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) == STT_FUNC &&
		   !strcmp(name, w->name);
	return !w->found;
}

/* Is the function in the full table, which the loader does not read, but not in the
 * dynamic table, by which other files are bound to it? */
bool symbol_file_hides(const struct symbol_file *f, const char *name)
{
	struct wanted seen = { .name = name }, all = seen;

	each_of_type(f, SHT_DYNSYM, compare_name, &seen);
	each_of_type(f, SHT_SYMTAB, compare_name, &all);
	return all.found && !seen.found;
}

bool symbol_file_stripped(const struct symbol_file *f)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)f->base;

	for (unsigned i = 0; i < h->e_shnum; i++) {
		struct section s = section_at(f, i);

		if (s.there && s.h.sh_type == SHT_SYMTAB)
			return false;
	}
	return true;
}

struct each {
	void (*one)(const char *name, bool defined, void *arg);
	void *arg;
};

static bool tell_function(const char *name, const Elf64_Sym *s, void *arg)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);
	struct each *each = arg;

	/* A symbol that is not defined here has no type before it is bound. */
	if (s->st_shndx == SHN_UNDEF)
		each->one(name, false, each->arg);
	else if (type == STT_FUNC || type == STT_GNU_IFUNC)
		each->one(name, true, each->arg);
	return true;
}

void symbol_file_functions(const struct symbol_file *f,
			   void (*one)(const char *name, bool defined, void *arg),
			   void *arg)
{
	struct each each = { one, arg };

	each_of_type(f, SHT_DYNSYM, tell_function, &each);
	each_of_type(f, SHT_SYMTAB, tell_function, &each);
}

bool symbol_file_defines(const struct symbol_file *f, const char *name)
{
	struct wanted w = { .name = name };

	each_of_type(f, SHT_DYNSYM, compare_name, &w);
	if (!w.found)
		each_of_type(f, SHT_SYMTAB, compare_name, &w);
	return w.found;
}
