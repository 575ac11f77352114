/* SPDX-License-Identifier: Apache-2.0 */
/* Synchronisation: waits of the host and of streams, and the events they wait for. */
#include "base/search.h"
#include "writer/gpu/correlation.h"
#include "writer/gpu/cuda.h"
#include "writer/sort.h"

#define LOOK_BACK 64 /* records of one event looked at for the right one */
#define NONE      UINT32_MAX

/* CUpti_ActivitySynchronizationType. */
enum sync_type { SYNC_EVENT = 1, SYNC_STREAM_WAITS, SYNC_STREAM, SYNC_CONTEXT };

/* ---- the record of an event that a wait is for ---- */

static bool event_before(const void *left, const void *right)
{
	const struct cuda_event *a = left, *b = right;

	return a->key != b->key ? a->key < b->key : a->ticks < b->ticks;
}

/* A record of an event counts from its call, for a stream may reach it much later; where
 * the call was not seen, from its own time; without one, from the begin of all. */
int gpu_events_ready(struct trace *t)
{
	struct cuda *c = t->cuda;
	struct cuda_event *e = c->events.mem;

	for (size_t i = 0; i < c->events.n; i++) {
		const struct rec_event *r = cuda_record(t, (uint64_t)e[i].at * 8);
		const struct cuda_call *call = gpu_find(t, r->correlation, false);

		e[i].ticks = call         ? call->begin
			     : r->r.begin ? gpu_clock_ticks(&c->clock, r->r.begin)
					  : 0;
	}
	return sort_merge(e, c->events.n, sizeof(*e), event_before);
}

/* The event's last record before the wait, as CUDA defines it; where both have CUPTI's id
 * of the synchronisation the ids must agree. NULL: the record was not seen, most often as
 * it lies before the window. */
static const struct rec_event *find_recorded_event(struct trace *t,
						   const struct rec_sync *s)
{
	struct cuda *c = t->cuda;
	const struct cuda_event *e = c->events.mem;
	const struct cuda_call *call = gpu_find(t, s->correlation, false);
	struct cuda_event wait = {
		.key = (uint64_t)s->context << 32 | s->event,
		.ticks = call ? call->begin : gpu_clock_ticks(&c->clock, s->r.begin),
	};
	size_t behind = SEARCH_FIRST(i, 0, c->events.n, event_before(&wait, &e[i]));

	for (size_t i = behind, tries = 0;
	     i-- > 0 && e[i].key == wait.key && tries < LOOK_BACK; tries++) {
		const struct rec_event *r = cuda_record(t, (uint64_t)e[i].at * 8);

		if (!s->event_sync || !r->event_sync || s->event_sync == r->event_sync)
			return r;
	}
	return NULL;
}

/* ---- slices ---- */

/* Writes -1 for an unknown number, as Kineto does. */
static void put_signed(struct json *j, const char *key, uint32_t n)
{
	json_text(j, key);
	json_number(j, n == NONE ? -1 : (int64_t)n);
}

static void put_external(struct trace *t, const struct cuda_work *w)
{
	const struct cuda_call *call = cuda_caller(t->cuda, w);

	if (call && call->external)
		json_text_unsigned(&t->json, ",\"External id\":", call->external);
}

static const char *name_of(uint32_t type)
{
	static const char *const names[] = { "Unknown Sync", "Event Sync",
					     "Stream Wait Event", "Stream Sync",
					     "Context Sync" };

	return names[type < sizeof(names) / sizeof(*names) ? type : 0];
}

static void put_head(struct trace *t, const struct cuda_work *w, const char *cat,
		     const char *name, int64_t begin, int64_t end)
{
	gpu_put_head(t, w, cat, name, strlen(name));
	slice_times(t, begin, end);
	json_lit(&t->json, ",\"args\":{");
}

/* HTA's critical path needs a wait's stream and the correlation id of the record that
 * it waits for. */
void gpu_put_sync(struct trace *t, const struct cuda_work *w, int64_t begin, int64_t end)
{
	const struct rec_sync *s = (const struct rec_sync *)cuda_gpu(t, w);
	const char *name = name_of(s->type);
	bool on_stream = s->type == SYNC_STREAM_WAITS || s->type == SYNC_STREAM;
	struct json *j = &t->json;

	put_head(t, w, "cuda_sync", name, begin, end);
	json_lit(j, "\"cuda_sync_kind\":\"");
	json_text(j, name);
	json_lit(j, "\",");
	if (s->type == SYNC_EVENT || s->type == SYNC_STREAM_WAITS) {
		const struct rec_event *e = find_recorded_event(t, s);

		put_signed(j, "\"wait_on_stream\":", e ? cuda_stream(e->stream) : NONE);
		put_signed(j, ",\"wait_on_cuda_event_record_corr_id\":",
			   e ? e->correlation : NONE);
		put_signed(j, ",\"wait_on_cuda_event_id\":", s->event);
		json_lit(j, ",");
	}
	put_signed(j, "\"stream\":", on_stream ? cuda_stream(s->stream) : NONE);
	json_text_unsigned(j, ",\"correlation\":", s->correlation);
	json_text_unsigned(j, ",\"device\":", cuda_row_device(w->row));
	json_text_unsigned(j, ",\"context\":", s->context);
	put_external(t, w);
	json_lit(j, "}},\n");
}

