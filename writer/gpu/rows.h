/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows - GPU work, the rows that it lies on, and how rows are numbered and named.
 *
 * A stream has a row; work that overlaps on it lies on further rows (lanes), for readers
 * drop a slice that overlaps another one.
 *
 * Threads  one at a time.
 * Memory   40 bytes for each piece of work, in struct cuda.work.
 * Errors   none: a row with more lanes than CUDA_LANES cuts its slices short.
 * Units    ns since the epoch.
 */
#ifndef WRITER_GPU_ROWS_H
#define WRITER_GPU_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cuda;
struct trace;

#define CUDA_LANES 16 /* rows for work that overlaps on one stream */

enum cuda_row_kind { ROW_STREAM, ROW_SYNC, ROW_DEVICE, ROW_OVERHEAD };

struct cuda_work {
	int64_t begin, end; /* ns; until gpu_place in CUPTI's ns or in ticks */
	uint64_t row; /* cuda_row_of */
	uint32_t at; /* offset of its record / 8 */
	uint32_t call; /* the call that caused it, + 1 */
	uint16_t lane;
	uint8_t kind; /* enum record_kind */
	bool in_ticks; /* begin and end are ticks, until gpu_place */
	uint32_t spare;
};

/* The key sorts by device, then kind of row, then stream; overhead, which is no device's,
 * comes last. */
static inline uint64_t cuda_row_of(enum cuda_row_kind kind, uint32_t device,
				   uint32_t stream)
{
	return (uint64_t)(kind == ROW_OVERHEAD) << 48 | (uint64_t)(device & 0xff) << 40 |
	       (uint64_t)kind << 32 | stream;
}

static inline enum cuda_row_kind cuda_row_kind(uint64_t row)
{
	return (enum cuda_row_kind)(row >> 32 & 0xff);
}

static inline uint32_t cuda_row_device(uint64_t row)
{
	return (uint32_t)(row >> 40 & 0xff);
}

/* A stream's number in the file. HTA takes stream 0 for "not on a GPU", so the legacy
 * default stream gets the number that CUPTI gives it, 7. */
static inline uint32_t cuda_stream(uint32_t stream)
{
	return stream ? stream : 7;
}

/* Spreads each row's work over lanes; needs the work sorted (place.c). */
void gpu_lanes(struct cuda *c);
/* One past the last piece of work on the row that work `first` lies on. */
size_t gpu_row_end(const struct cuda *c, size_t first);
/* Writes the row as an event names it: the value of "pid", and "tid" with its value. */
void gpu_put_row(struct trace *t, uint64_t row, unsigned lane);
/* Writes a slice up to its times; `name` is escaped already. */
void gpu_put_head(struct trace *t, const struct cuda_work *w, const char *cat,
		  const char *name, size_t len);
/* Write metadata events: the name and place of a row, and of each GPU's process. */
void gpu_row_names(struct trace *t, uint64_t row, unsigned lane);
void gpu_process_rows(struct trace *t);

#endif
