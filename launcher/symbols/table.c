/* SPDX-License-Identifier: Apache-2.0 */
/* Functions by address, from an ELF file's symbols. */
#include "base/array.h"
#include "base/search.h"
#include "launcher/symbols/frames.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define BACK 64 /* symbols looked at that begin before a place and may still cover it */

/* Prefers a function to a label, a public name to a local one, and of an alias's two
 * names the one that people call: "flock", not "__flock". */
static unsigned rank_symbol(const char *name, unsigned char info)
{
	unsigned dashes = strncmp(name, "_Z", 2) ? (unsigned)strspn(name, "_") : 0;

	return (dashes < 2 ? dashes : 2) + (ELF64_ST_BIND(info) == STB_LOCAL ? 4u : 0u) +
	       (ELF64_ST_TYPE(info) == STT_NOTYPE ? 8u : 0u);
}

void symbol_add(struct symbol_table *t, const char *name, uint64_t value, uint64_t size,
		unsigned char info)
{
	unsigned type = ELF64_ST_TYPE(info);

	if (!value || !*name ||
	    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
		return;
	if (!GROW(t->at, t->room, t->n))
		return;
	t->at[t->n++] = (struct symbol){ value, size, name, rank_symbol(name, info) };
	t->sorted = false;
}

/* Sorts by address; the best symbol of a place comes last. */
static int by_address(const void *left, const void *right)
{
	const struct symbol *a = left, *b = right;

	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	if (!a->size != !b->size)
		return a->size ? 1 : -1;
	if (a->rank != b->rank)
		return a->rank > b->rank ? -1 : 1;
	return strcmp(b->name, a->name);
}

const char *symbol_find(struct symbol_table *t, uint64_t pc)
{
	size_t behind;

	if (!t->sorted && t->n)
		qsort(t->at, t->n, sizeof(*t->at), by_address);
	t->sorted = true;
	behind = SEARCH_FIRST(i, 0, t->n, t->at[i].value > pc);
	/* A symbol without a size goes as far as the next one. */
	if (behind && !t->at[behind - 1].size)
		return t->at[behind - 1].name;
	for (size_t i = behind; i && i + BACK > behind; i--)
		if (pc - t->at[i - 1].value < t->at[i - 1].size)
			return t->at[i - 1].name;
	return NULL;
}
