/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each mapped object is asked once: its dynamic symbols by their hash table, in
 * memory, as the loader does; then the .symtab of its file, where local names are.
 */
#include "agent/core/fmt.h"
#include "agent/core/sys.h"
#include "agent/hooks/patch_parts.h"

#include <elf.h>
#include <fnmatch.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define SEEN 4096u

struct search {
	const char *library, *name;
	size_t library_len;
	struct patch_found *found;
};

static uintptr_t seen[SEEN]; /* addresses of program headers of objects looked through */
static unsigned seen_count;

/* ---- dynamic symbols ---- */

struct dynamic {
	const Elf64_Sym *symbols;
	const char *names;
	const uint32_t *gnu_hash, *sysv_hash;
	uint64_t names_size;
};

/* The loader has made some of these addresses absolute, not all (the vdso's). */
static const void *at(const struct dl_phdr_info *info, uintptr_t value)
{
	return (const void *)(value < info->dlpi_addr ? value + info->dlpi_addr : value);
}

static bool read_dynamic(const struct dl_phdr_info *info, struct dynamic *d)
{
	const Elf64_Dyn *dyn = NULL;

	memset(d, 0, sizeof(*d));
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dyn = (const Elf64_Dyn *)(info->dlpi_addr +
						  info->dlpi_phdr[i].p_vaddr);
	for (; dyn && dyn->d_tag != DT_NULL; dyn++) {
		if (dyn->d_tag == DT_SYMTAB)
			d->symbols = at(info, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_STRTAB)
			d->names = at(info, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_STRSZ)
			d->names_size = dyn->d_un.d_val;
		else if (dyn->d_tag == DT_GNU_HASH)
			d->gnu_hash = at(info, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_HASH)
			d->sysv_hash = at(info, dyn->d_un.d_ptr);
	}
	return d->symbols && d->names;
}

static bool is_named(const struct dynamic *d, uint32_t i, const char *name)
{
	const Elf64_Sym *s = &d->symbols[i];
	unsigned type = ELF64_ST_TYPE(s->st_info);

	return s->st_shndx && (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       s->st_name < d->names_size && !strcmp(d->names + s->st_name, name);
}

static uint32_t by_gnu_hash(const struct dynamic *d, const char *name)
{
	const uint32_t *t = d->gnu_hash, *buckets, *chain;
	uint32_t hash = 5381, i;

	for (const char *p = name; *p; p++)
		hash = hash * 33 + (unsigned char)*p;
	if (!t[0])
		return 0;
	buckets = t + 4 + 2 * t[2];
	chain = buckets + t[0];
	i = buckets[hash % t[0]];
	if (i < t[1])
		return 0;
	for (;; i++) {
		if ((chain[i - t[1]] | 1) == (hash | 1) && is_named(d, i, name))
			return i;
		if (chain[i - t[1]] & 1)
			return 0;
	}
}

static uint32_t by_sysv_hash(const struct dynamic *d, const char *name)
{
	for (uint32_t i = 1; i < d->sysv_hash[1]; i++)
		if (is_named(d, i, name))
			return i;
	return 0;
}

static bool find_dynamic(const struct dl_phdr_info *info, const struct search *s)
{
	struct dynamic d;
	const Elf64_Sym *sym;
	uint32_t i;

	if (!read_dynamic(info, &d))
		return false;
	i = d.gnu_hash    ? by_gnu_hash(&d, s->name)
	    : d.sysv_hash ? by_sysv_hash(&d, s->name)
			  : 0;
	if (!i)
		return false;
	sym = &d.symbols[i];
	s->found->at = info->dlpi_addr + sym->st_value;
	s->found->size = sym->st_size;
	s->found->ifunc = ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC;
	s->found->others = 0;
	return true;
}

/* ---- local symbols ---- */

static bool find_local(const struct dl_phdr_info *info, const char *path,
		       const struct search *s)
{
	const Elf64_Phdr *first = NULL;
	struct patch_symbols sym = { 0 };
	struct patch_elf elf;

	for (unsigned i = 0; !first && i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && !info->dlpi_phdr[i].p_offset)
			first = &info->dlpi_phdr[i];
	if (!first || !patch_elf_open(&elf, path))
		return false;
	if (patch_elf_is(&elf, (const void *)(info->dlpi_addr + first->p_vaddr),
			 first->p_memsz))
		patch_elf_symtab(&elf, s->name, &sym);
	patch_elf_close(&elf);
	if (!sym.count)
		return false;
	s->found->at = info->dlpi_addr + sym.value;
	s->found->size = sym.size;
	s->found->ifunc = sym.ifunc;
	s->found->others = sym.count - 1;
	return true;
}

/* ---- objects ---- */

static bool already_seen(uintptr_t headers)
{
	for (unsigned i = 0; i < seen_count; i++)
		if (seen[i] == headers)
			return true;
	if (seen_count < SEEN)
		seen[seen_count++] = headers;
	return false;
}

static void program_path(char *buf, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", buf, size - 1);

	buf[n > 0 ? n : 0] = 0;
}

static bool is_wanted(const struct search *s, const char *path)
{
	char glob[256];
	const char *base = strrchr(path, '/');

	if (!s->library)
		return true;
	fmt(glob, sizeof(glob), "%.*s", (int)s->library_len, s->library);
	return !fnmatch(glob, base ? base + 1 : path, 0) || !fnmatch(glob, path, 0);
}

/* The agent itself must not be what `symbol:` finds. */
static bool is_ours(const struct dl_phdr_info *info)
{
	uintptr_t me = (uintptr_t)&seen;

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD &&
		    me - (info->dlpi_addr + p->p_vaddr) < p->p_memsz)
			return true;
	}
	return false;
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	const char *path = info->dlpi_name, *base;
	char program[4096];

	(void)size;
	if (already_seen((uintptr_t)info->dlpi_phdr))
		return 0;
	if (!path || !*path) {
		program_path(program, sizeof(program));
		path = program;
	} else if (is_ours(info)) {
		return 0;
	}
	if (!is_wanted(s, path) || (!find_dynamic(info, s) && !find_local(info, path, s)))
		return 0;
	base = strrchr(path, '/');
	fmt(s->found->object, sizeof(s->found->object), "%s", base ? base + 1 : path);
	return 1;
}

bool patch_find(const char *library, size_t library_len, const char *name,
		struct patch_found *found)
{
	struct search s = { library, name, library_len, found };

	found->at = 0;
	return dl_iterate_phdr(look, &s);
}
