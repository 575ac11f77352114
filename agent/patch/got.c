/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slots through which objects call a function of another one (and their own, by
 * the PLT). Slots that the loader has made read-only are opened for the one store.
 */
#include "agent/patch/steps.h"
#include "base/elf.h"

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

static bool read_tables(const struct dl_phdr_info *info, struct tables *t)
{
	*t = (struct tables){
		.symbols = elf_address(info, DT_SYMTAB),
		.names = elf_address(info, DT_STRTAB),
		.rela = { elf_address(info, DT_JMPREL), elf_address(info, DT_RELA) },
		.count = { elf_value(info, DT_PLTRELSZ) / sizeof(Elf64_Rela),
			   elf_value(info, DT_RELASZ) / sizeof(Elf64_Rela) },
	};
	return t->symbols && t->names;
}

/* One store of a word: a thread that calls meanwhile goes the old way or the new one. */
static bool write_slot(_Atomic uintptr_t *slot, uintptr_t value)
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

/* A slot not bound yet points into its own object's PLT; the loader would bind it to the
 * function of this name, so we may be faster. */
static bool leads_there(const struct dl_phdr_info *info, const struct slots *s,
			uintptr_t value, unsigned type)
{
	bool unbound = type == R_X86_64_JUMP_SLOT && patch_elf_holds(info, value) &&
		       !patch_elf_holds(info, s->f->at);

	return value == s->original || unbound;
}

static void change_slot(const struct dl_phdr_info *info, struct slots *s,
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
	s->changed += write_slot(slot, s->stub);
}

static int each_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct slots *s = arg;
	struct tables t;

	(void)size;
	if (patch_elf_holds(info, (uintptr_t)&patch_got) && info->dlpi_name &&
	    *info->dlpi_name)
		return 0; /* the agent itself */
	if (!read_tables(info, &t))
		return 0;
	for (unsigned i = 0; i < 2; i++)
		for (size_t j = 0; t.rela[i] && j < t.count[i]; j++)
			change_slot(info, s, &t, &t.rela[i][j]);
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
