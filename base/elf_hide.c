/* SPDX-License-Identifier: Apache-2.0 */
/* A symbol whose value is 0 is none, to the dynamic linker; others that read the table
 * look at its section. The table lies among read-only data, in front of the code. */
#include "base/elf_hide.h"
#include "base/elf.h"
#include "base/sys_call.h"

#include <string.h>
#include <sys/mman.h>

#define PAGE 4096ul

struct table {
	Elf64_Sym *begin, *end;
	const char *names;
	uintptr_t code; /* where it begins */
};

/* The strings lie behind the symbols, whose number is said nowhere. */
static bool read_table(const struct link_map *us, struct table *t)
{
	struct elf_object o;

	if (!us || !elf_object(&o, us->l_addr, us->l_ld))
		return false;
	*t = (struct table){ .begin = (Elf64_Sym *)(uintptr_t)o.sym, .names = o.names };
	for (const Elf64_Dyn *d = us->l_ld; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_INIT)
			t->code = us->l_addr + d->d_un.d_ptr;
	if (o.names < (const char *)o.sym)
		return false;
	t->end = t->begin + (size_t)(o.names - (const char *)o.sym) / sizeof(*o.sym);
	return true;
}

static bool is_among(const char *name, const char *const *names, size_t n)
{
	if (name[0] != '_' || name[1] != 'Z')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* Pages with code must not lose the right to be run, not for a moment, and not all
 * systems would give it back. */
bool elf_hide(const struct link_map *us, const char *const *names, size_t n)
{
	struct table t;
	uintptr_t begin, end;

	if (!read_table(us, &t))
		return false;
	begin = (uintptr_t)t.begin & ~(PAGE - 1);
	end = ((uintptr_t)t.end + PAGE - 1) & ~(PAGE - 1);
	if (end > t.code ||
	    SYS_CALL(SYS_mprotect, begin, end - begin, PROT_READ | PROT_WRITE))
		return false;
	for (Elf64_Sym *s = t.begin; s < t.end; s++)
		if (s->st_shndx != SHN_UNDEF &&
		    is_among(t.names + s->st_name, names, n)) {
			__atomic_store_n(&s->st_value, 0, __ATOMIC_RELEASE);
			s->st_shndx = SHN_UNDEF;
		}
	SYS_CALL(SYS_mprotect, begin, end - begin, PROT_READ);
	return true;
}
