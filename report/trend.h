/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trend - does a level that was noted at the end of each step go on rising?
 *
 * docs/memory.md has the rule in words, docs/measured/leaks.md what it finds and misses.
 * Low-water marks of stretches of steps stand for the steps, so that what comes and goes
 * does not hide what stays.
 *
 * Threads  one at a time.
 * Memory   100 kB of its own, static.
 * Errors   none.
 * Units    bytes; bytes a step.
 */
#ifndef REPORT_TREND_H
#define REPORT_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TREND_LEAST 6u /* steps, below which nothing is said */
#define TREND_SURE  20u /* steps, from which on there is an answer to exact levels */

enum trend_is {
	TREND_STEADY, /* or it falls, or comes and goes */
	TREND_LEVELLED, /* it rose, and has stopped */
	TREND_GROWS,
	TREND_UNSURE,
};

struct trend_of {
	const int64_t *level; /* at the ends of the steps */
	size_t n; /* at most RISES_MOST */
	double limit; /* growth that is none yet */
	/* Sampled levels: what the square of a level's error is, by the level. 0: exact.
	 */
	double error;
	double churn; /* of sampled levels: what is given back, a step */
	bool rough; /* where other things come and go at the same place: may be unsure */
};

struct trend {
	enum trend_is is;
	double slope; /* growth a step, from `since` on */
	double low; /* the slope's lower bound: one in a hundred lies below it */
	size_t since; /* growth: the first step of it; levelled: the last one */
	size_t more; /* unsure: so many steps more may decide it; 0: nobody knows */
};

struct trend trend_find(const struct trend_of *t);

#endif
