/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects - the modules of a window: which there are, and torch's numbers of them.
 *
 * Threads  one at a time.
 * Memory   32 bytes for each module, and an index; 256 KiB of address space.
 * Errors   0 or -ENOMEM.
 * Units    ticks; ids as names.h has them.
 */
#ifndef WRITER_PYTHON_OBJECTS_H
#define WRITER_PYTHON_OBJECTS_H

#include "agent/core/record_module.h"
#include "agent/core/spool_view.h"
#include "writer/pile.h"

#define OBJECTS_CLASSES (1u << 16) /* slots; a power of two */

struct object {
	uint64_t self, begin; /* of its first call */
	uint32_t class, number;
	uint32_t path; /* of a call whose path is known */
	uint32_t pathless; /* calls without */
};

struct objects {
	const struct spool_view *view;
	uint32_t classes[OBJECTS_CLASSES]; /* ids by their text; 0 = empty */
	unsigned class_n;
	struct pile all; /* struct object */
	uint32_t *index; /* of them, + 1; 0 = empty */
	size_t slots;
	uint64_t pathless, entered; /* calls */
};

/* Each call once, in any order; then all get their numbers. */
int objects_note(struct objects *o, const struct rec_module *r);
int objects_number(struct objects *o);
/* The module of a call; a spool that changes while it is read may have one that was not
 * there before: NULL. */
const struct object *objects_of(struct objects *o, const struct rec_module *r);
void objects_free(struct objects *o);

#endif
