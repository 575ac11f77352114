/* SPDX-License-Identifier: Apache-2.0 */
/* What a file has before and after its events: head, rows of threads, tail. */
#include "agent/core/clock.h"
#include "config/stages.h"
#include "writer/cost.h"
#include "writer/python/pauses.h"
#include "writer/trace.h"

static const char *const kinds[REC_KINDS] = {
#define KIND(name, text) text,
	RECORD_KINDS(KIND)
#undef KIND
};

static const char *const whys[DROP_WHYS] = {
	[DROP_CAP] = "buffer full",
	[DROP_LATE] = "after the window's end",
	[DROP_NESTED] = "inside a signal handler",
	[DROP_DEAD] = "thread had ended",
	[DROP_NAMES] = "name table full",
	[DROP_START] = "while recording began",
	[DROP_BOUNDARY] = "step boundary given up",
	[DROP_CONFINED] = "after seccomp",
	[DROP_GROUP] = "control group nearly full",
	[DROP_LOCKED] = "while memory was locked",
};

static void put_key(struct json *j, const char *key)
{
	json_lit(j, "\"");
	json_text(j, key);
	json_lit(j, "\": ");
}

/* ---- before the events ---- */

/* 32 digits that are the same whenever this cycle is written. */
static void put_trace_id(struct trace *t)
{
	struct json *j = &t->json;
	uint64_t word[2] = { (uint64_t)t->info->stamp_ns * 0x9e3779b97f4a7c15ull,
			     t->view->head->start_time ^ (uint64_t)t->pid << 32 };

	json_lit(j, "\"trace_id\": \"");
	for (int i = 0; i < 2; i++) {
		for (size_t c = 0; c < sizeof(t->view->head->host); c++)
			word[i] = (word[i] ^ (unsigned char)t->view->head->host[c]) *
				  (0xff51afd7ed558ccdull + 2 * (unsigned)i);
		word[i] ^= word[i] >> 31;
		for (int shift = 60; shift >= 0; shift -= 4)
			json_raw(j, &"0123456789ABCDEF"[word[i] >> shift & 15], 1);
	}
	json_lit(j, "\",\n");
}

/* Writes the digits of a fact's text alone: torchrun's numbers come from the environment,
 * which may hold anything. */
static void put_fact_number(struct trace *t, const char *key, const char *def)
{
	size_t len = 0, n = 0;
	const char *value = facts_get(t->view->head, key, &len);
	char digits[10];

	for (size_t i = 0; value && i < len && n < sizeof(digits); i++)
		if (value[i] >= '0' && value[i] <= '9')
			digits[n++] = value[i];
	while (n > 1 && digits[0] == '0')
		memmove(digits, digits + 1, --n);
	json_raw(&t->json, n ? digits : def, n ? n : strlen(def));
}

static void put_distributed(struct trace *t)
{
	struct json *j = &t->json;

	/* A blank after each colon: a reader searches this as text. */
	json_lit(j, "\"distributedInfo\": {\"backend\": \"");
	if (t->cycle.events[REC_COLLECTIVE]) /* NCCL itself was called */
		json_lit(j, "nccl");
	else
		json_text(j, t->cycle.backend ? t->cycle.backend : "");
	json_lit(j, "\", \"rank\": ");
	put_fact_number(t, "rank", "0");
	json_lit(j, ", \"world_size\": ");
	put_fact_number(t, "world_size", "1");
	json_lit(j, "},\n");
}

static void put_counts(struct json *j, const char *key, const char *const *names,
		       const uint64_t *counts, unsigned n)
{
	bool first = true;

	put_key(j, key);
	json_lit(j, "{");
	for (unsigned i = 0; i < n; i++) {
		if (!counts[i])
			continue;
		if (!first)
			json_lit(j, ", ");
		first = false;
		put_key(j, names[i]);
		json_unsigned(j, counts[i]);
	}
	json_lit(j, "}");
}

