/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels are called. Libraries register tens of thousands of kernels and launch a
 * few hundred: so at first only where a name lies is kept, and it is read at the
 * kernel's first launch. By then its library may have gone: the page is asked for.
 */
#include "agent/cuda/libraries.h"
#include "base/arena.h"
#include "base/sys.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLOTS     (1u << 17) /* a power of two; 2 MiB that are mapped at first use */
#define PROBES    32u
#define NAME_MOST 4096u
#define PAGE      4096u
/* A bit of `name`: the text is the program's, and nobody has read it yet. No address of a
 * program's has this bit, so it fits beside one. */
#define UNREAD (1ull << 63)

struct entry {
	_Atomic uintptr_t kernel; /* host function or handle; 0 = free */
	_Atomic uint64_t name; /* 0 = not known yet */
};

static struct entry *_Atomic table;
static const char nameless[] = ""; /* was asked for, and there is none */

static struct entry *entry_table(bool make)
{
	struct entry *t = atomic_load_explicit(&table, memory_order_acquire),
		     *none = NULL;

	if (t || !make)
		return t;
	t = sys_map(SLOTS * sizeof(*t));
	/* A thread that comes second leaves behind a mapping that nobody touches. */
	if (t && !atomic_compare_exchange_strong(&table, &none, t))
		return none;
	return t;
}

static struct entry *find_entry(const void *kernel, bool make)
{
	struct entry *t = entry_table(make);
	uint64_t hash = (uintptr_t)kernel * 0x9e3779b97f4a7c15ull;

	for (uint32_t i = 0; t && i < PROBES; i++) {
		struct entry *e = &t[((hash >> 40) + i) & (SLOTS - 1)];
		uintptr_t own = atomic_load_explicit(&e->kernel, memory_order_acquire);

		if (!own && make &&
		    atomic_compare_exchange_strong(&e->kernel, &own, (uintptr_t)kernel))
			return e;
		if (own == (uintptr_t)kernel)
			return e;
		if (!own)
			return NULL;
	}
	return NULL;
}

/* Linux says whether the page is mapped; what is not readable then is not the program's
 * to launch either. */
static bool page_mapped(const char *at)
{
	unsigned char in_core;

	return !syscall(SYS_mincore, (uintptr_t)at & ~(uintptr_t)(PAGE - 1), 1, &in_core);
}

static size_t name_length(const char *name)
{
	size_t n = 0;

	for (;;) {
		size_t left = PAGE - ((uintptr_t)(name + n) & (PAGE - 1)), part;

		if (!page_mapped(name + n))
			return 0;
		part = strnlen(name + n, left);
		n += part;
		if (part < left || n >= NAME_MOST)
			return n < NAME_MOST ? n : NAME_MOST;
	}
}

static const char *copy_name(const char *name)
{
	size_t n = name_length(name);
	char *own = n ? arena_alloc(n + 1) : NULL;

	if (!own)
		return nameless;
	memcpy(own, name, n);
	return own;
}

void kernel_names_add(const void *kernel, const char *name)
{
	struct entry *e = kernel && name ? find_entry(kernel, true) : NULL;

	if (e)
		atomic_store_explicit(&e->name, (uintptr_t)name | UNREAD,
				      memory_order_release);
}

static const char *put_name(struct entry *e, const char *own)
{
	atomic_store_explicit(&e->name, (uintptr_t)own, memory_order_release);
	return own;
}

/* The same name again, of a module that was loaded again, is not copied again. */
void kernel_names_put(const void *kernel, const char *name)
{
	struct entry *e = find_entry(kernel, true);
	uint64_t known = e ? atomic_load_explicit(&e->name, memory_order_acquire) : 0;

	if (e && (!known || known & UNREAD || strcmp((const char *)known, name)))
		put_name(e, copy_name(name));
}

/* The handle may be the host function itself. */
void kernel_names_same(const void *kernel, const void *as)
{
	struct entry *from = find_entry(as, false), *e;
	uint64_t name = from ? atomic_load(&from->name) : 0;

	if (!name || kernel == as)
		return;
	e = find_entry(kernel, true);
	if (e)
		atomic_store(&e->name, name);
}

/* For what was never registered: the driver's own word, or the host stub's symbol. */
static const char *ask_name(const void *kernel, enum cuda_group group)
{
	typedef int (*name_fn)(const char **name, const void *function);
	static _Atomic(name_fn) of_driver;
	static _Atomic bool looked;
	const char *name = NULL;
	Dl_info info;
	name_fn fn;

	if (group != GROUP_DRIVER) /* cudaFuncGetName's error would be the program's */
		return dladdr(kernel, &info) && info.dli_saddr == kernel ? info.dli_sname
									 : NULL;
	if (!atomic_load(&looked)) {
		atomic_store(&of_driver,
			     (name_fn)cuda_locate(GROUP_DRIVER, "cuFuncGetName"));
		atomic_store(&looked, true);
	}
	fn = atomic_load(&of_driver);
	return fn && !fn(&name, kernel) ? name : NULL;
}

const char *kernel_names_name(const void *kernel, enum cuda_group group)
{
	struct entry *e = kernel ? find_entry(kernel, true) : NULL;
	uint64_t known = e ? atomic_load_explicit(&e->name, memory_order_acquire) : 0;
	const char *name = (const char *)(uintptr_t)(known & ~UNREAD);

	if (!e)
		return NULL;
	if (!name && (name = ask_name(kernel, group)))
		name = put_name(e, copy_name(name));
	else if (!name)
		name = put_name(e, nameless);
	else if (known & UNREAD)
		name = put_name(e, copy_name(name));
	return *name ? name : NULL;
}

const char *kernel_names_of(const struct cuda_frame *f)
{
	return kernel_names_name((void *)cuda_arg(f, f->fn->arg[0]), f->fn->group);
}
