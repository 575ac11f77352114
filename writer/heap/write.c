/* SPDX-License-Identifier: Apache-2.0 */
/* The heap's part of a file. */
#include "agent/core/names.h"
#include "base/fmt.h"
#include "writer/heap/account.h"
#include "writer/python/python.h"

static const char *const count_names[HEAP_COUNTS] = {
	[HEAP_STACKS] = "stacks",         [HEAP_CUT] = "cut",
	[HEAP_ENDED] = "ended",           [HEAP_FOREIGN] = "foreign",
	[HEAP_CHECKED] = "checked",       [HEAP_DISAGREED] = "disagreed",
	[HEAP_UNKNOWN_STACK] = "unknown",
};

/* Turns a count in 1 / HEAP_ONE to blocks. */
static uint64_t round_count(uint64_t count)
{
	return (count + HEAP_ONE / 2) / HEAP_ONE;
}

/* Live blocks, rounded away from zero at the half: the number may be negative, as a
 * program may free more than it allocated in the window. */
static int64_t live_blocks(const struct heap_sums *s)
{
	int64_t n = (int64_t)(s->allocs - s->frees), half = HEAP_ONE / 2;

	return (n < 0 ? n - half : n + half) / (int64_t)HEAP_ONE;
}

/* ---- members of "heap" ---- */

static void put_mode(struct trace *t)
{
	static const char *const modes[] = { "off", "count", "sample", "all" };
	const struct heap *h = t->heap;
	struct json *j = &t->json;

	json_lit(j, ",\n\"heap\": {\"mode\": ");
	json_string(j, modes[h->mode], strlen(modes[h->mode]));
	if (h->mode == MALLOC_SAMPLE) {
		json_text_unsigned(j, ", \"sample_bytes\": ", (uint64_t)h->mean);
		json_lit(j, ", \"weighted\": true");
	}
	json_text(j, h->mode == MALLOC_COUNT && t->config->malloc_since
			     ? ", \"since\": \"start\""
			     : ", \"since\": \"window\"");
}

/* Writes text as it stands, and behind it the number, or null where it is not known. */
static void put_known(struct json *j, const char *text, bool known, int64_t n)
{
	json_text(j, text);
	if (known)
		json_number(j, n);
	else
		json_lit(j, "null");
}

static void put_peak(struct trace *t)
{
	const struct heap *h = t->heap;
	const struct heap_step *s = heap_step_at(h, h->peak_ticks);
	struct json *j = &t->json;

	slice_text_ts(t, ",\n\"peak\": {\"ts\": ", row_instant(&t->row, h->peak_ticks));
	json_text_number(j, ", \"bytes\": ", h->peak);
	put_known(j, ", \"step\": ", s, s ? s->number : 0);
	json_text_number(j, "}, \"end\": {\"bytes\": ", heap_now(h));
	json_text_number(j, ", \"blocks\": ", live_blocks(&h->all) + h->older_blocks);
	json_lit(j, "}");
}

static void put_sums(struct json *j, const struct heap_sums *s)
{
	json_text_unsigned(j, "\"allocs\": ", round_count(s->allocs));
	json_text_unsigned(j, ", \"bytes\": ", s->bytes);
	json_text_unsigned(j, ", \"frees\": ", round_count(s->frees));
	json_text_unsigned(j, ", \"freed\": ", s->freed);
}

static void put_head(struct trace *t)
{
	const struct heap *h = t->heap;
	const struct heap_step *s = h->steps.mem;
	struct json *j = &t->json;

	put_mode(t);
	json_lit(j, ",\n\"steps\": [");
	for (size_t i = 0; i < h->steps.n; i++)
		json_text_number(j, i ? ", " : "", s[i].number);
	json_lit(j, "]");
	put_peak(t);
	json_lit(j, ",\n\"total\": {");
	put_sums(j, &h->all);
	json_text_unsigned(j, ", \"foreign_frees\": ", h->foreign);
	if (h->implied)
		json_text_unsigned(j, ", \"implied_frees\": ", h->implied);
	json_lit(j, "}");
}

static void put_steps(struct json *j, const int64_t *row, size_t n)
{
	json_lit(j, ", \"steps\": [");
	for (size_t i = 0; i < n; i++)
		json_text_number(j, i ? ", " : "", row[i]);
	json_lit(j, "]");
}

