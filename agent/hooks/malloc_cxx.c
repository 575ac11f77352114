/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operator new and delete of libraries that RTLD_NEXT cannot see: where a program in C
 * (python3, most of all) opens what is written in C++. One C++ library serves all: its
 * functions are kept, and it is never unloaded. Where there is none each caller has its
 * own, linked into it, which may go away with it.
 */
#include "agent/core/sys.h"
#include "agent/hooks/heap_parts.h"
#include "agent/hooks/malloc_elf.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINE  512
#define FOUND 1024u /* a power of two */
#define BUSY  1

#define HOOK(ret, name, params) #name,
static const char *const names[] = {
#include "agent/hooks/malloc.def"
};
#undef HOOK
#define FIRST                                                                       \
	((offsetof(struct heap_real, _Znwm) - offsetof(struct heap_real, malloc)) / \
	 sizeof(void *))
enum { NAMES = sizeof(names) / sizeof(names[0]) };
_Static_assert(NAMES < 64, "six bits of a key");

/* All calls of a form are the C++ library's; once one was not, none ever is, so that
 * each block goes back to where it came from. */
static _Atomic uint32_t policy;
enum { UNDECIDED, BY_NAME, BY_CALLER };
static _Atomic uint64_t kept; /* forms that are the C++ library's: one bit each */
static _Atomic uint64_t unmapped; /* dlclose so far, twice each */

static void **slot_of(unsigned form)
{
	return (void **)&heap_real.malloc + form;
}

/* ---- the mapped objects ---- */

struct cxx_look {
	uintptr_t caller, header,
		path_hash; /* header: of the file whose lines these are */
	size_t header_size;
	bool is_cxx;
	struct elf_object library, own; /* sym is NULL: not found */
};

static bool is_cxx_library(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	return !strncmp(base, "libstdc++", 9) || !strncmp(base, "libc++", 6);
}

static uintptr_t hash_of(const char *text)
{
	uintptr_t h = 5381;

	for (; *text; text++)
		h = h * 33 + (uint8_t)*text;
	return h;
}

/* The first mapping of a file holds its header. Only a file with code is an object; one
 * that somebody reads has other things where that would have its tables. */
static void one_mapping(struct cxx_look *look, uintptr_t begin, uintptr_t end,
			uintptr_t offset, bool code, const char *path)
{
	struct elf_object o;

	if (!offset) {
		look->header = begin;
		look->header_size = end - begin;
		look->path_hash = hash_of(path);
		look->is_cxx = !look->library.sym && is_cxx_library(path);
	}
	bool own = look->caller >= begin && look->caller < end;

	if (!code || !look->header || (!own && !look->is_cxx) ||
	    look->path_hash != hash_of(path) ||
	    !elf_object_at(&o, look->header, look->header_size))
		return;
	if (own)
		look->own = o;
	if (look->is_cxx)
		look->library = o;
	look->is_cxx = false;
}

/* "begin-end r-xp offset device inode path" */
static void one_line(char *line, struct cxx_look *look)
{
	char *path = strchr(line, '/'), *at = line;
	uintptr_t number[3] = { 0, 0, 0 };
	bool code = false;

	for (unsigned i = 0; i < 3; i++, at++) {
		if (i == 2) {
			code = strnlen(at, 5) == 5 && at[2] == 'x';
			at += 5;
		}
		for (; *at && *at != '-' && *at != ' '; at++)
			number[i] = number[i] << 4 |
				    (uintptr_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
		if (!*at)
			return;
	}
	if (path)
		one_mapping(look, number[0], number[1], number[2], code, path);
}

static void each_line(struct cxx_look *look)
{
	int fd = sys_open("/proc/self/maps", O_RDONLY, 0), saved = errno;
	char buf[512], line[LINE];
	size_t len = 0;
	long n;

	while (fd >= 0 && (n = syscall(SYS_read, fd, buf, sizeof(buf))) > 0)
		for (long i = 0; i < n; i++) {
			if (buf[i] != '\n') {
				if (len + 1 < sizeof(line))
					line[len++] = buf[i];
				continue;
			}
			line[len] = 0;
			len = 0;
			one_line(line, look);
		}
	if (fd >= 0)
		sys_close(fd);
	errno = saved;
}

/* ---- what was found for a caller ---- */

/* Of the forms that code on one page calls. The key goes in last, and out first. */
static struct found {
	_Atomic uint64_t key;
	void *_Atomic fn; /* NULL: there is none */
} found[FOUND];

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

static void remember(uint64_t key, void *fn)
{
	struct found *f = place_of(key);
	uint64_t old = atomic_load(&f->key);

	if (old == BUSY || !atomic_compare_exchange_strong(&f->key, &old, BUSY))
		return;
	atomic_store(&f->fn, fn);
	atomic_store(&f->key, key);
}

/* ---- deciding ---- */

static void keep(const struct elf_object *library)
{
	for (unsigned i = FIRST; i < NAMES; i++) {
		void *fn = elf_function(library, names[i]), *none = NULL;

		if (fn && __atomic_compare_exchange_n(slot_of(i), &none, fn, false,
						      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			atomic_fetch_or(&kept, 1ull << i);
	}
}

static void *function(const struct elf_object *o, unsigned form)
{
	return o->sym ? elf_function(o, names[form]) : NULL;
}

void *heap_find_cxx(void **slot, const void *caller)
{
	unsigned form = (unsigned)(slot - slot_of(0));
	struct cxx_look look = { .caller = (uintptr_t)caller };
	uint64_t key = key_of(form, caller);
	uint32_t decided = UNDECIDED;
	void *fn;

	if (look_up(key, &fn))
		return fn;
	each_line(&look);
	atomic_compare_exchange_strong(&policy, &decided,
				       look.library.sym ? BY_NAME : BY_CALLER);
	if (look.library.sym && atomic_load(&policy) == BY_NAME)
		keep(&look.library);
	fn = __atomic_load_n(slot, __ATOMIC_RELAXED);
	if (!fn)
		fn = function(&look.own, form);
	if (!fn)
		fn = function(&look.library, form);
	remember(key, fn);
	return fn;
}

/* ---- what goes away ---- */

/* False: not an object that this name opens (it is in a namespace of its own). */
static bool pin(void *fn)
{
	struct link_map *of, *opened;
	Dl_info info;

	if (!dladdr1(fn, &info, (void **)&of, RTLD_DL_LINKMAP) || !of)
		return false;
	opened = dlopen(of->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	return opened == of;
}

void heap_unmapping(void)
{
	static _Atomic uint64_t pinned;
	uint64_t forms = atomic_load(&kept) & ~atomic_load(&pinned);

	atomic_fetch_add(&unmapped, 1);
	for (unsigned i = FIRST; i < NAMES; i++) {
		if (!(forms >> i & 1))
			continue;
		if (pin(__atomic_load_n(slot_of(i), __ATOMIC_RELAXED))) {
			atomic_fetch_or(&pinned, 1ull << i);
			continue;
		}
		atomic_fetch_and(&kept, ~(1ull << i));
		__atomic_store_n(slot_of(i), NULL, __ATOMIC_RELEASE);
	}
}

void heap_unmapped(void)
{
	atomic_fetch_add(&unmapped, 1);
}
