/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slots through which objects call a function of another one (and their own, by
 * the PLT). Slots that the loader has made read-only are opened for the one store.
 */
#include "agent/hooks/patch_parts.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096ul

struct slots {
	const char *name;
	const struct patch_found *f;
	uintptr_t stub, original; /* original 0: not known yet (IFUNC) */
	bool (*ready)(uintptr_t original, void *arg);
	void *arg;
	unsigned changed;
};

struct tables {
	const Elf64_Sym *symbols;
	const char *names;
	const Elf64_Rela *rela[2];
	size_t count[2];
};

static const void *at(const struct dl_phdr_info *info, uintptr_t value)
{
	return (const void *)(value < info->dlpi_addr ? value + info->dlpi_addr : value);
}

static bool read_tables(const struct dl_phdr_info *info, struct tables *t)
{
	const Elf64_Dyn *dyn = NULL;

	memset(t, 0, sizeof(*t));
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dyn = (const Elf64_Dyn *)(info->dlpi_addr +
						  info->dlpi_phdr[i].p_vaddr);
	for (; dyn && dyn->d_tag != DT_NULL; dyn++) {
		if (dyn->d_tag == DT_SYMTAB)
			t->symbols = at(info, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_STRTAB)
			t->names = at(info, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_JMPREL)
			t->rela[0] = at(info, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_PLTRELSZ)
			t->count[0] = dyn->d_un.d_val / sizeof(Elf64_Rela);
		else if (dyn->d_tag == DT_RELA)
			t->rela[1] = at(info, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_RELASZ)
			t->count[1] = dyn->d_un.d_val / sizeof(Elf64_Rela);
	}
	return t->symbols && t->names;
}

static bool lies_in(const struct dl_phdr_info *info, uintptr_t where)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD &&
		    where - (info->dlpi_addr + p->p_vaddr) < p->p_memsz)
			return true;
	}
	return false;
}

static bool store(_Atomic uintptr_t *slot, uintptr_t value)
{
	uintptr_t page = (uintptr_t)slot & ~(PAGE - 1);
	int prot = patch_prot((uintptr_t)slot), saved = errno;
	bool ok = prot >= 0;

	if (ok && !(prot & PROT_WRITE))
		ok = !mprotect((void *)page, PAGE, prot | PROT_WRITE);
	if (ok)
		atomic_store(slot, value);
	if (ok && !(prot & PROT_WRITE))
		mprotect((void *)page, PAGE, prot);
	errno = saved;
	return ok;
}

/* A slot not bound yet points into its own object's PLT; whoever it is bound to later
 * is the function of this name, so we may be faster. */
static bool leads_there(const struct dl_phdr_info *info, const struct slots *s,
			uintptr_t value, unsigned type)
{
	bool unbound = type == R_X86_64_JUMP_SLOT && lies_in(info, value) &&
		       !lies_in(info, s->f->at);

	return value == s->original || unbound;
}

static void change(const struct dl_phdr_info *info, struct slots *s,
		   const struct tables *t, const Elf64_Rela *r)
{
	unsigned type = ELF64_R_TYPE(r->r_info);
	const Elf64_Sym *sym = &t->symbols[ELF64_R_SYM(r->r_info)];
	_Atomic uintptr_t *slot = (_Atomic uintptr_t *)(info->dlpi_addr + r->r_offset);

	if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
	    strcmp(t->names + sym->st_name, s->name) ||
	    !leads_there(info, s, atomic_load(slot), type))
		return;
	if (!s->changed && !s->ready(s->original, s->arg))
		return;
	s->changed += store(slot, s->stub);
}

static int each_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct slots *s = arg;
	struct tables t;

	(void)size;
	if (lies_in(info, (uintptr_t)&patch_got) && info->dlpi_name && *info->dlpi_name)
		return 0; /* ourselves */
	if (!read_tables(info, &t))
		return 0;
	for (unsigned i = 0; i < 2; i++)
		for (size_t j = 0; t.rela[i] && j < t.count[i]; j++)
			change(info, s, &t, &t.rela[i][j]);
	return 0;
}

unsigned patch_got(const char *name, const struct patch_found *f, uintptr_t stub,
		   bool (*ready)(uintptr_t original, void *arg), void *arg)
{
	struct slots s = {
		.name = name,
		.f = f,
		.stub = stub,
		.original = f->at,
		.ready = ready,
		.arg = arg,
	};

	/* A resolver only looks at the processor; the loader calls it for each object. */
	if (f->ifunc)
		s.original = ((uintptr_t(*)(void))f->at)();
	dl_iterate_phdr(each_object, &s);
	return s.changed;
}
