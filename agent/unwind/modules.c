/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which object an address lies in, and where its tables are. Only objects that hold an
 * address of the calling thread's own stack are ever read: they cannot vanish meanwhile.
 */
#include "agent/unwind/modules.h"
#include "agent/core/stacks.h"
#include "agent/unwind/maps.h"
#include "base/arena.h"
#include "base/seldom.h"
#include "base/sys.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define PAGES     4096u /* addresses whose object is remembered; a power of two */
#define PATH_MOST 1024

_Atomic uint32_t unwind_epoch = 1;

struct unwind_object { /* struct dl_find_object of glibc 2.35, which may be newer than us
			*/
	unsigned long long flags;
	void *map_start, *map_end;
	struct link_map *link_map;
	void *eh_frame;
	unsigned long long reserved[7];
};
int (*unwind_find_object)(void *pc, struct unwind_object *result);

static char exe[PATH_MOST]; /* the program, which the dynamic linker does not name */
static uintptr_t exe_begin; /* the program's first page, as AT_PHDR tells it */
static _Atomic(struct unwind_module *) modules;
static SELDOM _Atomic(struct unwind_module *) pages[PAGES];

void unwind_find_start(void)
{
	int saved = errno;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	exe[n > 0 ? n : 0] = '\0';
	exe_begin = getauxval(AT_PHDR) & ~(uintptr_t)4095;
	unwind_find_object = (int (*)(void *, struct unwind_object *))dlvsym(
		RTLD_DEFAULT, "_dl_find_object", "GLIBC_2.35");
	errno = saved;
}

/* ---- what an object says of itself, in memory ---- */

static const Elf64_Ehdr *elf_header(uintptr_t at)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)at;

	if (memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_ident[EI_CLASS] != ELFCLASS64 ||
	    e->e_phentsize != sizeof(Elf64_Phdr) ||
	    e->e_phoff + (size_t)e->e_phnum * sizeof(Elf64_Phdr) > 4096)
		return NULL;
	return e;
}

static const Elf64_Phdr *program_headers(const Elf64_Ehdr *e)
{
	return (const Elf64_Phdr *)((const uint8_t *)e + e->e_phoff);
}

/* Of a program with holes between its segments the linker tells one segment with code at
 * a time, none of which has the ELF header: so a program's first page is kept. */
static const Elf64_Ehdr *module_header(const struct unwind_module *m)
{
	return elf_header(m->name == exe && exe_begin ? exe_begin : m->begin);
}

/* The readable segment that holds `at`, as far as it comes from the file. */
static const Elf64_Phdr *segment_at(const Elf64_Ehdr *e, uintptr_t bias, uintptr_t at)
{
	const Elf64_Phdr *p = program_headers(e);

	for (unsigned i = 0; i < e->e_phnum; i++, p++)
		if (p->p_type == PT_LOAD && p->p_flags & PF_R &&
		    at - (bias + p->p_vaddr) < p->p_filesz)
			return p;
	return NULL;
}

static const uint8_t *segment_end(const Elf64_Phdr *p, uintptr_t bias)
{
	return (const uint8_t *)(bias + p->p_vaddr + p->p_filesz);
}

static void read_tables(struct unwind_module *m, const Elf64_Ehdr *e, uintptr_t hdr)
{
	const Elf64_Phdr *p = segment_at(e, m->bias, hdr);
	uintptr_t eh_frame;

	if (!p || !unwind_tables_open(&m->tables, (const uint8_t *)hdr,
				      segment_end(p, m->bias), &eh_frame))
		return;
	p = segment_at(e, m->bias, eh_frame);
	if (p) {
		m->tables.lo = (const uint8_t *)(m->bias + p->p_vaddr);
		m->tables.hi = segment_end(p, m->bias);
	} else {
		m->tables.count = 0;
	}
}

/* Some tools (BOLT) move the program headers away from the ELF header. Then the mappings
 * are the bounds. */
