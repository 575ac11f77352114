/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_tree - which slices are events to torch's EventList, and which event is in which.
 *
 * Some operators are left out; a slice is inside another one only if it is so to the
 * nanosecond; an only child of its parent's name is no event: the parent has the child's
 * children, and its kernels in place of its own.
 *
 * Threads  one at a time.
 * Memory   9 bytes a slice, 13 while it is made; event_tree_free.
 * Errors   false: not enough memory.
 * Units    rows of the model's slices; nanoseconds; doubles of microseconds.
 */
#ifndef REPORT_FIGURES_EVENT_TREE_H
#define REPORT_FIGURES_EVENT_TREE_H

#include "report/model.h"

/* On the host, whatever it is there. */
#define EVENT_KINDS \
	(WANT(SLICE_OP) | WANT(SLICE_NOTE) | WANT(SLICE_PYTHON) | WANT(SLICE_CALL))

struct event_tree {
	uint32_t *parent; /* NO_ROW = none */
	uint32_t
		*launcher; /* whose kernels an event has: its own, or those of its twin */
	bool *event; /* work on a device is none */
};

bool event_tree_make(struct event_tree *t, const struct model *m);
void event_tree_free(struct event_tree *t);
/* Is the slice work on a device that is an event of its own? */
bool event_tree_is_work(const struct model *m, uint32_t slice);

/* Each "ProfilerStep#7" is a "ProfilerStep*" to torch. */
static inline bool event_is_step(const char *name)
{
	return text_starts_with(name, "ProfilerStep#");
}

/* The length of an event as torch has it: files have a copy of an annotation with 1 ns
 * more at each end. */
static inline int64_t event_ns(const struct slice *s)
{
	int64_t ns = s->end - s->begin;

	return s->kind == SLICE_DEVICE_NOTE && ns >= 2 ? ns - 2 : ns;
}

/* The same as torch computes it: moments are counted from the beginning of recording. */
static inline double event_us(const struct model *m, const struct slice *s)
{
	int64_t from = m->recording != TIME_NONE ? m->recording : m->begin;
	int64_t begin = s->begin + (event_ns(s) < s->end - s->begin);

	return (double)(begin + event_ns(s) - from) / 1000.0 -
	       (double)(begin - from) / 1000.0;
}

#endif
