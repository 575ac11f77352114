/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory - the memory view: which operators and call sites held how much, when, and which
 * keep more at every step.
 *
 * A space is memory that can be full: the tensors of one device, or the heap. Live bytes
 * count from the window's beginning unless the file says otherwise; see docs/memory.md
 * for each definition.
 *
 * Threads  one at a time.
 * Memory   memory_free frees all; labels are texts of the model.
 * Errors   false: not enough memory.
 * Units    bytes, nanoseconds.
 */
#ifndef REPORT_MEMORY_MEMORY_H
#define REPORT_MEMORY_MEMORY_H

#include "report/memory/blocks.h"

#include <stdio.h>

#define MEMORY_STEPS   1000u /* of more steps, the last ones */
#define MEMORY_GROWING 4096u /* rows whose live bytes at each step are kept */

struct memory_options {
	unsigned top, depth;
	const char *device; /* "cpu", "cuda:0", "heap"; NULL = all */
	int64_t first, last; /* step numbers, inclusive */
};

struct memory_row {
	uint32_t label;
	int64_t peak, peak_blocks; /* live at the space's peak */
	int64_t end, end_blocks; /* live at the window's end */
	int64_t allocs, bytes, frees, freed, brief;
	int64_t last; /* live at the last step's end */
	int64_t *steps; /* live at each step's end; NULL = not kept */
};

struct memory_table {
	struct memory_row *rows;
	uint32_t *row_of; /* by label */
	size_t n, room, labels;
};

struct memory_churn {
	int64_t allocs, bytes, frees, freed, brief, end;
};

struct memory_space {
	char name[32];
	bool heap, estimated, counted; /* counted: its call sites are not known */
	uint32_t device;
	int64_t peak, peak_ts; /* as the allocator counts, else as the window shows */
	int64_t peak_seen; /* of the memory that was allocated in the window */
	long peak_step; /* the step's number; -1 = in none */
	uint32_t peak_op; /* label of the operator at the peak */
	int64_t end, end_blocks, reserved, oom;
	int64_t allocs, bytes, frees, freed, brief;
	int64_t foreign; /* frees of blocks that are older than the window */
	int64_t category[CATEGORIES]; /* live at the peak */
	int64_t older; /* of the peak: older than the window and of no known category */
	struct memory_table by_op, by_site;
	const int64_t *numbers; /* of the steps */
	size_t steps_n, steps_from; /* steps_from: the first of them in the heap's list */
	struct memory_churn *churn; /* one for each step; NULL = not known */
	struct memory_churn outside; /* churn outside of steps */
};

struct memory_view {
	struct model *model;
	struct blocks blocks;
	struct memory_options options;
	struct memory_space *spaces;
	size_t spaces_n;
	int64_t *numbers, *begins, *ends; /* of the view's steps */
	size_t steps_n;
};

/* The model must have been read with WANT of SLICE_OP and SLICE_NOTE. */
bool memory_make(struct memory_view *v, struct model *m, const struct memory_options *o);
void memory_free(struct memory_view *v);

/* Make the view's parts: the tensors of one device, and the heap. */
bool memory_tensors(struct memory_view *v, struct memory_space *s);
bool memory_heap(struct memory_view *v, struct memory_space *s);
/* Writes the innermost native frames of a call site outside of the allocator, `depth` at
 * most, or inside where there are no others. Returns the length; 0: it has no stack. */
size_t memory_native(char *text, size_t size, const struct model *m,
		     const struct site *site, unsigned depth);
struct memory_row *memory_row(struct memory_table *t, struct texts *texts,
			      uint32_t label);
/* Gives the rows that hold most at the last step a list of their steps. */
bool memory_keep_steps(struct memory_table *t, size_t steps);
/* The row's growth in step i: from the step before, or from the window's beginning. */
int64_t memory_growth(const struct memory_row *r, size_t i);

/* The label of an operator or a call site, as people read it. */
static inline const char *memory_label(const struct memory_view *v, uint32_t label)
{
	return label == TEXT_NONE ? "(outside operators)"
				  : texts_get(&v->model->texts, label);
}

/* Write the report for people, and for programs (docs/memory.md). */
void memory_print(const struct memory_view *v, const char *path, FILE *out);
void memory_json(const struct memory_view *v, const char *path, FILE *out);

/* ---- leaks ---- */

struct leak_options {
	unsigned steps; /* how many of the last steps; 0 = all */
	int64_t growth; /* bytes a step up to which growth is no leak */
};

/* Prints the leaks that it finds. Returns 0: none, 1: leaks, 2: the trace cannot say. */
int leaks_print(const struct memory_view *v, const struct leak_options *o,
		const char *path, FILE *out);

#endif
