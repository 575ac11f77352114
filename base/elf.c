/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols by name, as the dynamic linker finds them: dlsym would take its lock, and
 * may be hooked by the program, or by us. Only an object's own tables are read, which
 * the loader has mapped and relocated; they are believed, for the program runs by
 * them. */
#include "base/elf.h"
#include "base/hash.h"

#include <string.h>

#define HIDDEN 0x8000 /* in DT_VERSYM: not the default version */

static uint64_t dynamic_value(const ElfW(Dyn) * d, int64_t tag)
{
	for (; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			return d->d_un.d_val;
	return 0;
}

/* The dynamic linker adds the load address to most of these; not in objects whose
 * dynamic section cannot be written. */
static const void *dynamic_pointer(uintptr_t bias, const ElfW(Dyn) * d, int64_t tag)
{
	uintptr_t value = dynamic_value(d, tag);

	return (const void *)(value && value < bias ? value + bias : value);
}

bool elf_object(struct elf_object *o, uintptr_t bias, const ElfW(Dyn) * d)
{
	*o = (struct elf_object){
		.bias = bias,
		.sym = dynamic_pointer(bias, d, DT_SYMTAB),
		.names = dynamic_pointer(bias, d, DT_STRTAB),
		.versions = dynamic_pointer(bias, d, DT_VERSYM),
		.defined = dynamic_pointer(bias, d, DT_VERDEF),
		.gnu = dynamic_pointer(bias, d, DT_GNU_HASH),
		.hash = dynamic_pointer(bias, d, DT_HASH),
	};
	return o->sym && o->names && (o->gnu || o->hash);
}

/* AddressSanitizer asks for dlsym before its own strcmp knows the real one. */
static bool same_name(const char *a, const char *b)
{
	for (; *a && *a == *b; a++)
		b++;
	return *a == *b;
}

static bool starts_with(const char *text, const char *with)
{
	while (*with && *text == *with)
		text++, with++;
	return !*with;
}

/* A program asks for the C library's functions by the version that they had when it was
 * linked, and is bound to the library that has that, as glibc's debugging malloc has. */
static bool is_old_glibc(const struct elf_object *o, uint32_t i)
{
	const ElfW(Verdef) *d = o->defined;

	while (d && (d->vd_ndx & ~HIDDEN) != (o->versions[i] & ~HIDDEN))
		d = d->vd_next ? (const void *)((const char *)d + d->vd_next) : NULL;
	return d && d->vd_cnt &&
	       starts_with(o->names +
				   ((const ElfW(Verdaux) *)((const char *)d + d->vd_aux))
					   ->vda_name,
			   "GLIBC_");
}

static bool is_hidden(const struct elf_object *o, uint32_t i)
{
	return o->versions && o->versions[i] & HIDDEN;
}

#define ANY STT_HIPROC /* each type, and each version */

/* `type`: STT_FUNC, STT_OBJECT or ANY. */
static void *symbol_address(const struct elf_object *o, uint32_t i, const char *name,
			    unsigned type)
{
	const ElfW(Sym) *s = &o->sym[i];
	unsigned has = ELF64_ST_TYPE(s->st_info), bind = ELF64_ST_BIND(s->st_info);

	if (s->st_shndx == SHN_UNDEF || !s->st_value ||
	    (type != ANY && has != type && has != STT_NOTYPE) ||
	    (bind != STB_GLOBAL && bind != STB_WEAK && bind != STB_GNU_UNIQUE) ||
	    !same_name(o->names + s->st_name, name))
		return NULL;
	return (void *)(o->bias + s->st_value);
}

/* A name may be there in several versions. The default one is taken; where all are
 * hidden, as in glibc's libc_malloc_debug.so, the first of glibc's own old versions. */
struct choice {
	unsigned type;
	void *at, *old; /* of the default version; of a hidden one */
	size_t size; /* of the former */
};

static bool choose_symbol(const struct elf_object *o, uint32_t i, const char *name,
			  struct choice *c)
{
	void *at = symbol_address(o, i, name, c->type);

	if (at && (c->type == ANY || !is_hidden(o, i)))
		c->at = at, c->size = o->sym[i].st_size;
	else if (at && !c->old && is_old_glibc(o, i))
		c->old = at;
	return c->at;
}

static void by_gnu_hash(const struct elf_object *o, const char *name, struct choice *c)
{
	uint32_t buckets = o->gnu[0], offset = o->gnu[1], bloom = o->gnu[2];
	const uint32_t *bucket = o->gnu + 4 + bloom * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = bucket + buckets;
	uint32_t h = hash_symbol(name), i;

	i = buckets ? bucket[h % buckets] : 0;
	if (i < offset)
		return;
	for (;; i++)
		if (((chain[i - offset] | 1) == (h | 1) &&
		     choose_symbol(o, i, name, c)) ||
		    chain[i - offset] & 1)
			break;
}

/* DT_HASH is walked from end to end: its second word is the number of symbols, and few
 * objects have that table alone. */
static void *look_up(const struct elf_object *o, const char *name, unsigned type)
{
	struct choice c = { .type = type };

	if (o->gnu)
		by_gnu_hash(o, name, &c);
	else
		for (uint32_t i = 1; i < o->hash[1]; i++)
			if (choose_symbol(o, i, name, &c))
				break;
	return c.at ? c.at : c.old;
}

void *elf_function(const struct elf_object *o, const char *name)
{
	return look_up(o, name, STT_FUNC);
}

bool elf_defines(const struct elf_object *o, const char *name)
{
	return look_up(o, name, ANY);
}

/* Undefined symbols come before all that DT_GNU_HASH knows: its second word is the
 * number of the first one that it does know. DT_HASH has them all, so that the whole
 * table is looked through. */
bool elf_refers(const struct elf_object *o, const char *name)
{
	uint32_t count = o->gnu ? o->gnu[1] : o->hash[1];

	for (uint32_t i = 1; i < count; i++)
		if (o->sym[i].st_shndx == SHN_UNDEF &&
		    same_name(o->names + o->sym[i].st_name, name))
			return true;
	return false;
}

const struct link_map *elf_first_object(void)
{
	return _r_debug.r_map;
}

/* _DYNAMIC is the linker's name for the dynamic section of the object that this code
 * is in. In a namespace of its own (dlmopen) the object is not in the first list. */
const struct link_map *elf_our_object(void)
{
	extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));
	const struct link_map *m = elf_first_object();

	while (m && m->l_ld != _DYNAMIC)
		m = m->l_next;
	return m;
}