static void put_cycle(struct trace *t)
{
	struct json *j = &t->json;
	const struct spool_header *h = t->view->head;
	uint32_t flags = t->info->flags;

	json_text_unsigned(j, "\"window\": {\"number\": ", t->info->number);
	if (t->info->stage)
		json_text_unsigned(j, ", \"stage\": ", t->info->stage);
	json_text(j, t->info->end ? ", \"complete\": true" : ", \"complete\": false");
	if (flags & CYCLE_EARLY)
		json_lit(j, ", \"before the schedule's first window\": true");
	else if (flags & CYCLE_PROVISIONAL && !(flags & CYCLE_WHOLE))
		json_lit(j, ", \"before the first step boundary\": true");
	if (flags & CYCLE_CHILD)
		json_lit(j, ", \"follows a parent's window\": true");
	json_text_unsigned(j, "}, \"process\": {\"pid\": ", h->pid);
	json_text_unsigned(j, ", \"parent\": ", h->ppid);
	json_lit(j, ", \"name\": ");
	json_string(j, h->exe, strnlen(h->exe, sizeof(h->exe)));
	json_lit(j, ", \"job\": ");
	json_string(j, h->job, strnlen(h->job, sizeof(h->job)));
	json_lit(j, "}");
}

/* The object "proflaunch" (docs/trace.md): what ran, with which options, what was lost
 * and why. Readers of Kineto's files keep a member that they do not know, or pass it
 * by. */
static void put_proflaunch_object(struct trace *t)
{
	struct json *j = &t->json;
	const struct spool_header *h = t->view->head;
	uint64_t why[DROP_WHYS];

	for (unsigned i = 0; i < DROP_WHYS; i++)
		why[i] = atomic_load(&((struct cycle_info *)t->info)->whys[i]);
	for (unsigned i = 0; i < REC_KINDS; i++)
		why[DROP_LATE] += t->cycle.late[i];
	json_lit(j, "\"proflaunch\": {\"version\": ");
	json_string(j, h->build, strnlen(h->build, sizeof(h->build)));
	json_lit(j, ",\n\"configuration\": ");
	facts_lines(j, h->config, sizeof(h->config), false);
	json_lit(j, ",\n\"facts\": ");
	facts_lines(j, h->facts, sizeof(h->facts), true);
	json_lit(j, ",\n");
	put_cycle(t);
	json_lit(j, ",\n");
	put_counts(j, "events", kinds, t->result->events, REC_KINDS);
	json_lit(j, ", ");
	put_counts(j, "drops", kinds, t->result->drops, REC_KINDS);
	json_lit(j, ", ");
	put_counts(j, "drop reasons", whys, why, DROP_WHYS);
	json_text_unsigned(j, ", \"chunks faulted in by the program\": ",
			   atomic_load(&((struct cycle_info *)t->info)->faulted));
	json_lit(j, ",\n");
	cost_write(t);
	if (t->cuda)
		gpu_facts(t);
	python_counts(t);
	nn_counts(t);
	pauses_counts(t);
	flops_sum_counts(t);
	heap_summary(t);
	json_lit(j, "},\n");
}

/* Of a window of one of the user's stages: which. */
static void put_stage(struct trace *t)
{
	char name[STAGES_NAME];

	stages_name(t->config, t->info->stage, name, sizeof(name));
	if (!*name)
		return;
	json_lit(&t->json, "\"stage\": ");
	json_string(&t->json, name, strlen(name));
	json_lit(&t->json, ",\n");
}

/* Everything but "traceName" stands before the events: HTA reads the file as a stream
 * and wants the metadata first. */
