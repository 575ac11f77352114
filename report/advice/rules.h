/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules - each looks at the facts, and fills in its advice or leaves it empty.
 *
 * Threads  one at a time.
 * Memory   their own while they run.
 * Errors   false: not enough memory.
 * Units    as struct advice has them.
 */
#ifndef REPORT_ADVICE_RULES_H
#define REPORT_ADVICE_RULES_H

#include "report/advice/facts.h"

#include <stdio.h>

/* What must be in the file; else the rule is silent. */
enum {
	NEED_STEPS = 1, /* steps of the program's own, and several */
	NEED_OPS = 2,
	NEED_KERNELS = 4, /* only where the process used a GPU */
	NEED_CALLS = 8, /* likewise: calls with the numbers of their work */
	NEED_GPU = 16, /* likewise: what the GPU is */
	NEED_MEMORY = 32, /* with a GPU its calls, without one memory of tensors */
	NEED_GPU_MEMORY = 64, /* likewise, of the GPU */
	NEED_PYTHON = 128, /* Python's functions, as slices, or its collections */
	NEED_CPUS = 256, /* only where no GPU was used: how many there are */
};

/* The rule that speaks has a title. */
typedef bool rule_look(struct facts *f, struct advice *a);

#define RULE(name, look, needs, causes, text) rule_look look;
#include "report/advice/rules.def"
#undef RULE

#define ADVICE_SAY(field, ...) ((void)snprintf(field, sizeof(field), __VA_ARGS__))

#endif
