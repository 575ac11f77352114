/* SPDX-License-Identifier: Apache-2.0 */
/*
 * importer - importlib's function that finds a module which is not there yet, watched.
 *
 * The interpreter calls it by its pointer, which slot.h exchanges; but Python calls it
 * itself as well (import_module), and its call sites that are hot look at its version or
 * its type alone: those look at the pointer again, and kin.h's type is for 3.11.
 *
 * Threads  one with the interpreter's lock; importer_ready: any, first.
 * Memory   struct importer is the caller's and stays for good.
 * Errors   text that says why; importer_watch: false, another tool stands in front of it.
 * Units    none.
 */
#ifndef PYTHON_IMPORTER_H
#define PYTHON_IMPORTER_H

#include "agent/python/slot.h"

struct importer {
	struct slot slot; /* of _frozen_importlib._find_and_load */
	bool kin; /* needs its type exchanged, too */
};

/* Looks up the interpreter's functions, imported.h's as well; false: one is missing. */
bool importer_ready(void);
const char *importer_find(struct importer *i, slot_call *ours);
bool importer_watch(struct importer *i); /* again: what others took away is there */
void importer_leave(struct importer *i);

#endif
