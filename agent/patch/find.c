/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each mapped object is asked once: its dynamic symbols by their hash table, in
 * memory, as the loader does; then the .symtab of its file, where local names are.
 */
#include "agent/patch/steps.h"
#include "base/elf.h"
#include "base/fmt.h"
#include "base/hash.h"
#include "base/seldom.h"
#include "base/sys.h"
#include "base/text.h"

#include <elf.h>
#include <fnmatch.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#define SEEN 4096u

struct search {
	const char *library, *name;
	size_t library_len;
	struct patch_found *found;
};

static SELDOM uintptr_t seen[SEEN]; /* program headers of objects looked through */
static unsigned seen_count;

/* ---- dynamic symbols ---- */

struct dynamic {
	const Elf64_Sym *symbols;
	const char *names;
	const uint32_t *gnu_hash, *sysv_hash;
	uint64_t names_size;
};

static bool read_dynamic(const struct dl_phdr_info *info, struct dynamic *d)
{
	*d = (struct dynamic){
		.symbols = elf_address(info, DT_SYMTAB),
		.names = elf_address(info, DT_STRTAB),
		.gnu_hash = elf_address(info, DT_GNU_HASH),
		.sysv_hash = elf_address(info, DT_HASH),
		.names_size = elf_value(info, DT_STRSZ),
	};
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
	uint32_t hash = hash_symbol(name), i;

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

/* The chain count is the number of symbols: they are looked through one by one. */
static uint32_t find_by_sysv_hash(const struct dynamic *d, const char *name)
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
	    : d.sysv_hash ? find_by_sysv_hash(&d, s->name)
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

/* An object that was looked through is known by where its program headers lie. When the
 * table is full, objects are looked through again at each search. */
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
	if (!s->library)
		return true;
	fmt(glob, sizeof(glob), "%.*s", (int)s->library_len, s->library);
	return !fnmatch(glob, text_base(path), 0) || !fnmatch(glob, path, 0);
}

static int look_in_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	const char *path = info->dlpi_name;
	char program[4096];

	(void)size;
	if (already_seen((uintptr_t)info->dlpi_phdr))
		return 0;
	if (!path || !*path) {
		program_path(program, sizeof(program));
		path = program;
	} else if (patch_elf_holds(info, (uintptr_t)&seen)) {
		return 0; /* the agent itself: not what `symbol:` means */
	}
	if (!is_wanted(s, path) || (!find_dynamic(info, s) && !find_local(info, path, s)))
		return 0;
	fmt(s->found->object, sizeof(s->found->object), "%s", text_base(path));
	return 1;
}

bool patch_find(const char *library, size_t library_len, const char *name,
		struct patch_found *found)
{
	struct search s = { library, name, library_len, found };

	found->at = 0;
	return dl_iterate_phdr(look_in_object, &s);
}
