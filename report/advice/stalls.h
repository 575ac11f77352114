/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stalls - calls that wait for the GPU, and how long it idles behind them.
 *
 * Threads  one at a time.
 * Memory   the facts'.
 * Errors   false: not enough memory; facts_free frees.
 * Units    nanoseconds.
 */
#ifndef REPORT_ADVICE_STALLS_H
#define REPORT_ADVICE_STALLS_H

#include "report/advice/facts.h"

/* Fills in f->waits, of steps with several such calls: one is normal, where
 * a loss is read. */
bool stalls_make(struct facts *f);
/* The idle time from a wait on, until the GPU has work again in its step. */
struct span stalls_idle(const struct facts *f, uint32_t wait);
/* f->time becomes how long those calls took in each step behind which the GPU idles:
 * meanwhile the host launches nothing. */
void stalls_blocked(struct facts *f);

#endif
