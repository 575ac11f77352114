/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evidence - which steps advice judges: the second to the last, or the only one.
 *
 * Threads  any.
 * Memory   what it is made of must outlive it.
 * Errors   false: not enough memory.
 * Units    nanoseconds.
 */
#ifndef REPORT_ADVICE_EVIDENCE_H
#define REPORT_ADVICE_EVIDENCE_H

#include "report/advice/advice.h"

/* `e->judged` is 0 where there is nothing to judge: then there is no advice, and no
 * error. */
bool evidence_make(struct evidence *e, const struct model *m, const struct steps *steps,
		   const struct devices *devices, const struct operators *operators,
		   const struct kernels *kernels);

#endif
