/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weak references that the dynamic linker has bound to our hooks, undone. They are found
 * among the relocations of each object: of a weak symbol that the object does not define,
 * in a slot of its global offset table, and with no other library that has the name.
 */
#include "agent/hooks/weak.h"
#include "agent/hooks/bound.h"
#include "base/elf.h"

#include <errno.h>
#include <string.h>

#define MOST 16384 /* relocations by name that are looked at in an object */

struct object {
	const struct dl_phdr_info *info;
	const Elf64_Sym *symbols;
	const char *names;
	const Elf64_Rela *rela;
	size_t count, relative;
};

struct look {
	struct elf_span us;
	const struct link_map *own;
};

static bool read_object(const struct dl_phdr_info *info, struct object *o)
{
	*o = (struct object){
		.info = info,
		.symbols = elf_address(info, DT_SYMTAB),
		.names = elf_address(info, DT_STRTAB),
		.rela = elf_address(info, DT_RELA),
		.count = elf_value(info, DT_RELASZ) / sizeof(Elf64_Rela),
		.relative = elf_value(info, DT_RELACOUNT),
	};
	return o->symbols && o->names && o->rela && o->relative <= o->count;
}

static bool has_other(const struct look *l, const char *name)
{
	struct elf_object o;

	for (const struct link_map *m = elf_first_object(); m; m = m->l_next)
		if (m != l->own && elf_object(&o, m->l_addr, m->l_ld) &&
		    elf_function(&o, name))
			return true;
	return false;
}

/* Is the slot bound to us? Our table of names may not say so any more (heap/find.c). A
 * program may ask for our own entry points (proflaunch_*) by weak references: these stay.
 */
static bool is_hook(const struct look *l, uintptr_t value, const char *name)
{
	return value >= l->us.begin && value < l->us.end &&
	       strncmp(name, "proflaunch_", 11);
}

static void look_at(const struct look *l, const struct object *o, const Elf64_Rela *r)
{
	const Elf64_Sym *sym = &o->symbols[ELF64_R_SYM(r->r_info)];
	const char *name = o->names + sym->st_name;
	const uintptr_t *slot = (const uintptr_t *)(o->info->dlpi_addr + r->r_offset);

	if (ELF64_R_TYPE(r->r_info) == R_X86_64_GLOB_DAT && sym->st_shndx == SHN_UNDEF &&
	    ELF64_ST_BIND(sym->st_info) == STB_WEAK && is_hook(l, *slot, name) &&
	    !has_other(l, name))
		bound_store(o->info, (uintptr_t *)slot, 0);
}

static int each_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct look *l = arg;
	struct object o;

	(void)size;
	if (info->dlpi_addr == l->own->l_addr || !read_object(info, &o) ||
	    o.count - o.relative > MOST)
		return 0;
	for (size_t i = o.relative; i < o.count; i++)
		look_at(l, &o, &o.rela[i]);
	return 0;
}

static int find_us(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct look *l = arg;

	(void)size;
	if (info->dlpi_addr != l->own->l_addr)
		return 0;
	l->us = elf_span(info);
	return 1;
}

void weak_undo(void)
{
	struct look l = { .own = elf_our_object() };
	int saved = errno;

	if (l.own && dl_iterate_phdr(find_us, &l))
		dl_iterate_phdr(each_object, &l);
	errno = saved;
}