void gpu_put_event(struct trace *t, const struct cuda_work *w, int64_t begin, int64_t end)
{
	const struct rec_event *e = (const struct rec_event *)cuda_gpu(t, w);
	struct json *j = &t->json;

	put_head(t, w, "cuda_event", "cudaEvent", begin, end);
	json_text_unsigned(j, "\"event_id\":", e->event);
	json_text_unsigned(j, ",\"stream\":", cuda_stream(e->stream));
	json_text_unsigned(j, ",\"correlation\":", e->correlation);
	json_text_unsigned(j, ",\"device\":", cuda_row_device(w->row));
	json_text_unsigned(j, ",\"context\":", e->context);
	put_external(t, w);
	json_lit(j, "}},\n");
}

/*
 * A wait for a stream ends with the work it waits for; torch's readers want the wait to
 * begin there. Rows of streams and rows of waits are sorted apart, each by stream and
 * time.
 */
static void shift_row(struct cuda *c, size_t work, size_t waits)
{
	uint64_t streams = cuda_work_at(c, work)->row, row = cuda_work_at(c, waits)->row;
	int64_t end = 0;

	for (; waits < c->work.n && cuda_work_at(c, waits)->row == row; waits++) {
		struct cuda_work *w = cuda_work_at(c, waits);

		for (; work < c->work.n && cuda_work_at(c, work)->row == streams;
		     work++) {
			if (cuda_work_at(c, work)->begin >= w->end)
				break;
			if (cuda_work_at(c, work)->end > end)
				end = cuda_work_at(c, work)->end;
		}
		if (end > w->begin)
			w->begin = end < w->end ? end : w->end;
	}
}

void gpu_shift_waits(struct cuda *c)
{
	size_t work = 0;

	for (size_t waits = 0; waits < c->work.n; waits = gpu_row_end(c, waits)) {
		uint64_t row = cuda_work_at(c, waits)->row;
		uint64_t streams = row & ~(0xffull << 32);

		if (cuda_row_kind(row) != ROW_SYNC)
			continue;
		while (work < waits && cuda_work_at(c, work)->row < streams)
			work++;
		if (cuda_work_at(c, work)->row == streams)
			shift_row(c, work, waits);
	}
}

/* ---- CUDA's own memory ---- */

/* Writes an instant in the words of "[memory]", but under another name: these are CUDA's
 * blocks, and the plugin would count them as tensors. */
static void put_block(struct trace *t, const struct timed_record *block)
{
	const struct rec_block *b = cuda_record(t, block->at);
	const char *memory = gpu_memory_name(b->memory);
	struct json *j = &t->json;
	int64_t ns = row_instant(&t->row, block->ticks < t->cycle.end ? block->ticks
								      : t->cycle.end);

	json_lit(j, "{\"ph\":\"i\",\"cat\":\"cuda_memory\",\"s\":\"t\",\"name\":\"CUDA ");
	json_text(j, b->operation == 1 ? "allocation" : "release");
	json_text_unsigned(j, "\",\"pid\":", t->pid);
	json_text_unsigned(j, ",\"tid\":", b->tid ? b->tid : t->pid);
	slice_text_ts(t, ",\"ts\":", ns);
	json_text_unsigned(j, ",\"args\":{\"Bytes\":", b->bytes);
	json_text_unsigned(j, ",\"Addr\":", b->address);
	json_text_unsigned(j, ",\"Device Id\":", b->device);
	json_text_unsigned(j, ",\"context\":", b->context);
	if (b->stream != UINT32_MAX)
		json_text_unsigned(j, ",\"stream\":", b->stream);
	json_text_unsigned(j, ",\"correlation\":", b->correlation);
	json_lit(j, ",\"memory\":\"");
	json_text(j, memory);
	json_lit(j, "\"");
	if (b->pool == 2)
		json_lit(j, ",\"pool\":\"imported\"");
	if (b->pool == 1) {
		json_text_unsigned(j, ",\"pool size\":", b->pool_size);
		json_text_unsigned(j, ",\"pool used\":", b->pool_used);
	}
	json_lit(j, "}},\n");
}

void gpu_instants(struct trace *t)
{
	const struct timed_record *block = t->cycle.blocks.mem;

	for (size_t i = 0; i < t->cycle.blocks.n && !t->json.err; i++)
		put_block(t, &block[i]);
}
