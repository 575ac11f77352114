/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths - what a window knows of the modules that it has seen: their class, and where
 * each is in the tree that it belongs to, as named_modules() spells that.
 *
 * The tree below a module that nobody has seen yet is walked once in each window, by what
 * its objects' dictionaries have: no Python code runs, and no reference is kept.
 *
 * Threads  one that holds the interpreter's lock.
 * Memory   a table of address space, as large as the modules are many; names and paths in
 *          the spool.
 * Errors   NULL: no memory for one more. A path of 0: there is none, it is too long, or
 *          32,768 others were stored.
 * Units    ids as names.h has them.
 */
#ifndef PYTHON_PATHS_H
#define PYTHON_PATHS_H

#include "agent/python/layout.h"
#include "base/hash.h"

struct paths_module {
	const void *self, *type; /* addresses alone */
	const void *root; /* the module that it was found below */
	uint32_t name, path; /* ids */
	uint64_t window; /* another one's: the place is empty */
};

struct paths_table {
	struct paths_module *module;
	size_t slots, n; /* n: in the window that was last */
	uint64_t window;
};
extern struct paths_table paths;

bool paths_find(void); /* looks up the interpreter's functions; false: one is missing */
/* A module that is not known yet is stored, and all below it. */
struct paths_module *paths_learn(const void *self, uint64_t window);
void paths_fork_child(void);
/* What is known of the address; nothing of the object is read. */
struct paths_module *paths_at(const void *self, const void *type, uint64_t window);
uint32_t paths_class(const void *type); /* the id of its name; needs no lock */
/* No window is open, and none opens meanwhile: gives memory back. Any thread. */
void paths_end(void);
/* An attribute of the type as its dictionaries have it, borrowed; NULL: none. */
void *paths_attribute(const void *type, const char *name);

/* Where it is, or belongs. The table is never full. Hot path. */
static inline struct paths_module *paths_place(const void *self, uint64_t window)
{
	size_t at = hash_place((uintptr_t)self, paths.slots);

	while (paths.module[at].window == window && paths.module[at].self != self)
		at = at + 1 < paths.slots ? at + 1 : 0;
	return &paths.module[at];
}

/* NULL: it is not known, or another object is at its address. */
static inline struct paths_module *paths_known(const void *self, uint64_t window)
{
	struct paths_module *m = paths.slots ? paths_place(self, window) : NULL;

	return m && m->window == window && m->type == layout_at(self, LAYOUT_TYPE) ? m
										   : NULL;
}

#endif