void *elf_next_function(const struct link_map *after, const char *name,
			const struct link_map **owner)
{
	struct elf_object o;
	void *fn = NULL;

	*owner = after;
	while (!fn && *owner && (*owner = (*owner)->l_next))
		if (elf_object(&o, (*owner)->l_addr, (*owner)->l_ld))
			fn = elf_function(&o, name);
	return fn;
}

const void *elf_data(const char *name)
{
	struct elf_object o;
	void *at = NULL;

	for (const struct link_map *m = elf_first_object(); !at && m; m = m->l_next)
		if (elf_object(&o, m->l_addr, m->l_ld))
			at = look_up(&o, name, STT_OBJECT);
	return at;
}

const void *elf_linkers_data(uintptr_t base, const char *name, size_t *size)
{
	const struct link_map *m = elf_first_object();
	struct elf_object o;
	struct choice c = { .type = STT_OBJECT };

	while (m && m->l_addr != base)
		m = m->l_next;
	if (!base || !m || !elf_object(&o, m->l_addr, m->l_ld) || !o.gnu)
		return NULL;
	by_gnu_hash(&o, name, &c);
	*size = c.size;
	return c.at;
}

const Elf64_Dyn *elf_dynamic(const struct dl_phdr_info *info)
{
	const Elf64_Dyn *dyn = NULL;

	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dyn = (const Elf64_Dyn *)(info->dlpi_addr +
						  info->dlpi_phdr[i].p_vaddr);
	return dyn;
}

uint64_t elf_value(const struct dl_phdr_info *info, int64_t tag)
{
	return dynamic_value(elf_dynamic(info), tag);
}

const void *elf_address(const struct dl_phdr_info *info, int64_t tag)
{
	return dynamic_pointer(info->dlpi_addr, elf_dynamic(info), tag);
}

struct elf_span elf_span(const struct dl_phdr_info *info)
{
	struct elf_span all = { UINTPTR_MAX, 0 };

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		all.begin = at < all.begin ? at : all.begin;
		all.end = at + p->p_memsz > all.end ? at + p->p_memsz : all.end;
	}
	return all;
}
