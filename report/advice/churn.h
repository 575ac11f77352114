/* SPDX-License-Identifier: Apache-2.0 */
/*
 * churn - how long the GPU idles while its driver allocates and frees memory.
 *
 * Threads  one at a time.
 * Memory   f->time and f->scratch are overwritten.
 * Errors   false: not enough memory.
 * Units    nanoseconds of a median steady step; 0 = most steps have no such call.
 */
#ifndef REPORT_ADVICE_CHURN_H
#define REPORT_ADVICE_CHURN_H

#include "report/advice/facts.h"

bool churn_idle(struct facts *f, int64_t *idle);

#endif
