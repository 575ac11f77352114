/* SPDX-License-Identifier: Apache-2.0 */
/* The function of CUPTI that a client's call was meant for: of our library, or of another
 * one. */
#include "agent/cupti/client/calls.h"
#include "agent/cupti/lib/session.h"
#include "base/arena.h"
#include "base/elf.h"
#include "base/sys.h"
#include "base/text.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

/*
 * A client that calls us meant the libcupti that it is linked to. Hardly ever is more
 * than one mapped; then its own list of needed libraries tells which. That is looked up
 * once for each library that calls: a client may call while CUPTI calls it, and then the
 * loader's lock must not be waited for. What was found stays mapped.
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
	bool inside; /* CUPTI itself: its calls are its own business */
};

static struct {
	struct library *library[LIBRARIES];
	unsigned libraries;
	struct caller caller[CALLERS];
	_Atomic uint32_t callers;
	_Atomic uint32_t lock; /* thread id of its holder, 0 = free */
} seen;

static const char *const names[] = {
#define HOOK(type, name, params) #name,
#include "agent/cupti/client/calls.def"
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

static bool is_cupti(const char *path)
{
	const char *base = text_base(path);

	return !strncmp(base, "libcupti", 8) && (base[8] == '.' || base[8] == '-');
}

static int note_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	const char *name = info->dlpi_name ? info->dlpi_name : "";
	struct elf_span span = elf_span(info);

	(void)size;
	if (s->address >= span.begin && s->address < span.end) {
		s->caller.begin = span.begin;
		s->caller.end = span.end;
		s->caller.inside = is_cupti(name);
		s->dynamic = elf_dynamic(info);
		s->strings = elf_address(info, DT_STRTAB);
	}
	if (is_cupti(name) && s->paths < LIBRARIES)
		s->path[s->paths++] = name;
	return 0;
}

static bool needs_library(const struct search *s, const char *base)
{
	for (const ElfW(Dyn) *d = s->dynamic; s->strings && d->d_tag != DT_NULL; d++)
		if ((d->d_tag == DT_NEEDED || d->d_tag == DT_SONAME) &&
		    !strcmp(s->strings + d->d_un.d_val, base))
			return true;
	return false;
}

static const char *choose_library(const struct search *s)
{
	for (unsigned i = 0; s->paths > 1 && i < s->paths; i++)
		if (needs_library(s, text_base(s->path[i])))
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

static struct caller find_caller(uintptr_t address)
{
	struct search s = { .address = address };
	const char *path;

	dl_iterate_phdr(note_object, &s);
	path = choose_library(&s);
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

void real_fork_child(void)
{
	atomic_store(&seen.lock, 0);
}

bool real_asking(void)
{
	return atomic_load(&seen.lock) == sys_tid();
}

void *real_of(enum yield_function function, const void *caller, bool *ours)
{
	uintptr_t address = (uintptr_t)caller;
	uint32_t n = atomic_load(&seen.callers), i = 0;
	struct caller c;

	atomic_store(&session.met, true);
	while (i < n && (address < seen.caller[i].begin || address >= seen.caller[i].end))
		i++;
	c = i < n ? seen.caller[i] : find_caller(address);
	*ours = c.library && !c.inside && cupti.GetVersion &&
		c.library->function[YIELD_cuptiGetVersion] == (void *)cupti.GetVersion;
	return c.library ? c.library->function[function] : NULL;
}
