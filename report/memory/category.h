/* SPDX-License-Identifier: Apache-2.0 */
/*
 * category - what a block of tensor memory is for, as far as a trace can tell.
 *
 * torch's own export follows tensors from operator to operator inside the process. A
 * trace has names, nesting, times and sizes only; the rules use these, and docs/memory.md
 * says how far both agree.
 *
 * Threads  one at a time.
 * Memory   none that is kept.
 * Errors   false: not enough memory.
 * Units    bytes.
 */
#ifndef REPORT_MEMORY_CATEGORY_H
#define REPORT_MEMORY_CATEGORY_H

#include "report/memory/blocks.h"

/* Sets the category of every block. */
bool category_set_all(struct blocks *b);

/* Sums up the bytes on `device` from before the window that stay, so that no block tells
 * of them: parameters, optimizer states, inputs, and unknown ones, each in to[its
 * category]. */
void preexisting_set(const struct blocks *b, uint32_t device, int64_t to[CATEGORIES]);

extern const char *const category_names[CATEGORIES];
extern const char *const category_colours[CATEGORIES];
extern const char *const category_rules[CATEGORIES];

#endif
