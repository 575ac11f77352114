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
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINE 512

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

/* ---- operator new of libraries that RTLD_NEXT cannot see ---- */

struct cxx_look {
	uintptr_t caller;
	bool by_name; /* the C++ library; else the caller's own */
	bool found;
	uintptr_t header; /* of the file whose lines these are */
	size_t header_size;
};

static bool is_cxx_library(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	return !strncmp(base, "libstdc++", 9) || !strncmp(base, "libc++", 6);
}

static bool fill(const struct elf_object *o)
{
	bool any = false;

	for (unsigned i = 0; i < ROWS; i++) {
		void *fn = is_cxx(i) && !*slot(i) ? elf_function(o, rows[i].name) : NULL;

		if (fn)
			set(i, fn);
		any |= fn != NULL;
	}
	return any;
}

/* "begin-end r--p offset device inode path". The first mapping of a file holds its
 * header; that it stays mapped is sure for what the caller itself uses. */
static void one_line(char *line, struct cxx_look *look)
{
	char *path = strchr(line, '/'), *at = line;
	uintptr_t number[3] = { 0, 0, 0 };
	struct elf_object o;

	for (unsigned i = 0; i < 3; i++, at++) {
		if (i == 2)
			at += 5; /* "r--p " */
		for (; *at && *at != '-' && *at != ' '; at++)
			number[i] = number[i] << 4 |
				    (uintptr_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
		if (!*at)
			return;
	}
	if (!path)
		return;
	if (!number[2]) {
		look->header = number[0];
		look->header_size = number[1] - number[0];
	}
	if (look->header &&
	    (look->by_name ? !number[2] && is_cxx_library(path)
			   : look->caller >= number[0] && look->caller < number[1]) &&
	    elf_object_at(&o, look->header, look->header_size))
		look->found |= fill(&o);
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

void heap_find_cxx(const void *caller)
{
	struct cxx_look look = { .caller = (uintptr_t)caller, .by_name = true };

	each_line(&look);
	look.by_name = false;
	if (!look.found)
		each_line(&look);
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
