/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc_elf - the dynamic symbols of an object that is mapped and relocated.
 *
 * Threads  any.
 * Memory   none: no lock of the dynamic linker's, no call of its functions.
 * Errors   NULL or false: there is no such symbol.
 * Units    addresses.
 */
#ifndef HOOKS_MALLOC_ELF_H
#define HOOKS_MALLOC_ELF_H

#include <link.h>
#include <stdbool.h>

struct elf_object {
	uintptr_t bias;
	const ElfW(Sym) * sym;
	const char *names;
	const uint16_t *versions; /* NULL = has none */
	const uint32_t *gnu, *hash; /* NULL = has no such table */
};

/* From the dynamic section; false when it has no symbols that can be found by name. */
bool elf_object(struct elf_object *o, uintptr_t bias, const ElfW(Dyn) * dynamic);
/* From the first page of a mapped file. */
bool elf_object_at(struct elf_object *o, uintptr_t begin, size_t size);
/* The function's address, as a program would be bound to it. */
void *elf_function(const struct elf_object *o, const char *name);
/* Does it refer to that function in other objects? */
bool elf_refers(const struct elf_object *o, const char *name);

#endif