static void read_mapped_tables(struct unwind_module *m, uintptr_t hdr)
{
	struct unwind_mapping map;
	uintptr_t eh_frame;
	char line[128];

	if (!unwind_maps_find(hdr, &map, line, sizeof(line)) || !map.readable ||
	    !unwind_tables_open(&m->tables, (const uint8_t *)hdr,
				(const uint8_t *)map.end, &eh_frame))
		return;
	if (unwind_maps_find(eh_frame, &map, line, sizeof(line)) && map.readable) {
		m->tables.lo = (const uint8_t *)map.begin;
		m->tables.hi = (const uint8_t *)map.end;
	} else {
		m->tables.count = 0;
	}
}

/* The sizes are the file's word: they are added in 64 bits, where no sum overflows. */
static void read_note(struct unwind_module *m, const uint8_t *at, size_t size)
{
	while (size >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name, all;

		memcpy(&note, at, sizeof(note));
		name = ((uint64_t)note.n_namesz + 3) & ~3ull;
		all = sizeof(note) + name + (((uint64_t)note.n_descsz + 3) & ~3ull);
		if (all > size)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(at + sizeof(note), "GNU", 4) &&
		    note.n_descsz <= sizeof(m->build_id)) {
			m->build_id_len = (uint8_t)note.n_descsz;
			memcpy(m->build_id, at + sizeof(note) + name, note.n_descsz);
			return;
		}
		at += all;
		size -= all;
	}
}

static void read_build_id(struct unwind_module *m, const Elf64_Ehdr *e)
{
	const Elf64_Phdr *p = program_headers(e), *in;

	for (unsigned i = 0; i < e->e_phnum && !m->build_id_len; i++, p++) {
		if (p->p_type != PT_NOTE)
			continue;
		in = segment_at(e, m->bias, m->bias + p->p_vaddr);
		if (in && p->p_filesz <= in->p_filesz - (p->p_vaddr - in->p_vaddr))
			read_note(m, (const uint8_t *)(m->bias + p->p_vaddr),
				  p->p_filesz);
	}
}

/* ---- asking ---- */

/* Asks _dl_find_object, which reads a table without a lock. *hdr: .eh_frame_hdr, 0 = the
 * object has none. */
static bool ask_linker(uintptr_t pc, struct unwind_module *m, uintptr_t *hdr)
{
	struct unwind_object f;

	if (unwind_find_object((void *)pc, &f))
		return false;
	m->begin = (uintptr_t)f.map_start;
	m->end = (uintptr_t)f.map_end;
	m->bias = f.link_map->l_addr;
	m->name = f.link_map->l_name[0] ? f.link_map->l_name : exe;
	*hdr = (uintptr_t)f.eh_frame;
	return true;
}

/* Asks the kernel for its mappings: the file's first one has its program headers. */
static bool ask_kernel(uintptr_t pc, struct unwind_module *m, uintptr_t *hdr, char *path)
{
	struct unwind_mapping map, head;
	const Elf64_Ehdr *e;
	const Elf64_Phdr *p;
	char line[128];
	bool holds = false, based = false;

	*hdr = 0;
	if (!unwind_maps_find(pc, &map, path, PATH_MOST) ||
	    (map.first != map.begin &&
	     !unwind_maps_find(map.first, &head, line, sizeof(line))))
		return false;
	if (map.first == map.begin)
		head = map;
	if (!head.readable || !(e = elf_header(head.begin)))
		return false;
	p = program_headers(e);
	m->begin = head.begin;
	for (unsigned i = 0; i < e->e_phnum; i++, p++) {
		if (p->p_type != PT_LOAD)
			continue;
		if (!based)
			m->bias = head.begin - (p->p_vaddr & ~(uintptr_t)4095);
		based = true;
		m->end = m->bias + p->p_vaddr + p->p_memsz;
		holds |= pc - (m->bias + p->p_vaddr) < p->p_memsz;
	}
	p = program_headers(e);
	for (unsigned i = 0; i < e->e_phnum; i++, p++)
		if (p->p_type == PT_GNU_EH_FRAME)
			*hdr = m->bias + p->p_vaddr;
	m->name = path;
	return holds;
}

/* ---- what is known ---- */

static bool same_module(const struct unwind_module *a, const struct unwind_module *b)
{
	return a->begin == b->begin && a->end == b->end && a->bias == b->bias &&
	       a->tables.hdr == b->tables.hdr && a->tables.count == b->tables.count &&
	       a->build_id_len == b->build_id_len &&
	       !memcmp(a->build_id, b->build_id, sizeof(a->build_id)) &&
	       !strncmp(a->name, b->name, PATH_MOST - 1);
}

