/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only what the loader would look at is read: headers, the dynamic section and single
 * strings. Sections may have been stripped, and a string table may be megabytes long.
 */
#include "base/image.h"
#include "base/hash.h"
#include "base/sys.h"

#include <elf.h>
#include <string.h>

#define SEGMENTS 1170 /* as many as the kernel accepts */
#define DYNAMIC  1024 /* entries that are looked at */
#define CHAIN    256 /* symbols of one bucket that are compared */
#define TEXT     512 /* bytes without a NUL make a text */
#define SCAN     (256u * 1024) /* of a string table that has no hash table */

static size_t read_part(struct image *f, uint64_t at, char *to)
{
	ssize_t n = sys_pread(f->fd, to, IMAGE_ROOM, at);

	return n > 0 ? (size_t)n : 0;
}

/* `size` bytes of the file, until the next call; NULL when it does not have them. */
static const char *view_bytes(struct image *f, uint64_t at, size_t size)
{
	if (at <= f->head_length && size <= f->head_length - (size_t)at)
		return f->head + at;
	if (at >= f->base && at - f->base <= f->length &&
	    size <= f->length - (size_t)(at - f->base))
		return f->part + (at - f->base);
	if (at > INT64_MAX - IMAGE_ROOM)
		return NULL;
	f->base = at;
	f->length = read_part(f, at, f->part);
	return size <= f->length ? f->part : NULL;
}

static bool copy_bytes(struct image *f, uint64_t at, void *to, size_t size)
{
	const char *from = view_bytes(f, at, size);

	if (from)
		memcpy(to, from, size);
	return from;
}

/* ---- scripts ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void copy_word(char *to, const char *from, const char *end)
{
	memcpy(to, from, (size_t)(end - from));
	to[end - from] = '\0';
}

/* "#! interpreter argument": as the kernel cuts it. */
static void read_script(struct image *f, const char *line, size_t n)
{
	const char *end = memchr(line, '\n', n), *p = line + 2, *word;

	if (!end)
		end = line + n;
	while (end > p && is_blank(end[-1]))
		end--;
	while (p < end && is_blank(*p))
		p++;
	for (word = p; p < end && *p && !is_blank(*p);)
		p++;
	f->kind = p == word ? IMAGE_TEXT : IMAGE_SCRIPT;
	copy_word(f->interpreter, word, p);
	while (p < end && is_blank(*p))
		p++;
	copy_word(f->argument, p, end);
}

/* ---- programs ---- */

/* Where an address of the program lies in its file; 0 = nowhere. */
static uint64_t place_of(const struct image_dynamic *d, uint64_t address)
{
	for (unsigned i = 0; i < d->loads; i++)
		if (address >= d->load[i].address &&
		    address - d->load[i].address < d->load[i].size)
			return d->load[i].at + (address - d->load[i].address);
	return 0;
}

static void read_loader(struct image *f, const Elf64_Phdr *p)
{
	size_t n = p->p_filesz < IMAGE_LINE ? p->p_filesz : IMAGE_LINE - 1;

	if (copy_bytes(f, p->p_offset, f->interpreter, n))
		f->interpreter[n] = '\0';
}

static void read_segments(struct image *f, const Elf64_Ehdr *h)
{
	struct image_dynamic *d = &f->dynamic;
	Elf64_Phdr p;

	for (unsigned i = 0; i < h->e_phnum && i < SEGMENTS; i++) {
		if (!copy_bytes(f, h->e_phoff + i * sizeof(p), &p, sizeof(p)))
			return;
		if (p.p_type == PT_LOAD && d->loads < IMAGE_LOADS) {
			d->load[d->loads].address = p.p_vaddr;
			d->load[d->loads].size = p.p_filesz;
			d->load[d->loads++].at = p.p_offset;
		} else if (p.p_type == PT_DYNAMIC) {
			d->at = p.p_offset;
			d->count = p.p_filesz / sizeof(Elf64_Dyn);
		} else if (p.p_type == PT_INTERP) {
			read_loader(f, &p);
		}
	}
}

static void take_entry(struct image_dynamic *d, const Elf64_Dyn *e)
{
	if (e->d_tag == DT_STRTAB)
		d->strings = place_of(d, e->d_un.d_ptr);
	else if (e->d_tag == DT_STRSZ)
		d->strings_size = e->d_un.d_val;
	else if (e->d_tag == DT_SYMTAB)
		d->symbols = place_of(d, e->d_un.d_ptr);
	else if (e->d_tag == DT_GNU_HASH)
		d->hash = place_of(d, e->d_un.d_ptr);
	else if (e->d_tag == DT_SONAME)
		d->soname = e->d_un.d_val;
	else if (e->d_tag == DT_NEEDED && d->needs < IMAGE_NEEDED)
		d->needed[d->needs++] = e->d_un.d_val;
}

static void read_dynamic(struct image *f)
{
	struct image_dynamic *d = &f->dynamic;
	Elf64_Dyn e;

	for (unsigned i = 0; i < d->count && i < DYNAMIC; i++) {
		if (!copy_bytes(f, d->at + i * sizeof(e), &e, sizeof(e)) ||
		    e.d_tag == DT_NULL)
			return;
		take_entry(d, &e);
	}
}

/* Does the string at that offset of the table begin with these bytes? */
static bool string_begins(struct image *f, uint64_t offset, const char *text, size_t size)
{
	const struct image_dynamic *d = &f->dynamic;
	const char *have = NULL;

	if (d->strings && offset < d->strings_size)
		have = view_bytes(f, d->strings + offset, size);
	return have && !memcmp(have, text, size);
}

