/* SPDX-License-Identifier: Apache-2.0 */
/* Functions and lines by DWARF, inlined calls among them. */
#include "base/array.h"
#include "base/search.h"
#include "launcher/symbols/frames.h"
#include "launcher/symbols/libdw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NESTED 64 /* functions inlined into each other at one place */
#define DEEP   256 /* levels of the tree that are visited */

struct range { /* of a compilation unit */
	uint64_t begin, end;
	size_t unit;
};

struct unit {
	Dwarf_Die die, tree; /* DIE of its lines, of its functions: two in split DWARF */
};

struct chain { /* the functions around a place, outermost first */
	Dwarf_Die die[NESTED];
	unsigned n;
};

struct symbol_dwarf {
	Dwfl_Module *module;
	uint64_t bias; /* address = what DWARF says + bias */
	struct unit *unit;
	size_t units, unit_room;
	struct range *range;
	size_t ranges, range_room;
};

/* A place of one unit that is to be resolved. */
struct place {
	uint64_t pc; /* the address in DWARF's own terms */
	size_t unit;
	struct symbol_frame *frame;
	struct chain *chain;
};

/* ---- units ---- */

static void add_unit(struct symbol_dwarf *d, Dwarf_Die *die, Dwarf_Die *split)
{
	Dwarf_Addr base = 0, begin, end;
	ptrdiff_t at = 0;
	int tag = libdw.dwarf_tag(die);

	if ((tag != TAG_COMPILE_UNIT && tag != TAG_SKELETON_UNIT) ||
	    !GROW(d->unit, d->unit_room, d->units))
		return;
	d->unit[d->units] = (struct unit){ *die, split->addr ? *split : *die };
	while ((at = libdw.dwarf_ranges(die, at, &base, &begin, &end)) > 0) {
		/* The linker gives code that it threw away the address 0. */
		if (begin <= 1 || end <= begin ||
		    !GROW(d->range, d->range_room, d->ranges))
			continue;
		d->range[d->ranges++] = (struct range){ begin, end, d->units };
	}
	d->units++;
}

static int by_begin(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->unit < b->unit ? -1 : a->unit > b->unit;
}

/* Reads all units itself, not the file's own index, which not every compiler makes. */
static void read_units(struct symbol_dwarf *d, Dwarf *dwarf)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;

	for (;;) {
		memset(&split, 0, sizeof(split));
		if (libdw.dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, &split))
			break;
		add_unit(d, &die, &split);
	}
	if (d->ranges) /* a file may have no sound ranges */
		qsort(d->range, d->ranges, sizeof(*d->range), by_begin);
}

static const struct range *unit_of(const struct symbol_dwarf *d, uint64_t pc)
{
	size_t behind = SEARCH_FIRST(i, 0, d->ranges, d->range[i].begin > pc);

	return behind && pc < d->range[behind - 1].end ? &d->range[behind - 1] : NULL;
}

/* ---- opening ---- */

static int find_no_elf(Dwfl_Module *m, void **user, const char *name, Dwarf_Addr base,
		       char **path, Elf **elf)
{
	(void)m, (void)user, (void)name, (void)base, (void)path, (void)elf;
	return -1;
}

/* Gives nothing back where it fails: the process that does this ends with its module. */
struct symbol_dwarf *symbol_dwarf_open(const struct symbol_file *f, const char *path)
{
	static Dwfl_Callbacks callbacks = { .find_elf = find_no_elf };
	struct symbol_dwarf *d;
	Dwarf_Addr bias = 0;
	Dwarf *dwarf;
	Dwfl *all;
	int fd;

	if (!symbol_libdw_open())
		return NULL;
	callbacks.find_debuginfo = libdw.dwfl_standard_find_debuginfo;
	all = libdw.dwfl_begin(&callbacks);
	fd = dup(f->fd); /* libdw closes it */
	d = calloc(1, sizeof(*d));
	if (!all || fd < 0 || !d)
		return NULL;
	d->module = libdw.dwfl_report_elf(all, "", path, fd, 0, true);
	if (!d->module || libdw.dwfl_report_end(all, NULL, NULL))
		return NULL;
	dwarf = libdw.dwfl_module_getdwarf(d->module, &bias);
	d->bias = bias;
	if (dwarf)
		read_units(d, dwarf);
	return d;
}

void symbol_dwarf_names(struct symbol_dwarf *d, struct symbol_table *t)
{
	int n = libdw.dwfl_module_getsymtab(d->module);

	for (int i = 1; i < n; i++) {
		GElf_Sym s;
		GElf_Addr at;
		GElf_Word section;
		const char *name = libdw.dwfl_module_getsym_info(d->module, i, &s, &at,
								 &section, NULL, NULL);

		if (name && section != SHN_UNDEF)
			symbol_add(t, name, at, s.st_size, s.st_info);
	}
}

/* ---- the functions around a place ---- */

/* Appends the DIE to the chains of those places in p[0..n) that its code covers; returns
 * how many. */
static unsigned mark_covered(Dwarf_Die *die, struct place *p, size_t n, unsigned level)
{
	Dwarf_Addr base = 0, begin, end;
	ptrdiff_t at = 0;
	unsigned hits = 0;

	while ((at = libdw.dwarf_ranges(die, at, &base, &begin, &end)) > 0) {
		size_t in = SEARCH_FIRST(i, 0, n, p[i].pc >= begin);

		/* Code that several functions share counts as the first one's. */
		for (; in < n && p[in].pc < end; in++) {
			struct chain *c = p[in].chain;

			if (c->n != level || level >= NESTED)
				continue;
			c->die[c->n++] = *die;
			hits++;
		}
	}
	return hits;
}

