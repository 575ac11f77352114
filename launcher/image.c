/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct bytes {
	const char *at;
	size_t size;
};

/* `count` items of `size` at `offset`, or NULL when they do not lie in the file. */
static const void *part(const struct bytes *f, uint64_t offset, uint64_t count,
			uint64_t size)
{
	if (offset > f->size || count > (f->size - offset) / size || offset % 4)
		return NULL;
	return f->at + offset;
}

static void read_loader(struct image *image, const struct bytes *f, const Elf64_Ehdr *h)
{
	const Elf64_Phdr *ph = part(f, h->e_phoff, h->e_phnum, sizeof(*ph));

	for (unsigned i = 0; ph && i < h->e_phnum; i++)
		if (ph[i].p_type == PT_INTERP && ph[i].p_offset <= f->size &&
		    ph[i].p_filesz <= f->size - ph[i].p_offset)
			snprintf(image->loader, sizeof(image->loader), "%.*s",
				 (int)(ph[i].p_filesz & 0xfff), f->at + ph[i].p_offset);
}

/* A run-time linked in (clang) or needed as a library (gcc) leaves a dynamic string. */
static const struct {
	const char *text, *name;
} runtimes[] = {
	{ "__asan_init", "AddressSanitizer" },
	{ "libasan.so", "AddressSanitizer" },
	{ "__tsan_init", "ThreadSanitizer" },
	{ "libtsan.so", "ThreadSanitizer" },
	{ "__msan_init", "MemorySanitizer" },
	{ "libhwasan.so", "HWAddressSanitizer" },
	{ "__hwasan_init", "HWAddressSanitizer" },
	{ "libclang_rt.asan", "AddressSanitizer" },
	{ "libclang_rt.tsan", "ThreadSanitizer" },
};

/* Strings of the table that begin with `text`. */
static bool has_string(const char *table, size_t size, const char *text)
{
	size_t len = strlen(text);

	for (const char *p = table, *end = table + size; p < end; p++) {
		p = memmem(p, (size_t)(end - p), text, len);
		if (!p)
			return false;
		if (p > table && !p[-1])
			return true;
	}
	return false;
}

static void read_sanitizer(struct image *image, const struct bytes *f,
			   const Elf64_Ehdr *h)
{
	const Elf64_Shdr *sh = part(f, h->e_shoff, h->e_shnum, sizeof(*sh));

	for (unsigned i = 0; sh && i < h->e_shnum; i++) {
		if (sh[i].sh_type != SHT_STRTAB || sh[i].sh_offset > f->size ||
		    sh[i].sh_size > f->size - sh[i].sh_offset)
			continue;
		for (unsigned r = 0; r < sizeof(runtimes) / sizeof(*runtimes); r++)
			if (has_string(f->at + sh[i].sh_offset, sh[i].sh_size,
				       runtimes[r].text))
				image->sanitizer = runtimes[r].name;
	}
}

static int read_bytes(struct image *image, const struct bytes *f)
{
	const Elf64_Ehdr *h = (const void *)f->at;

	if (f->size < sizeof(*h) || memcmp(f->at, ELFMAG, SELFMAG))
		return -ENOEXEC;
	image->native = h->e_ident[EI_CLASS] == ELFCLASS64 && h->e_machine == EM_X86_64;
	if (image->native) {
		read_loader(image, f, h);
		read_sanitizer(image, f, h);
	}
	return 0;
}

int image_read(struct image *image, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = fd < 0 ? -errno : 0;
	struct stat st;
	struct bytes f;

	*image = (struct image){ .sanitizer = "" };
	if (err)
		return err;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0) {
		close(fd);
		return -ENOEXEC;
	}
	f.size = (size_t)st.st_size;
	f.at = mmap(NULL, f.size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (f.at == MAP_FAILED)
		return -errno;
	err = read_bytes(image, &f);
	munmap((void *)f.at, f.size);
	return err;
}
