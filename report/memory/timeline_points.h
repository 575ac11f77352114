/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_points - a timeline as moments, no more of them than a picture has columns: of
 * each bin of time its fullest moment and its end.
 *
 * Threads  one at a time.
 * Memory   80 bytes a point; timeline_points_free.
 * Errors   false: not enough memory; there are no points then.
 * Units    nanoseconds since 1970, bytes.
 */
#ifndef REPORT_MEMORY_TIMELINE_POINTS_H
#define REPORT_MEMORY_TIMELINE_POINTS_H

#include "report/memory/timeline.h"

#define TIMELINE_POINTS 3000

/* A moment, and the live bytes of each category at it. */
struct timeline_point {
	int64_t ts, size[CATEGORIES], all;
};

struct timeline_points {
	struct timeline_point *points;
	size_t n;
	int64_t first, last; /* the first and the last change in the window */
	struct timeline_point peak;
};

bool timeline_points_make(struct timeline_points *h, const struct timeline *t);
void timeline_points_free(struct timeline_points *h);

#endif