void meta_head(struct trace *t)
{
	struct json *j = &t->json;
	const struct spool_header *h = t->view->head;

	json_lit(j, "{\n\"schemaVersion\": 1,\n\"deviceProperties\": [");
	if (t->cuda)
		gpu_properties(t);
	json_lit(j, "],\n");
	if (t->cuda)
		gpu_versions(t);
	if (config_wants_inputs(t->config))
		json_lit(j, "\"record_shapes\": 1,\n");
	if (t->config->profile_memory)
		json_lit(j, "\"profile_memory\": 1,\n");
	if (t->config->python_stack)
		json_lit(j, "\"with_stack\": 1,\n");
	if (config_wants_modules(t->config))
		json_lit(j, "\"with_modules\": 1,\n");
	if (t->config->flops)
		json_lit(j, "\"with_flops\": 1,\n");
	put_trace_id(t);
	put_stage(t);
	json_lit(j, "\"host_name\": ");
	json_string(j, h->host, strnlen(h->host, sizeof(h->host)));
	json_lit(j, ",\n");
	facts_metadata(j, t->config->metadata, sizeof(t->config->metadata));
	put_distributed(t);
	put_proflaunch_object(t);
	json_text_number(
		j, "\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": ", t->base_ns);
	json_lit(j, ",\n\"traceEvents\": [\n");
}

/* ---- rows of processes and threads ---- */

static void put_thread_rows(struct trace *t, const struct run *run)
{
	const struct rec_thread *said =
		(const struct rec_thread *)(t->view->base + run->said);

	label_thread(t, run->tid, said->comm, strnlen(said->comm, sizeof(said->comm)));
}

/* Three metadata events for the process and two for each thread, in Kineto's words:
 * readers sort and name rows by them. */
void meta_rows(struct trace *t)
{
	struct json *j = &t->json;
	const struct spool_header *h = t->view->head;
	size_t len = strnlen(h->exe, sizeof(h->exe));

	label_row(t, "process_name", 0, "name");
	json_string(j, len ? h->exe : "python", len ? len : 6);
	json_lit(j, "}},\n");
	label_row(t, "process_labels", 0, "labels");
	json_lit(j, "\"CPU\"}},\n");
	label_row(t, "process_sort_index", 0, "sort_index");
	json_unsigned(j, t->pid);
	json_lit(j, "}},\n");
	/* The newest name of a thread counts: a program names it after making it. */
	for (size_t i = 0; i < t->cycle.runs.n; i = read_thread(&t->cycle, i))
		put_thread_rows(t, read_run(&t->cycle, read_thread(&t->cycle, i) - 1));
	if (t->cuda)
		gpu_thread_rows(t);
}

/* ---- behind the events ---- */

/* Escapes "]": the last closing bracket of the file must be that of traceEvents. */
static void put_path(struct json *j, const char *path)
{
	json_lit(j, "\"");
	for (; *path; path++) {
		size_t n = strcspn(path, "]");

		json_escaped(j, path, n);
		path += n;
		if (!*path)
			break;
		json_lit(j, "\\u005d");
	}
	json_lit(j, "\"");
}

/* Kineto's last events: the span over the whole window, the sort index that puts it
 * behind all rows, and the marks of begin and end. "Record Window End" is the file's
 * last event. */
void meta_tail(struct trace *t)
{
	struct json *j = &t->json;
	int64_t begin = t->row.begin_ns, end = t->cuda ? gpu_write_end(t) : t->row.end_ns;

	json_lit(j, "{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\","
		    "\"pid\":\"Spans\",\"tid\":\"PyTorch Profiler\"");
	slice_text_ts(t, ",\"ts\":", begin);
	json_lit(j, ",\"dur\":");
	json_need(j);
	j->at = json_put_us(j->at, slice_ts(t, end) - slice_ts(t, begin));
	json_text_unsigned(j, ",\"args\":{\"Op count\":", t->ops);
	json_lit(j, "}},\n{\"ph\":\"M\",\"name\":\"process_sort_index\"");
	slice_text_ts(t, ",\"ts\":", begin);
	json_lit(
		j,
		",\"pid\":\"Spans\",\"tid\":0,\"args\":{\"sort_index\":536870912}},\n"
		"{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Iteration Start: PyTorch Profiler\","
		"\"pid\":\"Traces\",\"tid\":\"Trace PyTorch Profiler\"");
	slice_text_ts(t, ",\"ts\":", begin);
	json_lit(j, "},\n{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Record Window End\","
		    "\"pid\":\"\",\"tid\":\"\"");
	slice_text_ts(t, ",\"ts\":", end);
	json_lit(j, "}\n],\n\"traceName\": ");
	put_path(j, t->out.path);
	json_lit(j, "}\n");
}
