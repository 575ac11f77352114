/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_image - programs built byte by byte, as base/image.h reads them.
 *
 * Threads  one.
 * Memory   static.
 * Errors   a failed Check assertion.
 * Units    bytes.
 */
#ifndef TESTS_PROGRAM_IMAGE_H
#define TESTS_PROGRAM_IMAGE_H

#include "config/aside.h"
#include "tests/unit/unit.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BASE  0x400000
#define GLIBC "/lib64/ld-linux-x86-64.so.2"

/* Where the parts lie: each fits before the next. */
static const struct program_layout {
	uint32_t loader, dynamic, hash, symbols, strings;
} narrow = { 0x400, 0x600, 0x700, 0x800, 0x1000 },
  wide = { 0x1000, 0x1800, 0x3400, 0x3500, 0x4000 }, *layout = &narrow;
#define STRINGS layout->strings
#define HASH    layout->hash
#define SYMBOLS layout->symbols
#define DYNAMIC layout->dynamic
#define LOADER  layout->loader

struct program {
	const char *loader, *needed, *soname, *export;
	bool no_hash; /* exported names stand in the strings alone */
	uint32_t shift; /* of the filter's second bit; 0: 6, as GNU ld's */
	uint32_t filler; /* bytes of strings before those */
	int machine, class;
	unsigned loads, needs; /* so many more, of which nothing is used */
};

static uint8_t bytes[1 << 20];
static struct image image;

static inline uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	while (*name)
		h = h * 33 + (unsigned char)*name++;
	return h;
}

static inline uint32_t add_string(uint32_t *end, const char *text)
{
	uint32_t at = *end;

	strcpy((char *)bytes + STRINGS + at, text);
	*end += (uint32_t)strlen(text) + 1;
	return at;
}

/* One bucket, one symbol behind the empty one, a filter that lets only it through. */
static inline void add_hash(const char *name, uint32_t string, uint32_t shift)
{
	uint32_t h = hash_of(name), *word = (uint32_t *)(bytes + HASH);
	Elf64_Sym symbol = { .st_name = string };

	memcpy(word, (uint32_t[]){ 1, 1, 1, shift }, 16);
	*(uint64_t *)(word + 4) = 1ull << h % 64 | 1ull << (h >> shift) % 64;
	word[6] = 1;
	word[7] = h | 1;
	memcpy(bytes + SYMBOLS + sizeof(symbol), &symbol, sizeof(symbol));
}

static inline void add_dynamic(unsigned *n, int64_t tag, uint64_t value)
{
	Elf64_Dyn e = { .d_tag = tag, .d_un.d_val = value };

	memcpy(bytes + DYNAMIC + (*n)++ * sizeof(e), &e, sizeof(e));
}

static inline unsigned fill_dynamic(const struct program *p, uint32_t *end)
{
	uint32_t string = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < p->needs; i++)
		add_dynamic(&n, DT_NEEDED, 0);

	if (p->needed)
		add_dynamic(&n, DT_NEEDED, add_string(end, p->needed));
	if (p->soname)
		add_dynamic(&n, DT_SONAME, add_string(end, p->soname));
	if (p->export)
		string = add_string(end, p->export);
	if (p->export && !p->no_hash) {
		add_hash(p->export, string, p->shift ?: 6);
		add_dynamic(&n, DT_GNU_HASH, BASE + HASH);
		add_dynamic(&n, DT_SYMTAB, BASE + SYMBOLS);
	}
	add_dynamic(&n, DT_STRTAB, BASE + STRINGS);
	add_dynamic(&n, DT_STRSZ, *end);
	add_dynamic(&n, DT_NULL, 0);
	return n;
}

static inline size_t build(const struct program *p)
{
	Elf64_Ehdr h = { .e_machine = (Elf64_Half)(p->machine ?: EM_X86_64),
			 .e_phoff = sizeof(h),
			 .e_phentsize = sizeof(Elf64_Phdr) };
	uint32_t end = 1 + p->filler;
	Elf64_Phdr ph[3] = { { .p_type = PT_LOAD, .p_vaddr = BASE } };
	Elf64_Phdr more = { .p_type = PT_LOAD, .p_vaddr = 1ull << 40 };
	unsigned n;

	layout = p->loads || p->needs ? &wide : &narrow;
	memset(bytes, 0, sizeof(bytes));
	memset(bytes + STRINGS + 1, 'x', p->filler ? p->filler - 1 : 0);
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = (unsigned char)(p->class ?: ELFCLASS64);
	n = fill_dynamic(p, &end);
	ph[0].p_filesz = STRINGS + end;
	ph[1] = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
			      .p_offset = DYNAMIC,
			      .p_filesz = n * sizeof(Elf64_Dyn) };
	h.e_phnum = 2;
	if (p->loader) {
		strcpy((char *)bytes + LOADER, p->loader);
		ph[h.e_phnum++] = (Elf64_Phdr){ .p_type = PT_INTERP,
						.p_offset = LOADER,
						.p_filesz = strlen(p->loader) + 1 };
	}
	memcpy(bytes + sizeof(h), ph, sizeof(ph));
	for (unsigned i = 0; i < p->loads; i++)
		memcpy(bytes + sizeof(h) + h.e_phnum++ * sizeof(more), &more,
		       sizeof(more));
	memcpy(bytes, &h, sizeof(h));
	return STRINGS + end;
}

static inline int file_of(const void *what, size_t size)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, what, size), (ssize_t)size);
	return fd;
}

static inline enum image_kind read_text(const char *text, size_t size)
{
	int fd = file_of(text, size);

	image_read(&image, fd);
	close(fd);
	return image.kind;
}

static inline enum aside verdict(const struct program *p)
{
	size_t size = build(p);

	ck_assert_int_eq(read_text((char *)bytes, size), IMAGE_ELF);
	return aside_of(&image);
}

/* ---- files ---- */

static inline void put_file(const char *name, const void *what, size_t size)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0755);

	ck_assert_int_eq(write(fd, what, size), (ssize_t)size);
	close(fd);
	chmod(name, 0755);
}

static inline enum aside look(const char *path)
{
	return aside_look(&image, AT_FDCWD, path, 0);
}

#endif