/* ---- exported names ---- */

struct hash_head {
	uint32_t buckets, first, blooms, shift;
};

/* A table's filter says of nearly every name that is not there that it is not. */
static bool bloom_says(struct image *f, const struct hash_head *head, uint32_t hash)
{
	uint64_t word, bits = 1ull << hash % 64 | 1ull << (hash >> head->shift % 32) % 64;
	uint64_t at = f->dynamic.hash + sizeof(*head) +
		      (uint64_t)(hash / 64 % head->blooms) * sizeof(word);

	return copy_bytes(f, at, &word, sizeof(word)) && (word & bits) == bits;
}

/* As the loader looks a name up: filter, bucket, chain (DT_GNU_HASH). The chain is
 * bounded, for its end is marked by a bit in the file, which may never come. */
static bool has_export(struct image *f, const char *name)
{
	const struct image_dynamic *d = &f->dynamic;
	uint32_t hash = hash_symbol(name), index, have;
	struct hash_head head;
	uint64_t buckets;
	Elf64_Sym symbol;

	if (!copy_bytes(f, d->hash, &head, sizeof(head)) || !head.buckets ||
	    !head.blooms || !bloom_says(f, &head, hash))
		return false;
	buckets = d->hash + sizeof(head) + 8ull * head.blooms;
	if (!copy_bytes(f, buckets + 4ull * (hash % head.buckets), &index, 4) ||
	    index < head.first)
		return false;
	for (unsigned i = 0; i < CHAIN; i++, index++) {
		uint64_t at = buckets + 4ull * head.buckets + 4ull * (index - head.first);

		if (!copy_bytes(f, at, &have, sizeof(have)))
			return false;
		if ((have | 1) == (hash | 1) &&
		    copy_bytes(f, d->symbols + (uint64_t)index * sizeof(symbol), &symbol,
			       sizeof(symbol)) &&
		    string_begins(f, symbol.st_name, name, strlen(name) + 1))
			return true;
		if (have & 1)
			return false;
	}
	return false;
}

/* Without such a table: is it one of the strings? */
static bool has_string(struct image *f, const char *name)
{
	size_t size = strlen(name) + 1, step = IMAGE_ROOM - size;
	uint64_t end = f->dynamic.strings_size, at = 0;

	for (; at < end && at < SCAN; at += step) {
		size_t n = end - at < IMAGE_ROOM ? (size_t)(end - at) : IMAGE_ROOM;
		const char *part = view_bytes(f, f->dynamic.strings + at, n);

		if (!part)
			return false;
		if (memmem(part, n, name, size))
			return true;
	}
	return false;
}

/* ---- sanitizers ---- */

struct runtime {
	const char *text, *name;
};

/* A run-time that is needed as a library (gcc) ... */
static const struct runtime libraries[] = {
	{ "libasan.so", "AddressSanitizer" },
	{ "libtsan.so", "ThreadSanitizer" },
	{ "libhwasan.so", "HWAddressSanitizer" },
	{ "libclang_rt.asan", "AddressSanitizer" },
	{ "libclang_rt.tsan", "ThreadSanitizer" },
	{ "libclang_rt.hwasan", "HWAddressSanitizer" },
};

/* ... or linked in (clang): then the program exports what instrumented libraries call. */
static const struct runtime functions[] = {
	{ "__asan_init", "AddressSanitizer" },
	{ "__tsan_init", "ThreadSanitizer" },
	{ "__msan_init", "MemorySanitizer" },
	{ "__hwasan_init", "HWAddressSanitizer" },
};
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void read_sanitizer(struct image *f)
{
	const struct image_dynamic *d = &f->dynamic;

	if (!d->strings)
		return;
	for (unsigned i = 0; i < d->needs; i++)
		for (size_t r = 0; r < COUNT(libraries); r++)
			if (string_begins(f, d->needed[i], libraries[r].text,
					  strlen(libraries[r].text)))
				f->sanitizer = libraries[r].name;
	for (size_t r = 0; !*f->sanitizer && r < COUNT(functions); r++)
		if (d->hash ? has_export(f, functions[r].text)
			    : has_string(f, functions[r].text))
			f->sanitizer = functions[r].name;
}

/* ---- all of it ---- */

static void read_program(struct image *f)
{
	Elf64_Ehdr h;

	if (!copy_bytes(f, 0, &h, sizeof(h)))
		return;
	f->kind = IMAGE_ELF;
	f->native = h.e_ident[EI_CLASS] == ELFCLASS64 && h.e_machine == EM_X86_64;
	if (!f->native)
		return;
	read_segments(f, &h);
	read_dynamic(f);
	if (*f->interpreter)
		read_sanitizer(f);
	else if (f->dynamic.soname)
		f->loader = string_begins(f, f->dynamic.soname, "ld-linux", 8);
}

/* The two parts of the file are not cleared: 8 KiB for nothing, in a signal handler or
 * a vfork child. */
void image_read(struct image *f, int fd)
{
	size_t n;

	memset(f, 0, offsetof(struct image, head));
	f->sanitizer = "";
	f->fd = fd;
	f->head_length = n = read_part(f, 0, f->head);
	if (n >= SELFMAG && !memcmp(f->head, ELFMAG, SELFMAG))
		read_program(f);
	else if (n >= 2 && !memcmp(f->head, "#!", 2))
		read_script(f, f->head, n < IMAGE_LINE ? n : IMAGE_LINE - 1);
	else if (n && !memchr(f->head, '\0', n < TEXT ? n : TEXT))
		f->kind = IMAGE_TEXT;
}
