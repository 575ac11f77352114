/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview - what to fix first, and where a step goes: on a screen, or as Markdown.
 *
 * Threads  one at a time.
 * Memory   none of its own; texts of overview_sentence are the caller's.
 * Errors   none.
 * Units    none.
 */
#ifndef REPORT_VIEW_OVERVIEW_H
#define REPORT_VIEW_OVERVIEW_H

#include "report/view/screen.h"
#include "report/view/subject.h"

/* `limit` advices; 0 = a few. */
void overview_print(const struct subject *s, const struct screen *screen, size_t limit);
/* overview_markdown.c: the same, in 60 lines where no limit is given. */
void overview_markdown(const struct subject *s, const struct screen *screen,
		       size_t limit);

/* overview_sentences.c: what both have. The sentence above all: */
void overview_sentence(const struct subject *s, char *to, size_t size);
/* "6 steps of 177.6 ms (± 6.9)". */
void overview_steps(const struct subject *s, char *to, size_t size);
/* ", Tesla V100 busy 56 %, SM efficiency 55 %, ..." of a GPU, without the comma. */
void overview_gpu(const struct subject *s, const struct device_figures *d, char *to,
		  size_t size);
/* The advice in that place: those whose gain is known come first, and what is said as a
 * doubt is not said again. NULL: there are no more. */
const struct advice *overview_advice(const struct subject *s, unsigned place);
/* "≤ 19 %": what an advice is worth, as a share of a step; "" = it cannot be said. */
void overview_gain(const struct subject *s, const struct advice *a, char *to,
		   size_t size);
/* "input shapes (--record-shapes), ...": what was not recorded; "" = all was. */
void overview_absent(const struct subject *s, char *to, size_t size);
/* Does the operator belong among the largest? Steps and other frames do not. */
bool overview_is_large(const struct subject *s, const struct operator_figures *f);

#endif
