/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu - the GPU part of a cycle: calls on the threads' rows, kernels, copies and sets on
 * rows of their own, and the arrows between them.
 *
 * Threads  one at a time.
 * Memory   about 80 bytes for each call, 40 for each piece of GPU work, 24 for each
 *          annotation; while calls or work are sorted as much again; and the demangler's.
 * Errors   0 or -ENOMEM.  The spool may be damaged or hostile: a record that does not lie
 *          wholly inside its chunk ends that chunk.
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

/* Reads the GPU records and counts them into t->cycle.events; an open cycle ends behind
 * its last call. t->cuda stays NULL without a GPU part. */
int gpu_read(struct trace *t);
/* Puts calls and work on the clock of the window's row, in order, and links them. */
int gpu_place(struct trace *t);
/* Notes the calls' native stacks, so that their frames get names; counts what is merged,
 * once they have them. (stacks.c) */
int gpu_want_stacks(struct trace *t);
void gpu_count_stacks(struct trace *t);
void gpu_free(struct trace *t);
/* The end of the window and its GPU work, in ns. */
int64_t gpu_write_end(const struct trace *t);
/* How much is missing or odd, as far as it is known now. */
void gpu_counts(const struct trace *t, uint64_t counts[CUDA_COUNTS]);

/* ---- while the threads' rows are written (events.c); t->cuda is there ---- */

/* The thread of the next call that is not written yet; false: there is none. */
bool gpu_next_thread(const struct trace *t, uint32_t *tid);
/* Begins a thread's row. */
void gpu_thread(struct trace *t);
/* Writes the thread's calls that begin before `ticks`. */
int gpu_calls(struct trace *t, uint32_t tid, uint64_t before);
/* Notes that the operator at `at`, which the cursor has just passed, is a collective.
 * Returns its number, or 0. */
uint32_t gpu_collective(struct trace *t, const struct cursor *behind, uint64_t at);
/* Notes a slice that ends at `end` ticks and got the newest "External id"; collective:
 * the result of gpu_collective, or 0. */
int gpu_slice(struct trace *t, const struct record *r, uint64_t end, uint32_t collective);

/* ---- other parts of the file ---- */

void gpu_properties(struct trace *t); /* the elements of "deviceProperties" */
void gpu_versions(struct trace *t); /* "cupti_version" and so on */
void gpu_facts(struct trace *t); /* "cuda" in "proflaunch" */
void gpu_thread_rows(struct trace *t); /* names of threads that have only calls */
int gpu_write(struct trace *t); /* all rows of the GPUs */

#endif
