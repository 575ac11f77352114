/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the GPU, and lanes for work that overlaps on them. */
#include "base/fmt.h"
#include "writer/gpu/cuda.h"

#define WAITS         1000000 /* torch.profiler's distance to the row of waits */
#define LANES         10 /* times that distance: from one lane's row to the next's */
#define GPU_SORT      5000000
#define OVERHEAD_SORT 16777226

/* ---- lanes: work that overlaps on a stream ---- */

size_t gpu_row_end(const struct cuda *c, size_t first)
{
	uint64_t row = cuda_work_at(c, first)->row;

	while (first < c->work.n && cuda_work_at(c, first)->row == row)
		first++;
	return first;
}

/* A slice keeps the length that CUPTI measured, so by our clock it may end a little later
 * than it should, and than the next one begins. */
static bool is_over(const struct cuda_work *before, const struct cuda_work *w)
{
	int64_t length = before->end - before->begin;

	return before->end <= w->begin + 1 + length / CUDA_PART;
}

static void lanes_of_row(struct cuda *c, size_t first, size_t last)
{
	struct cuda_work *before[CUDA_LANES];
	unsigned n = 0;

	for (; first < last; first++) {
		struct cuda_work *w = cuda_work_at(c, first);
		unsigned lane = 0;

		while (lane < n && !is_over(before[lane], w))
			lane++;
		if (lane == CUDA_LANES) /* the writer cuts the slice short, never drops */
			lane--;
		else if (lane < n && before[lane]->end > w->begin)
			before[lane]->end = w->begin;
		if (lane == n)
			n++;
		w->lane = (uint16_t)lane;
		before[lane] = w;
	}
}

void gpu_lanes(struct cuda *c)
{
	c->waits = WAITS;
	for (size_t first = 0, last; first < c->work.n; first = last) {
		uint64_t row = cuda_work_at(c, first)->row;

		while ((row & UINT32_MAX) >= c->waits)
			c->waits *= 10;
		if (cuda_row_kind(row) == ROW_STREAM && (row & UINT32_MAX) == 1)
			c->stream_one = true;
		last = gpu_row_end(c, first);
		lanes_of_row(c, first, last);
	}
}

/* ---- what a row is called ---- */

/* A row's number: the stream's; for its waits, that plus a distance larger than any
 * stream (torch: 1000000); and so on for each lane. */
static uint64_t tid_of(const struct cuda *c, uint64_t row, unsigned lane)
{
	uint64_t tid = row & UINT32_MAX;

	if (cuda_row_kind(row) == ROW_SYNC)
		tid += c->waits;
	else if (cuda_row_kind(row) == ROW_DEVICE) /* 1 is torch's row -1 */
		tid = c->stream_one ? 2 * c->waits : 1;
	return tid + (uint64_t)lane * LANES * c->waits;
}

static void put_pid(struct trace *t, uint64_t row)
{
	bool overhead = cuda_row_kind(row) == ROW_OVERHEAD;

	json_number(&t->json, overhead ? -1 : (int64_t)cuda_row_device(row));
}

void gpu_put_row(struct trace *t, uint64_t row, unsigned lane)
{
	put_pid(t, row);
	json_text_unsigned(&t->json, ",\"tid\":", tid_of(t->cuda, row, lane));
}

void gpu_put_head(struct trace *t, const struct cuda_work *w, const char *cat,
		  const char *name, size_t len)
{
	struct json *j = &t->json;

	json_lit(j, "{\"ph\":\"X\",\"cat\":\"");
	json_text(j, cat);
	json_lit(j, "\",\"name\":\"");
	json_raw(j, name, len);
	json_lit(j, "\",\"pid\":");
	gpu_put_row(t, w->row, w->lane);
}

/* Opens a metadata event up to the value of its one argument; lane -1: it is about the
 * process that the row belongs to. */
static void open_row(struct trace *t, const char *name, uint64_t row, int lane,
		     const char *arg)
{
	label_open(t, name);
	if (lane >= 0) {
		gpu_put_row(t, row, (unsigned)lane);
	} else {
		put_pid(t, row);
		json_lit(&t->json, ",\"tid\":0");
	}
	label_arg(t, arg);
}

/* Writes a row's name and its place: torch writes "stream N " and sorts by N. */
void gpu_row_names(struct trace *t, uint64_t row, unsigned lane)
{
	uint32_t stream = (uint32_t)row;
	struct json *j = &t->json;
	char text[64];

	open_row(t, "thread_name", row, (int)lane, "name");
	switch (cuda_row_kind(row)) {
	case ROW_STREAM: /* as torch writes it, with a blank behind */
		fmt(text, sizeof(text), "\"stream %u ", stream);
		break;
	case ROW_SYNC:
		fmt(text, sizeof(text), "\"stream %u (sync)", stream);
		break;
	case ROW_DEVICE:
		fmt(text, sizeof(text), "\"Device %u", cuda_row_device(row));
		break;
	default:
		fmt(text, sizeof(text), "\"CUPTI Overhead");
	}
	json_text(j, text);
	if (lane) {
		fmt(text, sizeof(text), "%s(overlap %u)",
		    cuda_row_kind(row) == ROW_STREAM ? "" : " ", lane);
		json_text(j, text);
	}
	json_lit(j, "\"}},\n");
	open_row(t, "thread_sort_index", row, (int)lane, "sort_index");
	json_unsigned(j, stream);
	json_lit(j, "}},\n");
}

/* Kineto lists each GPU as a process of the program's name, labelled "GPU N", behind the
 * CPU's rows, and CUPTI's overhead as a process of its own. */
static void put_process(struct trace *t, uint64_t row)
{
	const struct spool_header *h = t->view->head;
	size_t len = strnlen(h->exe, sizeof(h->exe));
	bool overhead = cuda_row_kind(row) == ROW_OVERHEAD;
	struct json *j = &t->json;

	open_row(t, "process_name", row, -1, "name");
	if (overhead)
		json_lit(j, "\"CUPTI Overhead\"");
	else
		json_string(j, len ? h->exe : "python", len ? len : 6);
	json_lit(j, "}},\n");
	open_row(t, "process_labels", row, -1, "labels");
	if (overhead) {
		json_lit(j, "\"CPU\"");
	} else {
		json_text_unsigned(j, "\"GPU ", cuda_row_device(row));
		json_lit(j, "\"");
	}
	json_lit(j, "}},\n");
	open_row(t, "process_sort_index", row, -1, "sort_index");
	json_unsigned(j, overhead ? OVERHEAD_SORT : GPU_SORT + cuda_row_device(row));
	json_lit(j, "}},\n");
}

/* Work is sorted by row, and so by process: each process comes once. */
void gpu_process_rows(struct trace *t)
{
	const struct cuda *c = t->cuda;
	uint64_t seen = UINT64_MAX;

	for (size_t first = 0; first < c->work.n; first = gpu_row_end(c, first)) {
		uint64_t row = cuda_work_at(c, first)->row;

		if (row >> 40 != seen)
			put_process(t, row);
		seen = row >> 40;
	}
}
