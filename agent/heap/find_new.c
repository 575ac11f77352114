/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operator new and delete of libraries that RTLD_NEXT cannot see: where a program in C
 * (python3, most of all) opens what is written in C++. One C++ library serves all: its
 * functions are kept, and it is never unloaded. Where there is no such library each
 * caller has operators of its own, linked into it, which may go away with it.
 */
#include "agent/heap/mode.h"
#include "base/elf.h"
#include "base/hash.h"
#include "base/maps.h"
#include "base/seldom.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/unseen.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#define LINE  512
#define FOUND 1024u /* a power of two */
#define BUSY  1

_Static_assert(HEAP_FORMS < 64, "six bits of a key");

/* Decided at the first call. BY_NAME: the C++ library serves all calls of a form.
 * BY_CALLER: that library never does, so that each block goes back to where it came
 * from. */
static _Atomic uint32_t policy;
enum { UNDECIDED, BY_NAME, BY_CALLER };
static _Atomic uint64_t kept; /* forms that are the C++ library's: one bit each */
static _Atomic bool blind; /* there is no /proc */
static _Atomic uint64_t unmapped; /* dlclose calls so far, counted at begin and end */

/* ---- the mapped objects ---- */

struct cxx_look {
	uintptr_t caller, header; /* header: of the file whose lines these are */
	uint64_t path_hash;
	size_t header_size;
	bool is_cxx;
	struct elf_object library, own; /* sym is NULL: not found */
};

static bool is_cxx_library(const char *path)
{
	const char *base = text_base(path);

	return !strncmp(base, "libstdc++", 9) || !strncmp(base, "libc++", 6);
}

/* The first mapping of a file holds its header. Only a file with code is an object: one
 * that was mapped to be read has other bytes where a loaded object has its tables. */
static bool one_mapping(const struct maps_line *l, void *arg)
{
	struct cxx_look *look = arg;
	bool own = look->caller >= l->begin && look->caller < l->end;
	uint64_t path_hash = hash_bytes(l->path, strlen(l->path));
	struct elf_object o;

	if (*l->path == '/' && !l->offset) {
		look->header = l->begin;
		look->header_size = l->end - l->begin;
		look->path_hash = path_hash;
		look->is_cxx = !look->library.sym && is_cxx_library(l->path);
	}
	if (!(l->prot & PROT_EXEC) || !look->header || (!own && !look->is_cxx) ||
	    look->path_hash != path_hash ||
	    !elf_object_at(&o, look->header, look->header_size))
		return false;
	if (own)
		look->own = o;
	if (look->is_cxx)
		look->library = o;
	look->is_cxx = false;
	return false;
}

/* The same as the dynamic linker has it, which knows the objects of one namespace. */
static int one_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct elf_span all = elf_span(info);
	const Elf64_Dyn *dynamic = elf_dynamic(info);
	struct cxx_look *look = arg;
	struct elf_object o;

	(void)size;
	look->header = all.begin;
	if (!dynamic || !elf_object(&o, info->dlpi_addr, dynamic))
		return 0;
	if (look->caller >= all.begin && look->caller < all.end)
		look->own = o;
	if (!look->library.sym && is_cxx_library(info->dlpi_name))
		look->library = o;
	return 0;
}

/* Reads the mappings by system calls: the caller is in operator new, where nothing may
 * allocate. */
static int each_line(void *look)
{
	char line[LINE];

	return maps_lines(line, sizeof(line), one_mapping, look);
}

/* ---- what was found for a caller ---- */

/* Each entry is for one form and one page of code that calls it. Its key goes in last and
 * out first: so nobody takes a function that belongs to another key. */
static SELDOM struct found {
	_Atomic uint64_t key;
	void *_Atomic fn; /* NULL: there is none */
} found[FOUND];

/* The count of dlclose is a part of the key: what was found before one is void. */
static uint64_t key_of(unsigned form, const void *caller)
{
	uint64_t epoch = atomic_load_explicit(&unmapped, memory_order_acquire);

	return (uint64_t)(uintptr_t)caller >> 12 << 6 | form | (epoch + 1) << 42;
}

static struct found *place_of(uint64_t key)
{
	return &found[key * 0x9e3779b97f4a7c15ull >> 54 & (FOUND - 1)];
}

