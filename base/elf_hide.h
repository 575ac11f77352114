/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_hide - names that this library exports, and takes back.
 *
 * Threads  one, before another one looks for them.
 * Memory   pages of the library's table of names become the process's own.
 * Errors   false: they are found as before.
 * Units    none.
 */
#ifndef BASE_ELF_HIDE_H
#define BASE_ELF_HIDE_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

/* From now on the dynamic linker finds none of these names, of C++ functions, in `us`,
 * this library. What is bound to them already stays so. */
bool elf_hide(const struct link_map *us, const char *const *names, size_t n);

#endif