/* Writes the operator's name; null: no operator was in flight. */
static void put_op(struct trace *t, uint32_t op)
{
	const struct name *n = op ? names_get(t->view, op) : NULL;

	if (n)
		json_string(&t->json, n->text, n->len);
	else
		json_lit(&t->json, "null");
}

static void put_stack(struct trace *t, struct stack_pair is)
{
	int64_t place = heap_frames_stack(t->heap, is);

	put_known(&t->json, "", place >= 0, place);
}

/* The allocator's function; a damaged record reads "malloc". */
static const char *call_name(unsigned flags)
{
	static const char *const names[HEAP_CALLS_END] = {
#define CALL(name, text) text,
		HEAP_CALLS(CALL)
#undef CALL
	};
	unsigned call = flags & HEAP_CALL_MASK;

	return call < HEAP_CALLS_END ? names[call] : "malloc";
}

static void put_site(struct trace *t, const struct heap_site *s)
{
	const char *call = call_name(s->call);
	struct json *j = &t->json;

	json_lit(j, "{\"stack\": ");
	put_stack(t, site_stacks(s));
	json_lit(j, ", ");
	python_stacks(t, (struct stack_pair){ .python = s->python }, false);
	json_lit(j, "\"op\": ");
	put_op(t, s->op);
	json_lit(j, ", ");
	put_sums(j, &s->sums);
	json_text_number(j, ", \"live\": ", heap_live(&s->sums));
	json_text_number(j, ", \"blocks\": ", live_blocks(&s->sums));
	json_text_number(j, ", \"peak\": ", s->peak);
	json_text_unsigned(j, ", \"max\": ", s->max);
	json_lit(j, ", \"call\": ");
	json_string(j, call, strlen(call));
	heap_sum_steps(t->heap, s);
	put_steps(j, t->heap->row, t->heap->steps.n);
	json_lit(j, "}");
}

/* Writes the sites that are not written one by one: with those they add up to the
 * whole. */
static void put_other(struct trace *t, struct heap_sums rest, int64_t peak)
{
	const struct heap *h = t->heap;
	struct json *j = &t->json;
	size_t sites = h->sites.n - 1 - h->chosen_n;

	/* All sites that were not kept apart count as one. */
	sites += h->sites.n >= HEAP_KEPT;
	json_text_unsigned(j, "],\n\"other\": {\"sites\": ", sites);
	json_lit(j, ", ");
	put_sums(j, &rest);
	json_text_number(j, ", \"live\": ", heap_live(&rest) + h->older);
	json_text_number(j, ", \"blocks\": ", live_blocks(&rest) + h->older_blocks);
	json_text_number(j, ", \"peak\": ", peak);
	put_steps(j, h->rest, h->steps.n);
	json_lit(j, "}");
}

/* Writes the chosen sites, and the rest as one: what the rest holds is the whole less the
 * chosen sites. */
static void put_sites(struct trace *t)
{
	struct heap *h = t->heap;
	const struct heap_site *sites = h->sites.mem;
	const struct heap_step *step = h->steps.mem;
	struct heap_sums rest = h->all;
	int64_t peak = h->peak;

	for (size_t i = 0; i < h->steps.n; i++)
		h->rest[i] = step[i].live;
	json_lit(&t->json, ",\n\"sites\": [");
	for (size_t i = 0; i < h->chosen_n && !t->json.err; i++) {
		const struct heap_site *s = &sites[h->chosen[i]];

		if (i)
			json_lit(&t->json, ",\n");
		put_site(t, s);
		rest.allocs -= s->sums.allocs;
		rest.bytes -= s->sums.bytes;
		rest.frees -= s->sums.frees;
		rest.freed -= s->sums.freed;
		peak = (int64_t)((uint64_t)peak - (uint64_t)s->peak);
		for (size_t step_n = 0; step_n < h->steps.n; step_n++)
			h->rest[step_n] = (int64_t)((uint64_t)h->rest[step_n] -
						    (uint64_t)h->row[step_n]);
	}
	put_other(t, rest, peak);
}

void heap_summary(struct trace *t)
{
	struct cycle_info *info = (struct cycle_info *)t->info;
	struct json *j = &t->json;

	if (!t->heap || !t->heap->summary)
		return;
	put_head(t);
	heap_frames_write(t);
	put_sites(t);
	json_lit(j, ",\n\"stats\": {");
	for (unsigned i = 0; i < HEAP_COUNTS; i++) {
		if (i)
			json_lit(j, ", ");
		json_string(j, count_names[i], strlen(count_names[i]));
		json_text_unsigned(j, ": ", atomic_load(&info->heap[i]));
	}
	json_lit(j, "}}");
}

