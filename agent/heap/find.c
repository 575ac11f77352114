/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the real functions are. Constructors before ours allocate, and so does the
 * dynamic linker, with its lock held: the first call of all looks, by reading the list of
 * objects itself. dlsym would allocate, and may take that lock. Nothing is loaded or
 * unloaded meanwhile: a thread that does so has allocated before.
 */
#include "agent/heap/mode.h"
#include "agent/hooks/enter.h"
#include "base/elf.h"
#include "base/elf_hide.h"
#include "base/sys.h"
#include "base/text.h"

#include <string.h>

struct heap_real heap_real = { .mode = HEAP_COLD };

#define HOOK(ret, name, params) #name,
const char *const heap_names[] = {
#include "agent/heap/malloc.def"
};
#undef HOOK
_Static_assert(sizeof(heap_names) / sizeof(heap_names[0]) == HEAP_FORMS, "a name each");
static const struct link_map
	*owners[HEAP_FORMS]; /* NULL: not found by find_real_functions */

/* Finds what dlsym(RTLD_NEXT) would, in the objects behind ours. */
static void find_real_functions(void)
{
	const struct link_map *us = elf_our_object();

	for (unsigned i = 0; i < HEAP_FORMS; i++) {
		void *fn = elf_next_function(us, heap_names[i], &owners[i]);

		if (!fn && (!us || !heap_real.malloc) && i < HEAP_FIRST_CXX) {
			/* A symbol of a kind that elf_next_function does not read: the
			 * linker reads it. */
			fn = hook_next(heap_names[i]);
		}
		__atomic_store_n(heap_slot(i), fn, __ATOMIC_RELEASE);
	}
}

/* Leaves out what the object defines, also in a version, or chosen at run time: then the
 * linker may bind others to it. */
static size_t leave_out(const struct link_map *m, const char **names, size_t n)
{
	struct elf_object o;
	size_t left = 0;

	if (!elf_object(&o, m->l_addr, m->l_ld))
		return n;
	for (size_t i = 0; i < n; i++)
		if (!elf_defines(&o, names[i]))
			names[left++] = names[i];
	return left;
}

/* Where the program has no operator new a library that it opens is bound to its own, or
 * its C++ library's, and must not find our hooks, which could but guess what it means.
 * What they allocate by malloc is seen there. */
static void hide_operators(void)
{
	const struct link_map *us = elf_our_object();
	const char *names[HEAP_FORMS];
	size_t n = 0;

	for (unsigned i = HEAP_FIRST_CXX; i < HEAP_FORMS; i++)
		if (!*heap_slot(i))
			names[n++] = heap_names[i];
	for (const struct link_map *m = us ? us->l_next : NULL; m && n; m = m->l_next)
		n = leave_out(m, names, n);
	if (n)
		elf_hide(us, names, n);
}

bool heap_find(void)
{
	static _Atomic uint32_t state; /* 0 fresh, 1 a call looks, 2 found */
	uint32_t seen = 0, cold = HEAP_COLD;

	if (atomic_load_explicit(&state, memory_order_acquire) == 2)
		return true;
	/* Nobody waits here: the call that looks may be this very thread's, further
	 * out. */
	if (!atomic_compare_exchange_strong(&state, &seen, 1))
		return seen == 2;
	find_real_functions();
	if (!heap_real.malloc || !heap_real.free || !heap_real.calloc ||
	    !heap_real.realloc || !heap_real.malloc_usable_size) {
		atomic_store(&state, 0);
		return false;
	}
	hide_operators();
	atomic_compare_exchange_strong(&heap_real.mode, &cold, HEAP_IDLE);
	atomic_store_explicit(&state, 2, memory_order_release);
	return true;
}

bool heap_has_new(void *const *at)
{
	const struct link_map *owner = owners[at - heap_slot(0)];

	return owner && owner == owners[0]; /* the library that has malloc */
}

const char *heap_owner(const void *fn)
{
	for (unsigned i = 0; fn && i < HEAP_FORMS; i++)
		if (*heap_slot(i) == fn && owners[i] && owners[i]->l_name[0])
			return owners[i]->l_name;
	return NULL;
}

/* False also where a tool puts its own functions in glibc's place, as valgrind does. */
bool heap_is_glibc(void)
{
	const char *name = owners[0] ? owners[0]->l_name : "";

	return !strcmp(text_base(name), "libc.so.6") && !sys_under_valgrind();
}

/* ---- for wire_heap.c ---- */

/* The linker takes the first object in its list that has the name. */
const char *heap_ahead(void)
{
	const struct link_map *us = elf_our_object();
	struct elf_object o;

	for (const struct link_map *m = elf_first_object(); m && m != us; m = m->l_next)
		if (elf_object(&o, m->l_addr, m->l_ld) && elf_function(&o, "malloc"))
			return m->l_name;
	return NULL;
}

bool heap_asks_for(const char *name)
{
	const struct link_map *m = elf_first_object();
	struct elf_object o;

	return m && elf_object(&o, m->l_addr, m->l_ld) && elf_refers(&o, name);
}
