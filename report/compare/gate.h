/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate - is a run slower than its baseline, and by more than is allowed?
 *
 * It is a regression where the lower end of the shift's interval is above the limit: the
 * run is sure to be worse. It is fine where the interval lies below the limit, or holds
 * it but is narrow enough to have shown a change of that size. Else nobody can tell.
 *
 * Threads  one at a time.
 * Memory   none of its own.
 * Errors   GATE_UNSURE with the reason.
 * Units    parts of the baseline's median: 0.05 is 5 %.
 */
#ifndef REPORT_COMPARE_GATE_H
#define REPORT_COMPARE_GATE_H

#include "report/compare/compare.h"

enum gate_verdict { GATE_FINE, GATE_REGRESSION, GATE_UNSURE };

struct gate {
	enum gate_verdict verdict;
	struct shift shift; /* of the metric */
	double by, low, high; /* the shift as a part of the baseline's median */
	size_t steps; /* of each side that would tell; 0 = not said */
	char why[256]; /* of GATE_UNSURE */
};

/* metric: "step", "gpu", "peak-memory" or "ops/NAME". With `strict` the run is fine only
 * where the whole interval is below the limit. False: not enough memory. */
bool gate_judge(struct gate *g, const struct profile *baseline, const struct profile *run,
		const char *metric, double limit, bool strict);
/* Is it the name of a metric? */
bool gate_is_metric(const char *metric);

#endif