/* ---- the largest allocations, each on its thread's row ---- */

/* Writes a size like "12.3 MiB": with at most one decimal, and none where it is 0. */
static void put_size(struct json *j, uint64_t bytes)
{
	static const char *const units[] = { " B", " KiB", " MiB", " GiB", " TiB" };
	uint64_t tenths = bytes * 10;
	unsigned unit = 0;

	for (; unit < 4 && tenths >= 10240; unit++)
		tenths = (tenths + 512) / 1024;
	json_unsigned(j, tenths / 10);
	if (unit && tenths % 10)
		json_text_unsigned(j, ".", tenths % 10);
	json_text(j, units[unit]);
}

/* Writes an instant on its thread's row; "s":"t" draws it on that row alone. */
static void put_large(struct trace *t, const struct heap_large *l)
{
	const struct rec_alloc *a = heap_record_at(t, l->at);
	const struct heap_step *s = heap_step_at(t->heap, l->ticks);
	const struct heap_site *site = (struct heap_site *)t->heap->sites.mem + l->site;
	const char *call = call_name(a->r.flags);
	struct json *j = &t->json;

	json_lit(j, "{\"ph\":\"i\",\"cat\":\"heap\",\"s\":\"t\",\"name\":\"");
	json_text(j, call);
	json_lit(j, " ");
	put_size(j, l->bytes);
	json_text_unsigned(j, "\",\"pid\":", t->pid);
	json_text_unsigned(j, ",\"tid\":", l->tid);
	slice_text_ts(t, ",\"ts\":", row_instant(&t->row, l->ticks));
	json_text_unsigned(j, ",\"args\":{\"bytes\":", l->bytes);
	json_text_unsigned(j, ",\"address\":", a->r.end);
	json_lit(j, ",\"call\":");
	json_string(j, call, strlen(call));
	json_lit(j, ",\"stack\":");
	put_stack(t, large_stacks(l));
	json_lit(j, ",\"site\":");
	heap_frames_site(t, large_stacks(l));
	if (l->site)
		json_text_unsigned(j, ",\"site_bytes\":", site->sums.bytes);
	else
		json_lit(j, ",\"site_bytes\":null");
	json_lit(j, ",");
	python_stacks(t, (struct stack_pair){ .python = l->python }, false);
	json_lit(j, "\"op\":");
	put_op(t, l->op);
	put_known(j, ",\"step\":", s, s ? s->number : 0);
	json_lit(j, "}},\n");
}

/* ---- counter tracks ---- */

static void put_devices(struct trace *t)
{
	static const char *const tensor[2] = { "allocated", "reserved" };
	static const char *const device[2] = { "cudaMalloc", NULL };
	const struct heap *h = t->heap;
	char name[64];

	heap_track_write(t, &h->tensor[0], "Tensor memory (CPU)", tensor);
	for (unsigned i = 0; i < HEAP_DEVICES; i++) {
		fmt(name, sizeof(name), "Tensor memory (GPU %u)", i);
		heap_track_write(t, &h->tensor[1 + i], name, tensor);
	}
	for (unsigned i = 0; i < HEAP_DEVICES; i++) {
		fmt(name, sizeof(name), "Device memory (GPU %u)", i);
		heap_track_write(t, &h->device[i], name, device);
	}
}

void heap_events(struct trace *t)
{
	static const char *const live[2] = { "live bytes", NULL };
	static const char *const calls[2] = { "allocations/s", "frees/s" };
	static const char *const all[2] = { "bytes", NULL };
	static const char *const parts[2] = { "bytes", "anonymous" };
	const struct heap *h = t->heap;
	bool known = false;

	if (!h)
		return;
	for (size_t i = 0; i < h->large && !t->json.err; i++)
		put_large(t, &h->largest[i]);
	t->result->heap_rows = h->large;
	heap_track_write(t, &h->live, "Heap", live);
	heap_track_write(t, &h->calls, "Heap calls", calls);
	for (size_t i = 0; i < h->rss.n; i++)
		known |= h->rss.point[i].value[1] != 0;
	heap_track_write(t, &h->rss, "RSS", known ? parts : all);
	put_devices(t);
}
