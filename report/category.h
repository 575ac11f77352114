/* SPDX-License-Identifier: Apache-2.0 */
/*
 * category - what a block of tensor memory is for, as far as a trace can tell.
 *
 * torch's own export follows tensors from operator to operator inside the process. A
 * trace has names, nesting, times and sizes only; the rules below are what these allow,
 * and docs/memory.md says how far both agree.
 *
 * Threads  one at a time.
 * Memory   none that is kept.
 * Errors   false: not enough memory.
 * Units    bytes.
 */
#ifndef REPORT_CATEGORY_H
#define REPORT_CATEGORY_H

#include "report/blocks.h"

/* Sets the category of every block. */
bool categories_set(struct blocks *b);

/* What was there before the window and stays: not seen as blocks. */
struct category_before {
	int64_t parameters, optimizer, input, rest;
};
void categories_before(const struct blocks *b, uint32_t device,
		       struct category_before *to);

extern const char *const category_names[CATEGORIES];
extern const char *const category_colours[CATEGORIES];
extern const char *const category_rules[CATEGORIES];

#endif