/* The name is kept with the directory that it is relative to: so it stays right when the
 * program goes to another directory. */
static bool keep_name(struct unwind_module *m, const char *name)
{
	char cwd[PATH_MOST];
	size_t len = strnlen(name, PATH_MOST - 1);
	ssize_t n = name[0] == '/' || !strchr(name, '/')
			    ? 0
			    : readlink("/proc/self/cwd", cwd, sizeof(cwd));
	char *kept;

	n = n < 0 ? 0 : n;
	kept = arena_alloc((size_t)n + len + 2);
	if (!kept)
		return false;
	m->path = kept;
	if (n) {
		memcpy(kept, cwd, (size_t)n);
		kept += n;
		*kept++ = '/';
	}
	memcpy(kept, name, len);
	m->name = kept;
	return true;
}

/* Modules are never freed: pages[] and other threads' walks have pointers to them. A
 * module that was unmapped and mapped again at the same place is found here. */
static struct unwind_module *keep_module(const struct unwind_module *found)
{
	struct unwind_module *m = atomic_load_explicit(&modules, memory_order_acquire);

	for (; m; m = m->next)
		if (same_module(m, found))
			return m;
	m = arena_alloc(sizeof(*m));
	if (!m)
		return NULL;
	memcpy(m, found, sizeof(*m));
	if (!keep_name(m, found->name))
		return NULL;
	m->next = atomic_load(&modules);
	while (!atomic_compare_exchange_weak(&modules, &m->next, m))
		;
	return m;
}

static struct unwind_module *look_up_module(uintptr_t pc, uint32_t epoch)
{
	struct unwind_module found = { 0 }, *m;
	char path[PATH_MOST];
	int saved = errno;
	uintptr_t hdr;
	const Elf64_Ehdr *e;

	if (!(unwind_find_object ? ask_linker(pc, &found, &hdr)
				 : ask_kernel(pc, &found, &hdr, path)))
		return NULL;
	e = module_header(&found);
	if (e && hdr)
		read_tables(&found, e, hdr);
	else if (hdr)
		read_mapped_tables(&found, hdr);
	if (e)
		read_build_id(&found, e);
	m = keep_module(&found);
	if (m)
		atomic_store_explicit(&m->epoch, epoch, memory_order_release);
	errno = saved;
	return m;
}

struct unwind_module *unwind_find(uintptr_t pc)
{
	uint32_t epoch = atomic_load_explicit(&unwind_epoch, memory_order_acquire);
	_Atomic(struct unwind_module *) *page =
		&pages[(pc >> 12 ^ pc >> 24) & (PAGES - 1)];
	struct unwind_module *m = atomic_load_explicit(page, memory_order_acquire);

	if (m && pc - m->begin < m->end - m->begin &&
	    atomic_load_explicit(&m->epoch, memory_order_acquire) == epoch)
		return m;
	m = look_up_module(pc, epoch);
	if (m)
		atomic_store_explicit(page, m, memory_order_release);
	return m;
}

/* Where the linker cannot be asked the module is believed: dlclose makes a new epoch. */
bool unwind_find_holds(const struct unwind_module *m, uintptr_t pc)
{
	struct unwind_module now = { 0 };
	uintptr_t hdr;

	return !unwind_find_object ||
	       (ask_linker(pc, &now, &hdr) && now.begin == m->begin &&
		now.end == m->end && now.bias == m->bias);
}

uint32_t unwind_module_id(struct unwind_module *m)
{
	uint64_t known = atomic_load_explicit(&m->id, memory_order_relaxed);
	uint32_t epoch = atomic_load_explicit(&stacks_epoch, memory_order_relaxed), id;

	if (known >> 32 == epoch && (uint32_t)known)
		return (uint32_t)known;
	id = stacks_module(m->bias, m->build_id, m->build_id_len, m->path);
	atomic_store_explicit(&m->id, (uint64_t)epoch << 32 | id, memory_order_relaxed);
	return id;
}
