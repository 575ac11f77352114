/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/arena.h"
#include "agent/core/sys.h"
#include "agent/cupti/yield.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

/*
 * A client that calls us meant the libcupti that it is linked to. Hardly ever is more
 * than one mapped; then its own list of needed libraries tells which. Looked up once for
 * each library that calls: a client may call while CUPTI calls it, and then the loader's
 * lock must not be waited for. What was found stays mapped.
 */
#define LIBRARIES 4
#define CALLERS   16

struct library { /* a mapped libcupti */
	char path[512];
	void *function[YIELD_FUNCTIONS];
};

struct caller {
	uintptr_t begin, end; /* where it is mapped */
	struct library *library; /* NULL: none was there yet */
	bool inside; /* CUPTI itself: its own business */
};

static struct {
	struct library *library[LIBRARIES];
	unsigned libraries;
	struct caller caller[CALLERS];
	_Atomic uint32_t callers;
	_Atomic uint32_t lock; /* thread id */
} seen;

static const char *const names[] = {
#define HOOK(type, name, params) #name,
#include "agent/cupti/yield.def"
#undef HOOK
	"cuptiGetTimestamp",
	"cuptiGetVersion",
};

/* ---- what is mapped ---- */

struct search {
	uintptr_t address;
	struct caller caller;
	const char *path[LIBRARIES];
	unsigned paths;
	const char *strings; /* of the caller's dynamic section */
	const ElfW(Dyn) * dynamic;
};

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_cupti(const char *path)
{
	const char *base = base_of(path);

	return !strncmp(base, "libcupti", 8) && (base[8] == '.' || base[8] == '-');
}

static bool holds(struct search *s, const struct dl_phdr_info *info)
{
	uintptr_t begin = UINTPTR_MAX, end = 0;

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		begin = from < begin ? from : begin;
		end = from + p->p_memsz > end ? from + p->p_memsz : end;
	}
	if (s->address < begin || s->address >= end)
		return false;
	s->caller.begin = begin;
	s->caller.end = end;
	return true;
}

static void read_dynamic(struct search *s, const struct dl_phdr_info *info)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			s->dynamic = (const void *)(info->dlpi_addr +
						    info->dlpi_phdr[i].p_vaddr);
	for (const ElfW(Dyn) *d = s->dynamic; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_STRTAB) /* glibc has made it an address */
			s->strings = (const char *)d->d_un.d_ptr;
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	const char *name = info->dlpi_name ? info->dlpi_name : "";

	(void)size;
	if (holds(s, info)) {
		s->caller.inside = is_cupti(name);
		read_dynamic(s, info);
	}
	if (is_cupti(name) && s->paths < LIBRARIES)
		s->path[s->paths++] = name;
	return 0;
}

static bool needs(const struct search *s, const char *base)
{
	for (const ElfW(Dyn) *d = s->dynamic; s->strings && d->d_tag != DT_NULL; d++)
		if ((d->d_tag == DT_NEEDED || d->d_tag == DT_SONAME) &&
		    !strcmp(s->strings + d->d_un.d_val, base))
			return true;
	return false;
}

static const char *choose(const struct search *s)
{
	for (unsigned i = 0; s->paths > 1 && i < s->paths; i++)
		if (needs(s, base_of(s->path[i])))
			return s->path[i];
	return s->paths ? s->path[0] : NULL;
}

/* ---- what was found ---- */

static struct library *library_at(const char *path)
{
	struct library *l;
	void *handle;

	for (unsigned i = 0; i < seen.libraries; i++)
		if (!strcmp(seen.library[i]->path, path))
			return seen.library[i];
	if (seen.libraries == LIBRARIES || strlen(path) >= sizeof(l->path))
		return NULL;
	handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
	l = handle ? arena_alloc(sizeof(*l)) : NULL;
	if (!l)
		return NULL;
	memcpy(l->path, path, strlen(path) + 1);
	for (unsigned i = 0; i < YIELD_FUNCTIONS; i++)
		l->function[i] = dlsym(handle, names[i]);
	seen.library[seen.libraries++] = l;
	return l;
}

static struct caller find(uintptr_t address)
{
	struct search s = { .address = address };
	const char *path;

	dl_iterate_phdr(look, &s);
	path = choose(&s);
	if (path) {
		for (uint32_t free = 0;
		     !atomic_compare_exchange_weak(&seen.lock, &free, sys_tid());
		     free = 0)
			__builtin_ia32_pause();
		s.caller.library = library_at(path);
		if (s.caller.library && atomic_load(&seen.callers) < CALLERS) {
			seen.caller[atomic_load(&seen.callers)] = s.caller;
			atomic_fetch_add(&seen.callers, 1);
		}
		atomic_store(&seen.lock, 0);
	}
	return s.caller;
}

void yield_fork_child(void)
{
	atomic_store(&seen.lock, 0);
}

bool yield_asking(void)
{
	return atomic_load(&seen.lock) == sys_tid();
}

void *yield_real(enum yield_function function, const void *caller, bool *ours)
{
	uintptr_t address = (uintptr_t)caller;
	uint32_t n = atomic_load(&seen.callers), i = 0;
	struct caller c;

	while (i < n && (address < seen.caller[i].begin || address >= seen.caller[i].end))
		i++;
	c = i < n ? seen.caller[i] : find(address);
	*ours = c.library && !c.inside && cupti.GetVersion &&
		c.library->function[YIELD_cuptiGetVersion] == (void *)cupti.GetVersion;
	return c.library ? c.library->function[function] : NULL;
}
