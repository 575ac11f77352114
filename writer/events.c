/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/names.h"
#include "writer/collective.h"
#include "writer/trace.h"

uint64_t trace_ts(const struct trace *t, int64_t ns)
{
	int64_t ts;

	if (__builtin_sub_overflow(ns, t->base_ns, &ts) || ts < 0)
		return 0;
	return (uint64_t)ts;
}

/* ---- names and categories ---- */

static bool starts(const struct name *n, const char *prefix)
{
	size_t len = strlen(prefix);

	return n->len >= len && !memcmp(n->text, prefix, len);
}

/* What plugin 0.4.3 only knows as an operator (trace-format 10.1). */
static bool is_operator_in_tb043(const struct name *n)
{
	static const char *const prefixes[] = { "enumerate(Data",
						"Optimizer.",
						"nccl:",
						"gloo:",
						"DistributedDataParallel.forward",
						"DataParallel.forward" };

	for (size_t i = 0; n && i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (starts(n, prefixes[i]))
			return true;
	return false;
}

static const char *category(const struct trace *t, const struct name *n, unsigned kind)
{
	bool old = t->config->dialect == DIALECT_TB043;

	if (kind == REC_CALL || kind == TRACE_DRIVER_CALL)
		return old                ? "Runtime"
		       : kind == REC_CALL ? "cuda_runtime"
					  : "cuda_driver";
	if (kind == REC_OP || (old && is_operator_in_tb043(n)))
		return "cpu_op";
	return "user_annotation";
}

/* The event up to its tid. */
static void put_head(const struct trace *t, struct json *j, const struct name *n,
		     unsigned kind)
{
	const char *cat = category(t, n, kind);

	json_lit(j, "{\"ph\":\"X\",\"cat\":\"");
	json_raw(j, cat, strlen(cat));
	json_lit(j, "\",\"name\":\"");
	if (n)
		json_escaped(j, n->text, n->len);
	else
		json_lit(j, "unknown");
	json_lit(j, "\",\"pid\":");
	json_unsigned(j, t->pid);
	json_lit(j, ",\"tid\":");
}

static void put_overload(struct json *j, const struct name *n)
{
	if (!n || !n->extra_len)
		return;
	json_lit(j, "\"Overload\":");
	json_string(j, n->text + n->len + 1, n->extra_len);
	json_lit(j, ",");
}

/* The texts around the numbers are the same for all events of a name. NULL: they
 * are too long to be kept. */
static const struct name_slot *slot_for(struct trace *t, uint32_t id, unsigned kind)
{
	struct name_slot *s = &t->names[(id ^ id >> 10) & (NAME_SLOTS - 1)];
	const struct name *n;
	char text[4 * JSON_ROOM];
	struct json j;
	size_t head, len;

	if (s->kind == kind && s->name == id)
		return s;
	/* Escapes take six bytes for one at worst: this cannot fill the buffer. */
	n = names_get(t->view, id);
	if (n && (size_t)n->len + n->extra_len > NAME_TEXT)
		return NULL;
	json_init(&j, text, sizeof(text), NULL, NULL);
	put_head(t, &j, n, kind);
	head = (size_t)(j.at - text);
	put_overload(&j, n);
	len = (size_t)(j.at - text);
	if (len > NAME_TEXT)
		return NULL;
	s->name = id;
	s->kind = kind;
	s->head_len = (uint16_t)head;
	s->tail_len = (uint16_t)(len - head);
	memcpy(s->text, text, len);
	return s;
}

void trace_put_head(struct trace *t, uint32_t name, unsigned kind)
{
	const struct name_slot *s = slot_for(t, name, kind);

	if (s)
		json_raw(&t->json, s->text, s->head_len);
	else
		put_head(t, &t->json, names_get(t->view, name), kind);
}

void trace_put_times(struct trace *t, int64_t begin, int64_t end)
{
	struct json *j = &t->json;
	uint64_t ts = trace_ts(t, begin);

	json_need(j);
	memcpy(j->at, ",\"ts\":", 6);
	j->at = json_put_us(j->at + 6, ts);
	memcpy(j->at, ",\"dur\":", 7);
	j->at = json_put_us(j->at + 7, trace_ts(t, end) - ts);
}

/* ---- slices ---- */

static void put_times(struct trace *t, uint32_t tid, int64_t begin, int64_t end)
{
	struct json *j = &t->json;

	json_need(j);
	j->at = json_put_unsigned(j->at, tid);
	trace_put_times(t, begin, end);
	memcpy(j->at, ",\"args\":{\"External id\":", 23);
	j->at = json_put_unsigned(j->at + 23, ++t->external);
	*j->at++ = ',';
}

static void put_tail(struct trace *t, bool open)
{
	struct json *j = &t->json;

	json_need(j);
	if (open)
		json_lit(j, "\"finished\":\"false\",");
	json_lit(j, "\"Ev Idx\":");
	j->at = json_put_unsigned(j->at, t->event++);
	memcpy(j->at, "}},\n", 4);
	j->at += 4;
}

static void put_seq(struct json *j, const struct rec_op *op)
{
	if (op->seq < 0 || op->r.flags & OP_NO_SEQ)
		return;
	json_lit(j, "\"Sequence number\":");
	json_number(j, op->seq);
	json_lit(j, ",\"Fwd thread id\":");
	json_unsigned(j, op->fwd_thread);
	json_lit(j, ",");
}

static void put_flow(struct trace *t, const struct run *run, const struct rec_op *op,
		     uint64_t offset, int64_t begin)
{
	bool old = t->config->dialect == DIALECT_TB043;
	const char *cat = old ? "forward_backward" : "fwdbwd";
	struct json *j = &t->json;
	uint64_t id;
	enum link_side side = links_of(&t->links, op, offset, run->ordinal, &id);

	if (side == LINK_NONE)
		return;
	json_lit(j, "{\"ph\":\"");
	json_raw(j, side == LINK_START ? "s" : "f", 1);
	json_lit(j, "\",\"id\":");
	json_unsigned(j, id);
	json_lit(j, ",\"pid\":");
	json_unsigned(j, t->pid);
	json_lit(j, ",\"tid\":");
	json_unsigned(j, run->tid);
	json_lit(j, ",\"ts\":");
	json_need(j);
	j->at = json_put_us(j->at, trace_ts(t, begin));
	json_lit(j, ",\"cat\":\"");
	json_raw(j, cat, strlen(cat));
	json_lit(j, "\",\"name\":\"");
	json_raw(j, cat, strlen(cat));
	if (side == LINK_END)
		json_lit(j, "\",\"bp\":\"e\"},\n");
	else
		json_lit(j, "\"},\n");
}

/* Tells the GPU part of a slice that was just written. */
static int tell_slice(struct trace *t, const struct record *r, uint32_t collective)
{
	return t->cuda ? cuda_slice(t, r, read_end(&t->cycle, r), collective) : 0;
}

static void put_collective(struct trace *t, const struct cursor *c,
			   const struct rec_op *op)
{
	struct collective found;

	if (collective_find(&found, c, op))
		collective_write(&found, &t->json, false);
}

static int put_op(struct trace *t, const struct cursor *c, const struct rec_op *op,
		  uint64_t offset)
{
	bool collective = collective_is(t->view, &op->r);
	const struct run *run = read_run(&t->cycle, c->run);
	const struct name_slot *s = slot_for(t, op->r.name, op->r.kind);
	const struct name *n = s ? NULL : names_get(t->view, op->r.name);
	const struct rec_op *inner;
	struct json *j = &t->json;
	int64_t begin, end;
	int err = row_place(&t->row, op->r.begin, read_end(&t->cycle, &op->r), &begin,
			    &end);

	if (err)
		return err;
	if (s)
		json_raw(j, s->text, s->head_len);
	else
		put_head(t, j, n, op->r.kind);
	put_times(t, run->tid, begin, end);
	inner = op->r.kind == REC_OP && op->seq < 0 ? link_inner(c, op) : NULL;
	put_seq(j, inner ? inner : op);
	json_lit(j, "\"Record function id\":0,");
	if (s)
		json_raw(j, s->text + s->head_len, s->tail_len);
	else
		put_overload(j, n);
	if (op->r.flags & OP_INPUTS && t->inputs)
		inputs_write(t->inputs, j, (const uint8_t *)(op + 1),
			     (size_t)op->r.units * 8 - sizeof(*op));
	if (collective)
		put_collective(t, c, op);
	put_tail(t, read_is_open(&t->cycle, &op->r));
	if (op->r.kind == REC_OP)
		put_flow(t, run, op, offset, begin);
	t->ops++;
	return tell_slice(t, &op->r,
			  collective && t->cuda ? cuda_collective(t, c, offset) : 0);
}

static int put_step(struct trace *t, const struct run *run, const struct rec_step *step)
{
	struct json *j = &t->json;
	uint64_t stop = read_end(&t->cycle, &step->r);
	int64_t begin, end;
	int err;

	if (read_own_step(&t->cycle, step->r.begin, stop))
		return 0;
	err = row_place(&t->row, step->r.begin, stop, &begin, &end);
	if (err)
		return err;
	json_lit(j, "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#");
	json_number(j, step->number);
	json_lit(j, "\",\"pid\":");
	json_unsigned(j, t->pid);
	json_lit(j, ",\"tid\":");
	put_times(t, run->tid, begin, end);
	json_lit(j, "\"Record function id\":0,");
	put_tail(t, read_is_open(&t->cycle, &step->r));
	t->ops++;
	t->result->steps++;
	return tell_slice(t, &step->r, 0);
}

/* ---- instants ---- */

static void put_memory(struct trace *t, const struct run *run, const struct rec_memory *m)
{
	struct json *j = &t->json;

	json_lit(j,
		 "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"");
	if (m->r.kind == REC_OOM)
		json_lit(j, "[OutOfMemory]\",\"pid\":");
	else
		json_lit(j, "[memory]\",\"pid\":");
	json_unsigned(j, t->pid);
	json_lit(j, ",\"tid\":");
	json_unsigned(j, run->tid);
	json_lit(j, ",\"ts\":");
	json_need(j);
	j->at = json_put_us(j->at, trace_ts(t, row_instant(&t->row, m->r.begin)));
	json_lit(j, ",\"args\":{\"Total Reserved\":");
	json_unsigned(j, m->reserved);
	json_lit(j, ",\"Total Allocated\":");
	json_unsigned(j, m->allocated);
	json_lit(j, ",\"Bytes\":");
	json_number(j, m->bytes);
	json_lit(j, ",\"Device Id\":");
	json_number(j, m->device_index);
	json_lit(j, ",\"Device Type\":");
	json_number(j, m->device_type);
	json_lit(j, ",");
	if (m->r.kind == REC_MEMORY) {
		json_lit(j, "\"Addr\":");
		json_unsigned(j, m->addr);
		json_lit(j, ",");
	}
	put_tail(t, false);
}

static int put_record(struct trace *t, const struct cursor *c, const struct record *r,
		      uint64_t offset)
{
	const struct run *run = read_run(&t->cycle, c->run);
	int err = 0;

	switch (r->kind) {
	case REC_STEP:
	case REC_OP:
	case REC_ANNOTATION:
		if (t->cuda)
			err = cuda_calls(t, run->tid, r->begin);
		if (err)
			return err;
		if (r->kind == REC_STEP)
			return put_step(t, run, (const struct rec_step *)r);
		return put_op(t, c, (const struct rec_op *)r, offset);
	case REC_MEMORY:
	case REC_OOM:
		put_memory(t, run, (const struct rec_memory *)r);
		return 0;
	default: /* what belongs to the GPU part */
		return 0;
	}
}

static int put_thread(struct trace *t, size_t first, size_t last)
{
	struct cursor c = { .cycle = &t->cycle, .run = first, .last = last };
	uint32_t tid = read_run(&t->cycle, first)->tid;
	const struct record *r;
	uint64_t offset;
	int err = 0;

	row_start(&t->row);
	if (t->cuda)
		cuda_thread(t);
	while (!err && !t->json.err && (r = read_next(&c, &offset)))
		err = put_record(t, &c, r, offset);
	if (!err && t->cuda)
		err = cuda_calls(t, tid, UINT64_MAX);
	return err ? err : t->json.err;
}

/* Calls of threads that have nothing else, up to thread `tid`. */
static int put_other_threads(struct trace *t, uint64_t tid)
{
	uint32_t next;
	int err = 0;

	while (!err && t->cuda && cuda_next_thread(t, &next) && next < tid) {
		row_start(&t->row);
		cuda_thread(t);
		err = cuda_calls(t, next, UINT64_MAX);
	}
	return err;
}

int events_write(struct trace *t)
{
	int err = 0;

	for (size_t first = 0, last; !err && first < t->cycle.runs.n; first = last) {
		last = read_thread(&t->cycle, first);
		err = put_other_threads(t, read_run(&t->cycle, first)->tid);
		if (!err)
			err = put_thread(t, first, last);
	}
	return err ? err : put_other_threads(t, (uint64_t)UINT32_MAX + 1);
}
