/* SPDX-License-Identifier: Apache-2.0 */
/* Slots are found among the relocations of the object, of either table: with lazy binding
 * they are the PLT's, without a PLT (-fno-plt) others. */
#include "agent/hooks/bound.h"
#include "base/elf.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096ul

/* What the loader has made read-only after it had relocated the object: the whole pages
 * of PT_GNU_RELRO. A program linked with -z now has its slots there. */
static bool is_sealed(const struct dl_phdr_info *info, uintptr_t slot)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *p = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + p->p_vaddr, end = begin + p->p_memsz;

		if (p->p_type == PT_GNU_RELRO && slot >= (begin & ~(PAGE - 1)) &&
		    slot < (end & ~(PAGE - 1)))
			return true;
	}
	return false;
}

/* A thread that calls meanwhile goes the old way or the new one. */
bool bound_store(const struct dl_phdr_info *info, uintptr_t *slot, uintptr_t value)
{
	void *page = (void *)((uintptr_t)slot & ~(PAGE - 1));
	bool sealed = is_sealed(info, (uintptr_t)slot);

	if (sealed && mprotect(page, PAGE, PROT_READ | PROT_WRITE))
		return false;
	__atomic_store_n(slot, value, __ATOMIC_RELEASE);
	if (sealed)
		mprotect(page, PAGE, PROT_READ);
	return true;
}

/* ---- one function's ---- */

struct wanted {
	uintptr_t within;
	const char *name;
	uintptr_t to;
	void **was;
	unsigned changed;
};

static bool holds_address(const struct dl_phdr_info *info, uintptr_t at)
{
	struct elf_span span = elf_span(info);

	return at >= span.begin && at < span.end;
}

static void change_slot(const struct dl_phdr_info *info, struct wanted *w,
			const Elf64_Rela *r)
{
	const Elf64_Sym *symbols = elf_address(info, DT_SYMTAB);
	const char *names = elf_address(info, DT_STRTAB);
	unsigned type = ELF64_R_TYPE(r->r_info);
	uintptr_t *slot = (uintptr_t *)(info->dlpi_addr + r->r_offset), is;

	if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
	    strcmp(names + symbols[ELF64_R_SYM(r->r_info)].st_name, w->name))
		return;
	is = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
	if (is && is != w->to && !holds_address(info, is))
		*w->was = (void *)is;
	w->changed += *w->was && bound_store(info, slot, w->to);
}

static void change_slots(const struct dl_phdr_info *info, struct wanted *w, int64_t table,
			 int64_t size)
{
	const Elf64_Rela *rela = elf_address(info, table);
	size_t n = elf_value(info, size) / sizeof(*rela);

	for (size_t i = 0; rela && i < n; i++)
		change_slot(info, w, &rela[i]);
}

static int each_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct wanted *w = arg;

	(void)size;
	if (!holds_address(info, w->within))
		return 0;
	if (elf_address(info, DT_SYMTAB) && elf_address(info, DT_STRTAB)) {
		change_slots(info, w, DT_JMPREL, DT_PLTRELSZ);
		change_slots(info, w, DT_RELA, DT_RELASZ);
	}
	return 1;
}

unsigned bound_exchange(const void *within, const char *name, void *to, void **was)
{
	struct wanted w = { (uintptr_t)within, name, (uintptr_t)to, was, 0 };
	int saved = errno;

	dl_iterate_phdr(each_object, &w);
	errno = saved;
	return w.changed;
}
