/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hooks/malloc_elf.h"

#include <string.h>

#define HIDDEN 0x8000 /* in DT_VERSYM: not the default version */

/* The dynamic linker adds the load address to most of these; not in objects whose
 * dynamic section cannot be written. */
static const void *pointer(uintptr_t bias, const ElfW(Dyn) * d)
{
	return (const void *)(d->d_un.d_ptr < bias ? d->d_un.d_ptr + bias
						   : d->d_un.d_ptr);
}

bool elf_object(struct elf_object *o, uintptr_t bias, const ElfW(Dyn) * d)
{
	*o = (struct elf_object){ .bias = bias };
	for (; d && d->d_tag != DT_NULL; d++)
		switch (d->d_tag) {
		case DT_SYMTAB:
			o->sym = pointer(bias, d);
			break;
		case DT_STRTAB:
			o->names = pointer(bias, d);
			break;
		case DT_VERSYM:
			o->versions = pointer(bias, d);
			break;
		case DT_GNU_HASH:
			o->gnu = pointer(bias, d);
			break;
		case DT_HASH:
			o->hash = pointer(bias, d);
			break;
		}
	return o->sym && o->names && (o->gnu || o->hash);
}

bool elf_object_at(struct elf_object *o, uintptr_t begin, size_t size)
{
	const ElfW(Ehdr) *h = (const ElfW(Ehdr) *)begin;
	const ElfW(Phdr) *p = (const ElfW(Phdr) *)(begin + sizeof(*h));
	uintptr_t first = UINTPTR_MAX, dynamic = 0;

	if (size < sizeof(*h) || memcmp(h->e_ident, ELFMAG, SELFMAG) ||
	    h->e_phoff != sizeof(*h) || size < sizeof(*h) + h->e_phnum * sizeof(*p))
		return false;
	for (unsigned i = 0; i < h->e_phnum; i++) {
		if (p[i].p_type == PT_LOAD && p[i].p_vaddr < first)
			first = p[i].p_vaddr;
		if (p[i].p_type == PT_DYNAMIC)
			dynamic = p[i].p_vaddr;
	}
	first &= ~(uintptr_t)4095;
	return dynamic &&
	       elf_object(o, begin - first, (const ElfW(Dyn) *)(begin - first + dynamic));
}

static void *value(const struct elf_object *o, uint32_t i, const char *name)
{
	const ElfW(Sym) *s = &o->sym[i];
	unsigned type = ELF64_ST_TYPE(s->st_info), bind = ELF64_ST_BIND(s->st_info);

	if (s->st_shndx == SHN_UNDEF || !s->st_value ||
	    (type != STT_FUNC && type != STT_NOTYPE) ||
	    (bind != STB_GLOBAL && bind != STB_WEAK && bind != STB_GNU_UNIQUE) ||
	    (o->versions && o->versions[i] & HIDDEN) ||
	    strcmp(o->names + s->st_name, name))
		return NULL;
	return (void *)(o->bias + s->st_value);
}

static void *by_gnu_hash(const struct elf_object *o, const char *name)
{
	uint32_t buckets = o->gnu[0], offset = o->gnu[1], bloom = o->gnu[2];
	const uint32_t *bucket = o->gnu + 4 + bloom * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = bucket + buckets;
	uint32_t h = 5381, i;
	void *found = NULL;

	for (const char *c = name; *c; c++)
		h = h * 33 + (uint8_t)*c;
	i = buckets ? bucket[h % buckets] : 0;
	if (i < offset)
		return NULL;
	for (; !found; i++) {
		if ((chain[i - offset] | 1) == (h | 1))
			found = value(o, i, name);
		if (chain[i - offset] & 1)
			break;
	}
	return found;
}

void *elf_function(const struct elf_object *o, const char *name)
{
	void *found = NULL;

	if (o->gnu)
		return by_gnu_hash(o, name);
	for (uint32_t i = 1; !found && i < o->hash[1]; i++)
		found = value(o, i, name);
	return found;
}

/* Undefined symbols come before all that the hash table knows. */
bool elf_refers(const struct elf_object *o, const char *name)
{
	uint32_t count = o->gnu ? o->gnu[1] : o->hash[1];

	for (uint32_t i = 1; i < count; i++)
		if (o->sym[i].st_shndx == SHN_UNDEF &&
		    !strcmp(o->names + o->sym[i].st_name, name))
			return true;
	return false;
}
