/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts - what several rules look at: the GPU's work by time, with the calls that
 * launched it, and when the GPU and the loader were busy.
 *
 * Threads  one at a time.
 * Memory   40 bytes a piece of GPU work, 16 a span, 8 a call; facts_free.
 * Errors   false: not enough memory.
 * Units    nanoseconds.
 */
#ifndef REPORT_ADVICE_FACTS_H
#define REPORT_ADVICE_FACTS_H

#include "report/advice/advice.h"
#include "report/figures/launches.h"
#include "report/figures/spans.h"

/* So many slices around one are looked at: a hostile file nests millions. */
#define FACTS_DEPTH 512u

struct piece { /* a kernel, a copy or a set that begins in a judged step */
	int64_t begin, end;
	uint32_t slice, call; /* call: NO_ROW = the file does not say */
	bool talk; /* a kernel of a collective */
};

struct facts {
	const struct evidence *e;
	const struct model *m;
	const struct step_figures *step; /* the judged ones */
	size_t n, middle; /* middle: the step of median length */
	int64_t from, to; /* of all of them */
	struct launches ops;
	struct piece *work; /* by begin */
	size_t work_n, work_room, kernels;
	uint32_t host; /* the thread that launched most; NO_ROW = none */
	struct spans busy; /* any work */
	struct spans compute, talk; /* kernels but collectives', and those */
	struct spans loading; /* the program was in its DataLoader */
	uint32_t
		*waits; /* calls that wait for the GPU, of steps with several: stalls.h */
	size_t waits_n, waits_room;
	int64_t *time, *scratch; /* a number for each step, for one rule at a time */
};

/* After false there is nothing to free. */
bool facts_make(struct facts *f, const struct evidence *e);
void facts_free(struct facts *f);
/* The judged step that a moment lies in; -1 = none. */
long facts_step(const struct facts *f, int64_t ts);
/* f->time becomes how much of each step lies in the spans. */
void facts_measure(struct facts *f, const struct spans *s);
/* The innermost slice of a thread around a moment; NO_ROW = none. */
uint32_t facts_around(const struct facts *f, uint32_t thread, int64_t ts);

static inline int64_t facts_length(const struct facts *f, size_t step)
{
	return f->step[step].end - f->step[step].begin;
}

/* Hostile files have times of any size: a sum stays at its end. */
static inline void facts_add(int64_t *sum, int64_t time)
{
	if (__builtin_add_overflow(*sum, time, sum))
		*sum = INT64_MAX;
}

/* A time that was summed as a double. */
static inline int64_t facts_time(double ns)
{
	return ns < 9e18 ? (int64_t)ns : INT64_MAX;
}

/* Steps of the recording before the first one that is judged. */
static inline size_t facts_before(const struct facts *f)
{
	return f->e->steps->before + f->e->first;
}

#endif
