/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled - how far from the truth the growth of a sampled level may be.
 *
 * The error of a level of N bytes is sqrt(error x N), `error` being that of trend_of.
 *
 * Threads  any.
 * Memory   none.
 * Errors   none.
 * Units    bytes; standard errors.
 */
#ifndef REPORT_SAMPLED_H
#define REPORT_SAMPLED_H

#include "report/rises.h"
#include "report/trend.h"

#define SAMPLED_ERRORS 2.0 /* errors of an estimate, up and down */

/* The most that a growth, known to +- `error`, may be in truth: `errors` above it. */
double sampled_most(const struct trend_of *t, double growth, double error, double errors);
/* The error of the growth in the last `tail` rises. */
double sampled_error(const struct trend_of *t, const struct rises *r, size_t tail);
/* Is the growth above the limit, whatever the sample; and, less strictly, the growth of
 * its second half? */
bool sampled_is_above(const struct trend_of *t, const struct rises *r);

#endif
