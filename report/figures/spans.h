/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans - sets of times: what lies in any of many intervals, each moment once.
 *
 * Spans are added in any order; spans_join sorts them and makes one of those that touch
 * or overlap. All other functions want joined ones.
 *
 * Threads  one at a time.
 * Memory   16 bytes a span; spans_free.
 * Errors   false: not enough memory.
 * Units    nanoseconds; a span is [begin, end).
 */
#ifndef REPORT_FIGURES_SPANS_H
#define REPORT_FIGURES_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
	int64_t begin, end;
};

struct spans {
	struct span *row;
	size_t n, room;
};

/* An empty interval is none. */
bool spans_add(struct spans *s, int64_t begin, int64_t end);
void spans_join(struct spans *s);
void spans_free(struct spans *s);

/* `to` becomes what is in both, or what is in `a` and not in `b`; it is no other's. */
bool spans_common(struct spans *to, const struct spans *a, const struct spans *b);
bool spans_without(struct spans *to, const struct spans *a, const struct spans *b);
/* How much of [begin, end) is in the set. */
int64_t spans_within(const struct spans *s, int64_t begin, int64_t end);

#endif