static bool look_up(uint64_t key, void **fn)
{
	struct found *f = place_of(key);
	bool same = atomic_load_explicit(&f->key, memory_order_acquire) == key;

	*fn = atomic_load_explicit(&f->fn, memory_order_acquire);
	return same && atomic_load_explicit(&f->key, memory_order_acquire) == key;
}

static void remember_found(uint64_t key, void *fn)
{
	struct found *f = place_of(key);
	uint64_t old = atomic_load(&f->key);

	if (old == BUSY || !atomic_compare_exchange_strong(&f->key, &old, BUSY))
		return;
	atomic_store(&f->fn, fn);
	atomic_store(&f->key, key);
}

/* ---- deciding ---- */

static void keep_forms(const struct elf_object *library)
{
	for (unsigned i = HEAP_FIRST_CXX; i < HEAP_FORMS; i++) {
		void *fn = elf_function(library, heap_names[i]), *none = NULL;

		if (fn && __atomic_compare_exchange_n(heap_slot(i), &none, fn, false,
						      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			atomic_fetch_or(&kept, 1ull << i);
	}
}

static void *function_of_form(const struct elf_object *o, unsigned form)
{
	return o->sym ? elf_function(o, heap_names[form]) : NULL;
}

/* Each program has mappings of files. Who sees none may open no file now; or there is no
 * /proc, and nobody asks again. */
static void look_around(struct cxx_look *look)
{
	struct sys_stat st;

	if (!atomic_load_explicit(&blind, memory_order_relaxed)) {
		unseen_run(each_line, look);
		if (!look->header && sys_stat("/proc/self/maps", &st) == -ENOENT)
			atomic_store_explicit(&blind, true, memory_order_relaxed);
	}
	if (!look->header)
		dl_iterate_phdr(one_object, look);
}

/* Without a C++ library that serves all, a caller gets the form that is linked into it:
 * what it allocates there it also frees there. */
void *heap_find_cxx(void **slot, const void *caller)
{
	unsigned form = (unsigned)(slot - heap_slot(0));
	struct cxx_look look = { .caller = (uintptr_t)caller };
	uint64_t key = key_of(form, caller);
	uint32_t decided = UNDECIDED;
	void *fn;

	if (look_up(key, &fn))
		return fn;
	look_around(&look);
	atomic_compare_exchange_strong(&policy, &decided,
				       look.library.sym ? BY_NAME : BY_CALLER);
	if (look.library.sym && atomic_load(&policy) == BY_NAME)
		keep_forms(&look.library);
	fn = __atomic_load_n(slot, __ATOMIC_RELAXED);
	if (!fn)
		fn = function_of_form(&look.own, form);
	if (!fn)
		fn = function_of_form(&look.library, form);
	if (elf_is_ours(fn))
		fn = NULL; /* it would call itself */
	if (look.header)
		remember_found(key, fn);
	return fn;
}

/* ---- what goes away ---- */

/* Keeps the library of `fn` from ever being unmapped. False: its name opens another one
 * or none (it is in a namespace of its own). */
static bool pin_library(void *fn)
{
	struct link_map *of, *opened;
	Dl_info info;

	if (!libc_has(dladdr1) || !libc_has(dlopen) ||
	    !dladdr1(fn, &info, (void **)&of, RTLD_DL_LINKMAP) || !of)
		return false;
	opened = dlopen(of->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	return opened == of;
}

/* Functions in a library that cannot be pinned are forgotten before the library may
 * go. */
void heap_unmapping(void)
{
	static _Atomic uint64_t pinned;
	uint64_t forms = atomic_load(&kept) & ~atomic_load(&pinned);

	atomic_fetch_add(&unmapped, 1);
	for (unsigned i = HEAP_FIRST_CXX; i < HEAP_FORMS; i++) {
		if (!(forms >> i & 1))
			continue;
		if (pin_library(__atomic_load_n(heap_slot(i), __ATOMIC_RELAXED))) {
			atomic_fetch_or(&pinned, 1ull << i);
			continue;
		}
		atomic_fetch_and(&kept, ~(1ull << i));
		__atomic_store_n(heap_slot(i), NULL, __ATOMIC_RELEASE);
	}
}

void heap_unmapped(void)
{
	atomic_fetch_add(&unmapped, 1);
}
