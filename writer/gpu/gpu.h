/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu - the GPU part of a cycle: calls on the threads' rows, kernels, copies and sets
 * on rows of their own, and what links them.
 *
 * Threads  one at a time.
 * Memory   about 80 bytes for each call, 40 for each piece of GPU work, 24 for each
 *          annotation; while calls or work are sorted as much again; and the demangler's.
 * Errors   0 or -ENOMEM.  A damaged or hostile spool: what does not lie wholly inside
 *          its chunk ends that chunk.
 * Units    ticks, or ns since the epoch on the window's own clock (rows.h), as named.
 */
#ifndef WRITER_GPU_GPU_H
#define WRITER_GPU_GPU_H

#include "agent/core/record_cuda.h"
#include "agent/core/record_gpu.h"

#include <stdbool.h>
#include <stdint.h>

struct trace;
struct cursor;

/* ---- before anything is written (write.c) ---- */

/* Reads what there is and counts it into t->cycle.events; an open cycle ends behind its
 * last call. t->cuda stays NULL without a GPU part. */
int gpu_read(struct trace *t);
/* Needs the window's row: puts everything on its clock, in order, and links it. */
int gpu_place(struct trace *t);
void gpu_free(struct trace *t);
/* The last moment of the window and its GPU work, in ns. */
int64_t gpu_write_end(const struct trace *t);
/* What is missing or odd, as far as it is known now. */
void gpu_counts(const struct trace *t, uint64_t counts[CUDA_COUNTS]);

/* ---- while the threads' rows are written (events.c); t->cuda is there ---- */

/* The thread of the next call that is not written yet; false: there is none. */
bool gpu_next_thread(const struct trace *t, uint32_t *tid);
/* A thread's row begins. */
void gpu_thread(struct trace *t);
/* Writes the thread's calls that begin before `ticks`. */
int gpu_calls(struct trace *t, uint32_t tid, uint64_t before);
/* The operator at `at`, which the cursor has just passed, is a collective. */
uint32_t gpu_collective(struct trace *t, const struct cursor *behind, uint64_t at);
/* A slice that ends at `end` ticks got the newest "External id"; collective: what
 * gpu_collective gave, or 0. */
int gpu_slice(struct trace *t, const struct record *r, uint64_t end, uint32_t collective);

/* ---- other parts of the file ---- */

void gpu_properties(struct trace *t); /* the elements of "deviceProperties" */
void gpu_versions(struct trace *t); /* "cupti_version" and so on */
void gpu_facts(struct trace *t); /* "cuda" in "proflaunch" */
void gpu_thread_rows(struct trace *t); /* names of threads that have calls only */
int gpu_write(struct trace *t); /* everything that is on a GPU's row */

#endif
