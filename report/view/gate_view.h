/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate_view - a verdict, for people and for what runs checks.
 *
 * Threads  one at a time.
 * Memory   none of its own.
 * Errors   none.
 * Units    of json: nanoseconds become microseconds, bytes stay; percent.
 */
#ifndef REPORT_VIEW_GATE_VIEW_H
#define REPORT_VIEW_GATE_VIEW_H

#include "report/compare/difference.h"
#include "report/compare/gate.h"

#include <stdio.h>

enum gate_format {
	GATE_TEXT,
	GATE_JSON,
	GATE_JUNIT,
	GATE_GITHUB,
	GATE_MARKDOWN,
	GATE_FORMATS
};
extern const char *const gate_formats[GATE_FORMATS];

struct gate_view {
	const struct gate *gate;
	const struct difference *difference; /* a: the baseline, b: the run */
	const char *metric;
	double limit;
	bool strict;
};

void gate_view_print(const struct gate_view *v, enum gate_format format, FILE *out);
/* "regression: step is 5.2 % above the baseline (...)". */
void gate_view_sentence(const struct gate_view *v, char *to, size_t size);

#endif
