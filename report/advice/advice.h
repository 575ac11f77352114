/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice - what to fix first: rules that look at a trace, and say what a step would gain.
 *
 * A rule speaks only where its evidence is in the file; the others are counted as silent,
 * with what would have to be recorded. docs/report.md lists rules and thresholds.
 *
 * Threads  one at a time.
 * Memory   the caller's, of fixed size; texts are copies.
 * Errors   false: not enough memory.
 * Units    nanoseconds a step, the median one; shares of it from 0 to 1.
 */
#ifndef REPORT_ADVICE_ADVICE_H
#define REPORT_ADVICE_ADVICE_H

#include "report/figures/devices.h"
#include "report/figures/kernels.h"
#include "report/figures/operators.h"

#include <stdio.h>

#define ADVICE_MOST 32u

/* What all rules see, made once. */
struct evidence {
	const struct model *m;
	const struct steps *steps;
	const struct devices *devices;
	const struct operators *operators; /* by name */
	const struct kernels *kernels;
	size_t first; /* the first step that is judged: 1, or 0 where there is no other */
	size_t judged; /* how many steps are */
	int64_t step; /* the median length of these; above 0 */
};

struct advice {
	const char *rule; /* "dataloader", ... */
	char title[96]; /* "The step waits for input" */
	char seen[256]; /* numbers of this file: "in each of 6 steps (29 to 37 %)" */
	char why[256]; /* what that means */
	char act[256]; /* what to do */
	char where[256]; /* operator, line, step; "" = nowhere in particular */
	int64_t gain; /* a step, at most; 0 = cannot be said */
	bool exact; /* else it is an upper limit */
	bool minor; /* little is lost by it: not what the report says first */
	bool consequence; /* of something else: it stands below its causes */
};

struct silent { /* a rule that could not look */
	const char *rule, *record; /* record: what to record, "--record-shapes" */
};

struct advices {
	struct advice row[ADVICE_MOST]; /* by gain, consequences behind their causes */
	unsigned n;
	struct silent silent[ADVICE_MOST];
	unsigned silent_n;
};

bool advice_make(struct advices *a, const struct evidence *e);
/* Prints a rule with its thresholds, or all rules for NULL. False: there is none. */
bool advice_explain(FILE *out, const char *rule);

#endif
