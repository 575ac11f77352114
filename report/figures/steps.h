/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps - where the time of each step goes, by the definitions of TensorBoard's plugin.
 *
 * A step is a "ProfilerStep#N"; without one the whole trace is one step, from its first
 * operator to its last. Where steps launched GPU work they abut, and end with their work;
 * what comes behind the last that is whole is left out. Each moment of a step is of the
 * first share in the list that was busy then. docs/report.md has the rules and what
 * differs from the plugin.
 *
 * Threads  one at a time.
 * Memory   88 bytes a step; while they are made up to 32 bytes a slice; steps_free.
 * Errors   false: not enough memory.
 * Units    nanoseconds.
 */
#ifndef REPORT_FIGURES_STEPS_H
#define REPORT_FIGURES_STEPS_H

#include "report/figures/spans.h"
#include "report/model.h"

enum share {
	SHARE_KERNEL,
	SHARE_MEMCPY,
	SHARE_MEMSET,
	SHARE_COMMUNICATION,
	SHARE_RUNTIME,
	SHARE_DATALOADER,
	SHARE_CPU,
	SHARE_OTHER,
	SHARES,
};

struct step_figures {
	int64_t number, begin, end;
	int64_t share[SHARES]; /* together the step's length */
};

struct steps {
	struct step_figures *row; /* by time; at least one, unless the trace is empty */
	size_t n, left_out; /* left_out: incomplete ones at the end */
	size_t before; /* steps before the first row that nobody asked for */
	bool marked; /* the trace has steps of its own */
	bool gpu; /* there are kernels, copies, sets or calls */
	bool communication;
};

/* "Kernel", "Memcpy", ...: the plugin's words, which JSON has, too. */
extern const char *const share_names[SHARES];

bool steps_make(struct steps *s, const struct model *m);
void steps_free(struct steps *s);

/* All times of a share, joined, whatever else was busy; spans_free. False: no memory. */
bool steps_spans(const struct model *m, enum share share, struct spans *to);

/* The median and the mean of the steps' lengths, or of a share of them. */
int64_t steps_median(const struct steps *s);
double steps_mean(const struct steps *s);
double steps_mean_share(const struct steps *s, enum share share);
/* The row of the step that a moment lies in; -1 = none. */
long steps_at(const struct steps *s, int64_t ts);
/* Does the event count as communication, by the plugin's list of names? */
bool steps_is_collective(const char *name);
/* Is it a kernel of NCCL or RCCL, by its name? */
bool steps_is_collective_kernel(const char *name);

#endif
