/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/cuda_parts.h"
#include "writer/sort.h"

#define LOOK_BACK 64 /* records of one event before the one that is meant */
#define NONE      UINT32_MAX

enum sync_type { SYNC_EVENT = 1, SYNC_STREAM_WAITS, SYNC_STREAM, SYNC_CONTEXT };

/* ---- which record of an event is waited for ---- */

static bool event_before(const void *left, const void *right)
{
	const struct cuda_event *a = left, *b = right;

	return a->key != b->key ? a->key < b->key : a->ticks < b->ticks;
}

int cuda_events_ready(struct trace *t)
{
	struct cuda *c = t->cuda;
	struct cuda_event *e = c->events.mem;

	for (size_t i = 0; i < c->events.n; i++) {
		const struct rec_event *r = cuda_record(t, (uint64_t)e[i].at * 8);
		const struct cuda_call *call = cuda_find(t, r->correlation, false);

		e[i].ticks = call         ? call->begin
			     : r->r.begin ? cuda_clock_ticks(&c->clock, r->r.begin)
					  : 0;
	}
	return sort_merge(e, c->events.n, sizeof(*e), event_before);
}

static const struct rec_event *recorded(struct trace *t, const struct rec_sync *s)
{
	struct cuda *c = t->cuda;
	const struct cuda_event *e = c->events.mem;
	const struct cuda_call *call = cuda_find(t, s->correlation, false);
	struct cuda_event wait = {
		.key = (uint64_t)s->context << 32 | s->event,
		.ticks = call ? call->begin : cuda_clock_ticks(&c->clock, s->r.begin),
	};
	size_t lo = 0, hi = c->events.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (!event_before(&wait, &e[mid]))
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t i = lo, tries = 0;
	     i-- > 0 && e[i].key == wait.key && tries < LOOK_BACK; tries++) {
		const struct rec_event *r = cuda_record(t, (uint64_t)e[i].at * 8);

		if (!s->event_sync || !r->event_sync || s->event_sync == r->event_sync)
			return r;
	}
	return NULL;
}

/* ---- slices ---- */

static void put_member(struct json *j, const char *key, uint64_t n)
{
	json_raw(j, key, strlen(key));
	json_unsigned(j, n);
}

static void put_signed(struct json *j, const char *key, uint32_t n)
{
	json_raw(j, key, strlen(key));
	json_number(j, n == NONE ? -1 : (int64_t)n);
}

static void put_external(struct trace *t, const struct cuda_work *w)
{
	const struct cuda_call *call =
		w->call ? cuda_call_at(t->cuda, w->call - 1) : NULL;

	if (!call || !call->external)
		return;
	put_member(&t->json, ",\"External id\":", call->external);
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
	struct json *j = &t->json;

	json_lit(j, "{\"ph\":\"X\",\"cat\":\"");
	json_raw(j, cat, strlen(cat));
	json_lit(j, "\",\"name\":\"");
	json_raw(j, name, strlen(name));
	json_lit(j, "\",\"pid\":");
	cuda_put_row(t, w->row, w->lane);
	trace_put_times(t, begin, end);
	json_lit(j, ",\"args\":{");
}

void cuda_put_sync(struct trace *t, const struct cuda_work *w, int64_t begin, int64_t end)
{
	const struct rec_sync *s = (const struct rec_sync *)cuda_gpu(t, w);
	const char *name = name_of(s->type);
	bool on_stream = s->type == SYNC_STREAM_WAITS || s->type == SYNC_STREAM;
	struct json *j = &t->json;

	put_head(t, w, "cuda_sync", name, begin, end);
	json_lit(j, "\"cuda_sync_kind\":\"");
	json_raw(j, name, strlen(name));
	json_lit(j, "\",");
	if (s->type == SYNC_EVENT || s->type == SYNC_STREAM_WAITS) {
		const struct rec_event *e = recorded(t, s);

		put_signed(j, "\"wait_on_stream\":", e ? cuda_stream(e->stream) : NONE);
		put_signed(j, ",\"wait_on_cuda_event_record_corr_id\":",
			   e ? e->correlation : NONE);
		put_signed(j, ",\"wait_on_cuda_event_id\":", s->event);
		json_lit(j, ",");
	}
	put_signed(j, "\"stream\":", on_stream ? cuda_stream(s->stream) : NONE);
	put_member(j, ",\"correlation\":", s->correlation);
	put_member(j, ",\"device\":", w->row >> 40 & 0xff);
	put_member(j, ",\"context\":", s->context);
	put_external(t, w);
	json_lit(j, "}},\n");
}

