/* SPDX-License-Identifier: Apache-2.0 */
/*
 * returned - where calls of modules end that nobody saw return (MODULE_GONE): with the
 *            last thing that their thread did in them.
 *
 * Threads  one at a time.
 * Memory   16 bytes for each such call; returned_free.
 * Errors   0 or -ENOMEM.
 * Units    ticks.
 */
#ifndef WRITER_PYTHON_RETURNED_H
#define WRITER_PYTHON_RETURNED_H

#include "agent/core/record_module.h"
#include "writer/read.h"

struct returned {
	struct pile calls;
	size_t first; /* of the thread that is looked at */
};

void returned_thread(struct returned *s); /* another thread's records follow */
/* The next record of the thread. */
int returned_note(struct returned *s, const struct cycle_read *c, const struct record *r);
/* The end of any call. */
uint64_t returned_end(const struct returned *s, const struct cycle_read *c,
		      const struct rec_module *m);
void returned_free(struct returned *s);

#endif
