/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_tree - operators and modules in one another, as TensorBoard's plugin nests them.
 *
 * Modules are torch's "nn.Module: Linear_0", functions of Python. Other functions, and
 * annotations that are no step, loader, optimizer or collective, are no nodes: what lies
 * in them is inside of what they lie in. A slice that begins inside another one and ends
 * behind it is left out. An only child of its parent's name is one with it.
 *
 * Threads  one at a time.
 * Memory   21 bytes a slice, and 8 an operator while it is made; module_tree_free.
 * Errors   false: not enough memory.
 * Units    nanoseconds.
 */
#ifndef REPORT_FIGURES_MODULE_TREE_H
#define REPORT_FIGURES_MODULE_TREE_H

#include "report/model.h"

#define MODULE_PREFIX "nn.Module: "

struct module_tree {
	uint32_t *parent; /* NO_ROW = none */
	int64_t *host; /* a node's own time: without that of the nodes inside */
	int64_t *device; /* of all work that it, and what is inside, launched */
	bool *node;
};

bool module_tree_make(struct module_tree *t, const struct model *m);
void module_tree_free(struct module_tree *t);
/* Is the slice a module? */
bool module_tree_is_module(const struct model *m, uint32_t slice);
/* Does the slice count as an operator of the module around it? */
bool module_tree_is_operator(const struct model *m, uint32_t slice);

#endif
