/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules - a row for each place of a module among others, as the plugin's module view.
 *
 * A place is a name below the place of the module around: one that two modules call has
 * two rows, where the plugin has its sums twice.
 *
 * Threads  one at a time.
 * Memory   72 bytes a row and 4 a slice; while they are made 25 bytes a slice more;
 *          modules_free.
 * Errors   false: not enough memory.
 * Units    nanoseconds; sums stay at their ends.
 */
#ifndef REPORT_FIGURES_MODULES_H
#define REPORT_FIGURES_MODULES_H

#include "report/model.h"

struct module_figures {
	uint32_t name; /* a text of the model, without "nn.Module: " */
	uint32_t path; /* of its first call, a text of the model; TEXT_NONE = none */
	uint32_t parent; /* its row; NO_ROW = none */
	uint32_t depth; /* how many modules are around it */
	uint64_t count, operators; /* operators: that no other of its operators called */
	int64_t host, self_host; /* self: without the operators and modules inside */
	int64_t device, self_device; /* self: of its operators, not of its modules */
};

struct modules {
	struct module_figures *row; /* a module before those inside, in the order of
				       their first calls */
	uint32_t *of; /* by slice: the row of the innermost module around, or of the
			 module itself; NO_ROW = none, or outside of the times */
	size_t n, room;
};

/* `from` and `to` bound what counts: modules that begin in [from, to). Names are added to
 * the model's texts. */
bool modules_make(struct modules *s, struct model *m, int64_t from, int64_t to);
void modules_free(struct modules *s);

#endif
