/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model - a trace file as tables that every view reads.
 *
 * model_read loads what a view wants; then slices are nested, instants know what was in
 * flight, and steps are in order. A view is a file of its own above this.
 *
 * Threads  one at a time.
 * Memory   72 bytes a slice or memory event that is wanted, 72 for each of GPU work with
 *          WANT_DETAILS, each text once; model_free.
 * Errors   0, or -1 with a line in `why`.
 * Units    nanoseconds as the file has them (base_ns makes them absolute); bytes.
 */
#ifndef REPORT_MODEL_H
#define REPORT_MODEL_H

#include "report/head.h"
#include "report/interpreter.h"
#include "report/kept.h"
#include "report/memory/sites.h"
#include "report/read.h"
#include "report/slice.h"

#define MODEL_DEVICES 64u
#define TIME_NONE     INT64_MIN

struct step {
	int64_t begin, end, number;
};

struct thread {
	int64_t pid, tid;
	uint32_t name; /* TEXT_NONE = it has none */
};

struct whose { /* as the file says; torch's own files do not */
	int64_t pid, rank, window, stage_number; /* rank -1, stage 0: none */
	char stage[HEAD_STAGE]; /* for whose_stage */
	int64_t world, part; /* ranks; of the smallest group of several; 0 = not said */
	uint32_t name, script, host; /* of the program; TEXT_NONE = not said */
	bool torch, objects, unseen; /* Python's small ones: asked for; not seen */
	uint64_t buffer_mb, full, records; /* lost as it was full; in the file */
	int64_t overhead; /* estimated, in the program's threads; -1 = not said */
	uint32_t torch_version; /* TEXT_NONE = not said */
	struct interpreter python;
	int64_t cuda_runtime, cuda_driver; /* versions, as 12040; 0 = not said */
	int64_t cpus, torch_threads; /* of the process, of an operator; 0 = not said */
	bool broken_off; /* the window did not end as planned */
	bool unmarked; /* no step ended: the only one is the whole recording */
	bool collections, waits; /* of Python's are recorded, if there were some */
	bool no_room; /* some stack of Python's was lost as the buffer was full */
};

struct model {
	struct texts texts;
	unsigned want;
	struct slice *slices; /* by thread, begin, the longer first */
	struct memory_event *memory; /* by time */
	struct counter *counters;
	struct step *steps; /* by time */
	struct thread *threads;
	struct work *works;
	struct gpu *gpus;
	struct pause *pauses;
	size_t works_n, works_room, gpus_n, gpus_room, pauses_n, pauses_room;
	size_t slices_n, memory_n, counters_n, steps_n, threads_n;
	size_t slices_room, memory_room, counters_room, steps_room, threads_room;
	struct {
		int64_t type, index;
	} devices[MODEL_DEVICES];
	unsigned devices_n;
	uint64_t unread; /* events with a begin or a length that cannot be used */
	uint64_t events, counted; /* in the file; of them what a run's words count */
	/* What the recorder says it lost; late: after the window. */
	uint64_t dropped, dropped_heap, dropped_memory, dropped_steps, late;
	uint32_t *slots, last_thread; /* hash of threads; that of the event before */
	size_t slots_n;
	struct slice_category kinds[SLICE_CATEGORIES];
	int64_t moved; /* sum of all memory events */
	int64_t begin, end; /* first and last time in the file */
	int64_t recording; /* when it began; TIME_NONE = the file does not say */
	int64_t base_ns;
	bool ours, says_memory; /* written by proflaunch; memory was asked for */
	bool says_shapes, says_flops; /* these were asked for */
	struct whose whose;
	struct damage damage; /* of the file */
	struct sites *heap; /* NULL = the file has none */
	struct kept *kept; /* NULL = the file is no cut */
};

/* `want`: WANT(...) of the slices to keep; all other events are read in any case. After
 * -1 there is nothing to free. */
int model_read(struct model *m, const char *path, unsigned want, char *why, size_t size);
void model_free(struct model *m);
bool model_link(struct model *m); /* parts of model_read; false: not enough memory */
bool model_take_top(void *arg, const char *key, struct parse *p, bool *taken);

/* How many of n lost records can be missing in the window, at most: the file does not
 * tell reasons by kind. */
uint64_t model_missing(const struct model *m, uint64_t n);
/* How long was recorded, in ns: up to the end of the last step. */
double model_window(const struct model *m);
/* The step that a moment lies in; -1 = in none. */
long model_step(const struct model *m, int64_t ts);
/* "cpu", "cuda:0", ... */
const char *model_device(const struct model *m, unsigned device, char *to, size_t size);

/* How many steps the program marked. */
static inline size_t model_marked(const struct model *m)
{
	return m->whose.unmarked ? 0 : m->steps_n;
}

static inline const char *slice_name(const struct model *m, uint32_t slice)
{
	return texts_get(&m->texts, m->slices[slice].name);
}

#endif
