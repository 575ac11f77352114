/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the real functions are. Constructors before ours allocate, and so does the
 * dynamic linker, with its lock held: the first call of all looks, by reading the list
 * of objects itself. dlsym would allocate, and may take that lock. Nothing is loaded or
 * unloaded meanwhile: whoever does that has allocated before.
 */
#include "agent/core/sys.h"
#include "agent/hooks/heap_parts.h"
#include "agent/hooks/look.h"
#include "agent/hooks/malloc_elf.h"

#include <dlfcn.h>
#include <string.h>

struct heap_real heap_real = { .mode = HEAP_COLD };

#define HOOK(ret, name, params) { #name, offsetof(struct heap_real, name) },
static const struct {
	const char *name;
	size_t at;
} rows[] = {
#include "agent/hooks/malloc.def"
};
#undef HOOK
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
static const struct link_map *owners[ROWS]; /* NULL: not found by find_all */

static void **slot(unsigned row)
{
	return (void **)((char *)&heap_real + rows[row].at);
}

static bool is_cxx(unsigned row)
{
	return rows[row].name[0] == '_';
}

static void set(unsigned row, void *fn)
{
	__atomic_store_n(slot(row), fn, __ATOMIC_RELEASE);
}

/* ---- objects in the order in which the linker looks through them ---- */

static const struct link_map *first_object(void)
{
	return _r_debug.r_map;
}

static const struct link_map *our_object(void)
{
	extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));
	const struct link_map *m = first_object();

	while (m && m->l_ld != _DYNAMIC)
		m = m->l_next;
	return m;
}

static void *next_function(const struct link_map *after, const char *name,
			   const struct link_map **owner)
{
	struct elf_object o;
	void *fn = NULL;

	*owner = after;
	while (!fn && *owner && (*owner = (*owner)->l_next))
		if (elf_object(&o, (*owner)->l_addr, (*owner)->l_ld))
			fn = elf_function(&o, name);
	return fn;
}

static void find_all(void)
{
	const struct link_map *us = our_object();

	for (unsigned i = 0; i < ROWS; i++) {
		void *fn = next_function(us, rows[i].name, &owners[i]);

		if (!fn && (!us || !heap_real.malloc) && !is_cxx(i)) {
			/* A kind of symbol that we do not read: the linker must. */
			hook_look_dlsym(NULL, NULL);
			fn = hook_real_dlsym(RTLD_NEXT, rows[i].name);
		}
		set(i, fn);
	}
}

bool heap_find(void)
{
	static _Atomic uint32_t state; /* 0 fresh, 1 somebody looks, 2 found */
	uint32_t seen = 0, cold = HEAP_COLD;

	if (atomic_load_explicit(&state, memory_order_acquire) == 2)
		return true;
	if (!atomic_compare_exchange_strong(&state, &seen, 1))
		return seen == 2;
	find_all();
	if (!heap_real.malloc || !heap_real.free || !heap_real.calloc ||
	    !heap_real.realloc || !heap_real.malloc_usable_size) {
		atomic_store(&state, 0);
		return false;
	}
	atomic_compare_exchange_strong(&heap_real.mode, &cold, HEAP_IDLE);
	atomic_store_explicit(&state, 2, memory_order_release);
	return true;
}

bool heap_has_new(void *const *at)
{
	unsigned i = 0;

	while (i < ROWS && slot(i) != at)
		i++;
	return i < ROWS && owners[i] && owners[i] == owners[0]; /* malloc's */
}

/* Not where something takes the place of its functions, as valgrind does. */
bool heap_is_glibc(void)
{
	const char *name = owners[0] ? owners[0]->l_name : "", *base = strrchr(name, '/');

	return !strcmp(base ? base + 1 : name, "libc.so.6") && !sys_under_valgrind();
}

/* ---- for heap.c ---- */

const char *heap_ahead(void)
{
	const struct link_map *us = our_object();
	struct elf_object o;

	for (const struct link_map *m = first_object(); m && m != us; m = m->l_next)
		if (elf_object(&o, m->l_addr, m->l_ld) && elf_function(&o, "malloc"))
			return m->l_name;
	return NULL;
}

bool heap_asks_for(const char *name)
{
	const struct link_map *m = first_object();
	struct elf_object o;

	return m && elf_object(&o, m->l_addr, m->l_ld) && elf_refers(&o, name);
}
