/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf - the dynamic symbols of an object that is mapped and relocated.
 *
 * Threads  any.
 * Memory   none: no lock of the dynamic linker's, no call of its functions.
 * Errors   NULL or false: there is no such symbol.
 * Units    addresses.
 */
#ifndef BASE_ELF_H
#define BASE_ELF_H

#include <link.h>
#include <stdbool.h>

struct elf_object {
	uintptr_t bias;
	const ElfW(Sym) * sym;
	const char *names;
	const uint16_t *versions; /* NULL = has none */
	const ElfW(Verdef) * defined; /* NULL = none of its own */
	const uint32_t *gnu, *hash; /* NULL = has no such table */
};

/* Fills *o from a dynamic section; false when that has no symbols that can be found by
 * name. */
bool elf_object(struct elf_object *o, uintptr_t bias, const ElfW(Dyn) * dynamic);
/* The function's address, as a program would be bound to it. */
void *elf_function(const struct elf_object *o, const char *name);
/* Has it that name, in whatever version, or for what is chosen at run time? */
bool elf_defines(const struct elf_object *o, const char *name);
/* All objects, in the order in which the linker looks through them. */
const struct link_map *elf_first_object(void);
/* This library; NULL in a namespace of its own. */
const struct link_map *elf_our_object(void);
/* The function `name` in the first object behind `after` that defines it, and that object
 * in *owner; both are NULL when no object does. */
void *elf_next_function(const struct link_map *after, const char *name,
			const struct link_map **owner);
/* The variable `name` as programs are bound to it: the first object's that has it. */
const void *elf_data(const char *name);
/* A variable of the object at `base`, one that no program opens, and its size in bytes.
 */
const void *elf_linkers_data(uintptr_t base, const char *name, size_t *size);
/* Does the object refer to a function `name` of other objects? */
bool elf_refers(const struct elf_object *o, const char *name);

/* A loaded object's dynamic section or NULL; and what that says of `tag`, 0 or NULL:
 * nothing. The loader has made some of the addresses in there absolute, not all (the
 * vdso's). */
const Elf64_Dyn *elf_dynamic(const struct dl_phdr_info *info);
uint64_t elf_value(const struct dl_phdr_info *info, int64_t tag);
const void *elf_address(const struct dl_phdr_info *info, int64_t tag);
/* From its first segment's begin to its last one's end. */
struct elf_span {
	uintptr_t begin, end;
};
struct elf_span elf_span(const struct dl_phdr_info *info);

#endif