void cuda_put_event(struct trace *t, const struct cuda_work *w, int64_t begin,
		    int64_t end)
{
	const struct rec_event *e = (const struct rec_event *)cuda_gpu(t, w);
	struct json *j = &t->json;

	put_head(t, w, "cuda_event", "cudaEvent", begin, end);
	put_member(j, "\"event_id\":", e->event);
	put_member(j, ",\"stream\":", cuda_stream(e->stream));
	put_member(j, ",\"correlation\":", e->correlation);
	put_member(j, ",\"device\":", w->row >> 40 & 0xff);
	put_member(j, ",\"context\":", e->context);
	put_external(t, w);
	json_lit(j, "}},\n");
}

/*
 * A wait for a stream ends with the work it waits for: torch's readers want it to begin
 * there. Streams' rows and rows of waits are sorted apart, each by stream and time.
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

void cuda_shift_waits(struct cuda *c)
{
	size_t work = 0;

	for (size_t waits = 0; waits < c->work.n; waits = cuda_row_end(c, waits)) {
		uint64_t row = cuda_work_at(c, waits)->row;
		uint64_t streams = row & ~(0xffull << 32);

		if ((row >> 32 & 0xff) != ROW_SYNC)
			continue;
		while (work < waits && cuda_work_at(c, work)->row < streams)
			work++;
		if (cuda_work_at(c, work)->row == streams)
			shift_row(c, work, waits);
	}
}

/* ---- CUDA's own memory ---- */

static void put_block(struct trace *t, const struct rec_block *b)
{
	static const char *const memories[] = { "Unknown",       "Pageable",
						"Pinned",        "Device",
						"Array",         "Managed",
						"Device Static", "Managed Static" };
	bool known = b->memory < sizeof(memories) / sizeof(*memories);
	const char *memory = memories[known ? b->memory : 0];
	struct cuda *c = t->cuda;
	struct json *j = &t->json;
	uint64_t ticks = cuda_clock_ticks(&c->clock, b->r.begin);
	int64_t ns = row_instant(&t->row, ticks < t->cycle.end ? ticks : t->cycle.end);

	json_lit(j, "{\"ph\":\"i\",\"cat\":\"cuda_memory\",\"s\":\"t\",\"name\":\"");
	if (b->operation == 1)
		json_lit(j, "CUDA allocation");
	else
		json_lit(j, "CUDA release");
	put_member(j, "\",\"pid\":", t->pid);
	put_member(j, ",\"tid\":", b->tid ? b->tid : t->pid);
	json_lit(j, ",\"ts\":");
	json_need(j);
	j->at = json_put_us(j->at, trace_ts(t, ns));
	put_member(j, ",\"args\":{\"Bytes\":", b->bytes);
	put_member(j, ",\"Addr\":", b->address);
	put_member(j, ",\"Device Id\":", b->device);
	put_member(j, ",\"context\":", b->context);
	if (b->stream != UINT32_MAX)
		put_member(j, ",\"stream\":", b->stream);
	put_member(j, ",\"correlation\":", b->correlation);
	json_lit(j, ",\"memory\":\"");
	json_raw(j, memory, strlen(memory));
	json_lit(j, "\"");
	if (b->pool == 2)
		json_lit(j, ",\"pool\":\"imported\"");
	if (b->pool == 1) {
		put_member(j, ",\"pool size\":", b->pool_size);
		put_member(j, ",\"pool used\":", b->pool_used);
	}
	json_lit(j, "}},\n");
}

void cuda_instants(struct trace *t)
{
	const struct cuda *c = t->cuda;
	const uint64_t *at = c->blocks.mem;

	for (size_t i = 0; i < c->blocks.n && !t->json.err; i++)
		put_block(t, cuda_record(t, at[i]));
}
