/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trend - does a level, noted at the end of each step, go on rising?
 *
 * docs/memory.md has the rule in words, docs/measured/leaks.md what it finds and misses.
 * Low-water marks of stretches of steps stand for the steps, so that memory that comes
 * and goes does not hide memory that stays.
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

#define TREND_LEAST 6u /* steps; with fewer there is no answer */
#define TREND_SURE  20u /* steps, from which on exact levels get an answer */

enum trend_is {
	TREND_STEADY, /* or the level falls, or comes and goes */
	TREND_LEVELLED, /* the level rose, and has stopped */
	TREND_GROWS,
	TREND_UNSURE,
};

struct trend_of {
	const int64_t *level; /* at the ends of the steps */
	size_t n; /* at most RISES_MOST */
	double limit; /* growth up to which it is no leak */
	/* Sampled levels: the square of a level's error, divided by the level. 0: exact
	 * levels. */
	double error;
	double churn; /* for sampled levels: bytes given back, a step */
	bool rough; /* other memory comes and goes at the same place: may be unsure */
};

struct trend {
	enum trend_is is;
	double slope; /* growth a step, from `since` on */
	double low; /* the slope's lower bound: one in a hundred lies below it */
	size_t since; /* growth: its first step; levelled: its last */
	size_t more; /* unsure: so many more steps may decide it; 0: not known */
};

struct trend trend_find(const struct trend_of *t);

#endif