static bool is_scope(int tag)
{
	switch (tag) {
	case TAG_CLASS_TYPE:
	case TAG_LEXICAL_BLOCK:
	case TAG_STRUCTURE_TYPE:
	case TAG_UNION_TYPE:
	case TAG_MODULE:
	case TAG_WITH_STMT:
	case TAG_CATCH_BLOCK:
	case TAG_TRY_BLOCK:
	case TAG_NAMESPACE:
		return true;
	}
	return false;
}

static void visit_scopes(Dwarf_Die *parent, struct place *p, size_t n, unsigned level,
			 unsigned depth)
{
	Dwarf_Die die;

	if (depth == DEEP || libdw.dwarf_child(parent, &die))
		return;
	do {
		int tag = libdw.dwarf_tag(&die);

		if (tag == TAG_SUBPROGRAM || tag == TAG_INLINED_SUBROUTINE) {
			if (mark_covered(&die, p, n, level))
				visit_scopes(&die, p, n, level + 1, depth + 1);
		} else if (is_scope(tag)) {
			visit_scopes(&die, p, n, level, depth + 1);
		}
	} while (!libdw.dwarf_siblingof(&die, &die));
}

/* ---- the functions' texts ---- */

/* Members of nameless things have no linkage name in DWARF ... */
static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	const char *name = NULL;

	if (libdw.dwarf_attr_integrate(die, AT_LINKAGE_NAME, &a) ||
	    libdw.dwarf_attr_integrate(die, AT_MIPS_LINKAGE_NAME, &a))
		name = libdw.dwarf_formstring(&a);
	return name ? name : libdw.dwarf_diename(die);
}

/* ... but where they are not inlined the symbol table has it: without what the compiler
 * appended (".constprop.0"). */
static const char *outer_name(Dwarf_Die *die, struct symbol_table *names, uint64_t pc)
{
	static char cut[4096];
	const char *name = name_of(die), *symbol;

	if (name && !strncmp(name, "_Z", 2))
		return name;
	symbol = symbol_find(names, pc);
	if (!symbol || strncmp(symbol, "_Z", 2))
		return name ? name : symbol;
	snprintf(cut, sizeof(cut), "%.*s", (int)strcspn(symbol, "."), symbol);
	return strlen(symbol) < sizeof(cut) ? cut : symbol;
}

struct source {
	const char *file;
	unsigned line;
};

/* Asks the unit itself: a split unit's line table stays in the skeleton. */
static struct source line_of(struct unit *u, uint64_t pc)
{
	Dwarf_Line *line = libdw.dwarf_getsrc_die(&u->die, pc);
	const char *file = line ? libdw.dwarf_linesrc(line, NULL, NULL) : NULL;
	int number = 0;

	if (!file || libdw.dwarf_lineno(line, &number))
		return (struct source){ 0 };
	return (struct source){ file, (unsigned)number };
}

static uint64_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute a;
	Dwarf_Word value = 0;

	if (libdw.dwarf_attr(die, name, &a))
		libdw.dwarf_formudata(&a, &value);
	return value;
}

/* The place from which an inlined function was called. */
static struct source call_of(struct unit *u, Dwarf_Die *die)
{
	uint64_t file = number_of(die, AT_CALL_FILE);
	Dwarf_Files *files;
	size_t n = 0;

	if (libdw.dwarf_getsrcfiles(&u->tree, &files, &n) || file >= n)
		return (struct source){ 0 };
	return (struct source){ libdw.dwarf_filesrc(files, file, NULL, NULL),
				(unsigned)number_of(die, AT_CALL_LINE) };
}

static void put_frame(struct symbol_dwarf *d, struct place *p, struct text *t,
		      struct symbol_table *names)
{
	struct unit *u = &d->unit[p->unit];
	struct source at = line_of(u, p->pc);
	struct chain *c = p->chain;

	if (!at.file)
		return; /* the caller may have a name from the symbol table */
	p->frame->text = t->n;
	if (!c->n)
		symbol_put_line(t, symbol_find(names, p->frame->pc), at.file, at.line);
	for (unsigned i = c->n; i-- > 0;) {
		const char *name = i ? name_of(&c->die[i])
				     : outer_name(&c->die[i], names, p->frame->pc);

		symbol_put_line(t, name, at.file ? at.file : "??", at.line);
		at = call_of(u, &c->die[i]);
	}
	symbol_put_end(t);
}

/* ---- all of it ---- */

static int by_unit(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->unit != b->unit)
		return a->unit < b->unit ? -1 : 1;
	return a->pc < b->pc ? -1 : a->pc > b->pc;
}

void symbol_dwarf_find(struct symbol_dwarf *d, struct symbol_frame *frame, size_t n,
		       struct text *t, struct symbol_table *names)
{
	struct place *p = calloc(n, sizeof(*p));
	struct chain *chains = calloc(n, sizeof(*chains));
	size_t found = 0;

	for (size_t i = 0; p && chains && i < n; i++) {
		const struct range *r = unit_of(d, frame[i].pc - d->bias);

		if (r)
			p[found++] = (struct place){ frame[i].pc - d->bias, r->unit,
						     &frame[i], NULL };
	}
	if (found)
		qsort(p, found, sizeof(*p), by_unit);
	for (size_t first = 0, end; first < found; first = end) {
		for (end = first; end < found && p[end].unit == p[first].unit; end++)
			p[end].chain = &chains[end];
		visit_scopes(&d->unit[p[first].unit].tree, p + first, end - first, 0, 0);
		for (size_t i = first; i < end; i++)
			put_frame(d, &p[i], t, names);
	}
	free(chains);
	free(p);
}
