/* SPDX-License-Identifier: Apache-2.0 */
/* Every record of a cycle as an event: operators, annotations, memory, calls. */
#include "agent/core/names.h"
#include "agent/core/record_function.h"
#include "agent/core/record_stack.h"
#include "writer/collective.h"
#include "writer/python/pauses.h"
#include "writer/python/pieces.h"
#include "writer/trace.h"

/* Writes from behind "tid" to the first member of args. "External id" is Kineto's: calls
 * and kernels name by it the operator that they belong to. */
static void put_times(struct trace *t, uint32_t tid, int64_t begin, int64_t end)
{
	struct json *j = &t->json;

	json_need(j);
	j->at = json_put_unsigned(j->at, tid);
	slice_times(t, begin, end);
	memcpy(j->at, ",\"args\":{\"External id\":", 23);
	j->at = json_put_unsigned(j->at + 23, ++t->external);
	*j->at++ = ',';
}

/* "finished" is Kineto's mark of an operator that was still open at the end; "Ev Idx"
 * is its place in the profiler's list of results, here the file's. */
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
	json_text_number(j, "\"Sequence number\":", op->seq);
	json_text_unsigned(j, ",\"Fwd thread id\":", op->fwd_thread);
	json_lit(j, ",");
}

/* Kineto's flow from a forward operator to its backward one. The plugin joins the ends
 * by "ts" alone, so each "ts" is that of its slice to the digit. */
static void put_flow(struct trace *t, const struct run *run, const struct rec_op *op,
		     uint64_t offset, int64_t begin)
{
	bool old = t->config->dialect == DIALECT_TB043;
	const char *cat = old ? "forward_backward" : "fwdbwd";
	struct json *j = &t->json;
	uint64_t id;
	enum link_side side = fwdbwd_of(&t->links, op, offset, run->ordinal, &id);

	if (side == LINK_NONE)
		return;
	json_lit(j, "{\"ph\":\"");
	json_raw(j, side == LINK_START ? "s" : "f", 1);
	json_text_unsigned(j, "\",\"id\":", id);
	json_text_unsigned(j, ",\"pid\":", t->pid);
	json_text_unsigned(j, ",\"tid\":", run->tid);
	slice_text_ts(t, ",\"ts\":", begin);
	json_lit(j, ",\"cat\":\"");
	json_text(j, cat);
	json_lit(j, "\",\"name\":\"");
	json_text(j, cat);
	json_text(j, side == LINK_END ? "\",\"bp\":\"e\"},\n" : "\"},\n");
}

/* Tells the GPU part of a slice that was just written. */
static int tell_slice(struct trace *t, const struct record *r, uint32_t collective)
{
	return t->cuda ? gpu_slice(t, r, read_end(&t->cycle, r), collective) : 0;
}

static void put_collective(struct trace *t, const struct cursor *c,
			   const struct rec_op *op)
{
	struct collective found;

	if (collective_find(&found, c, op))
		collective_write(&found, &t->json, false);
}

static void put_arguments(struct trace *t, const struct rec_op *op)
{
	const uint8_t *inputs;
	size_t len;

	if (!(op->r.flags & OP_INPUTS) || !t->inputs)
		return;
	inputs = op_inputs(op, &len);
	inputs_write(t->inputs, &t->json, inputs, len);
}

/* An operator's stack is written where Python calls it; those inside of it share it. One
 * on a thread of autograd's own has none of Python's, and is given that of its forward
 * operator. */
static void put_stack(struct trace *t, const struct rec_op *op,
		      const struct rec_op *numbered)
{
	const struct op_stack *own = op_stack(op), *other;
	struct stack_pair pair = { own ? own->native : 0, own ? own->python : 0 };
	const struct rec_op *forward = NULL;

	if (own && op->r.flags & OP_SHARES)
		return;
	if (!pair.python && t->row.open.n == 1)
		forward = fwdbwd_forward(&t->links, numbered);
	other = forward ? op_stack(forward) : NULL;
	if (other)
		pair.python = other->python;
	python_stacks(t, pair, other != NULL);
}

/* Writes the slice of an operator or annotation with its arguments, then the end of a
 * flow that the operator may be. */
static int put_op(struct trace *t, const struct cursor *c, const struct rec_op *op,
		  uint64_t offset)
{
	const struct run *run = read_run(&t->cycle, c->run);
	const struct name_slot *s = slice_slot(t, op->r.name, op->r.kind);
	const struct name *n = s ? NULL : names_get(t->view, op->r.name);
	bool collective =
		op->r.kind == REC_OP && (s ? s->collective : collective_named(n));
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
		slice_unkept_head(t, j, n, op->r.kind);
	put_times(t, run->tid, begin, end);
	inner = op->r.kind == REC_OP && op->seq < 0 ? fwdbwd_inner(c, op) : NULL;
	put_seq(j, inner ? inner : op);
	json_lit(j, "\"Record function id\":0,");
	if (s)
		json_raw(j, s->text + s->head_len, s->tail_len);
	else
		slice_overload(j, n);
	put_arguments(t, op);
	if (t->config->flops && op->r.kind == REC_OP)
		flops_sum_write(t, c, op);
	if (collective)
		put_collective(t, c, op);
	if (op->r.flags & OP_STACK || t->config->python_stack)
		put_stack(t, op, inner ? inner : op);
	if (t->nn && op->r.kind == REC_OP)
		err = nn_path(t, op, inner ? inner : op);
	put_tail(t, read_is_open(&t->cycle, &op->r));
	if (op->r.kind == REC_OP)
		put_flow(t, run, op, offset, begin);
	t->ops++;
	return err ? err
		   : tell_slice(t, &op->r,
				collective && t->cuda ? gpu_collective(t, c, offset) : 0);
}

/* Writes a step that the agent saw, unless the program's own profiler has a step there:
 * that one is written as an annotation, and the plugin would count the step twice. */
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
	json_text_number(
		j, "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#",
		step->number);
	json_text_unsigned(j, "\",\"pid\":", t->pid);
	json_lit(j, ",\"tid\":");
	put_times(t, run->tid, begin, end);
	json_lit(j, "\"Record function id\":0,");
	put_tail(t, read_is_open(&t->cycle, &step->r));
	t->ops++;
	t->result->steps++;
	return tell_slice(t, &step->r, 0);
}

/* Writes a call of an nn.Module, or of a function of Python's or C's, or a piece of it.
 * No call of CUDA belongs to it: what has an "External id" is an operator. */
static int put_python(struct trace *t, uint32_t tid, const struct piece *piece)
{
	const struct record *r = piece->call;
	const struct rec_module *m =
		r->kind == REC_MODULE ? (const struct rec_module *)r : NULL;
	const struct rec_function *f =
		r->kind == REC_FUNCTION ? (const struct rec_function *)r : NULL;
	struct json *j = &t->json;
	int64_t begin, end;
	int err = piece->end ? row_place(&t->row, piece->begin, piece->end, &begin, &end)
			     : 0;

	if (err || !piece->end)
		return err;
	json_lit(j, "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"");
	if (m)
		nn_name(t, m);
	else if (f)
		python_name(t, (struct stack_frame){ f->code, f->offset });
	else
		nn_c_name(t, r->name);
	json_text_unsigned(j, "\",\"pid\":", t->pid);
	json_text_unsigned(j, ",\"tid\":", tid);
	slice_times(t, begin, end);
	json_lit(j, ",\"args\":{");
	err = nn_begin(t, piece);
	put_tail(t, read_is_open(&t->cycle, r));
	return err;
}

/* The first piece of a call of Python's, if it has not been written. */
static int put_call(struct trace *t, uint32_t tid, const struct record *r)
{
	const struct pieces *p = nn_pieces(t);
	struct piece piece = { .call = r, .begin = r->begin };

	if (!t->nn || (p && pieces_is_entered(r)))
		return 0;
	piece.end = p ? pieces_end(p, r) : nn_end(t, (const struct rec_module *)r);
	return put_python(t, tid, &piece);
}

/* What a thread is in as the window begins. */
static int put_entered(struct trace *t, uint32_t tid)
{
	struct pieces *p = t->nn ? nn_pieces(t) : NULL;
	const struct piece *piece;
	int err = 0;

	while (p && !err && (piece = pieces_entered(p, tid)))
		err = put_python(t, tid,
				 &(struct piece){ .call = piece->call,
						  .begin = piece->begin,
						  .end = pieces_end(p, piece->call) });
	return err;
}

static int put_pieces(struct trace *t, uint32_t tid, uint64_t now)
{
	struct pieces *p = t->nn ? nn_pieces(t) : NULL;
	const struct piece *piece;
	int err = 0;

	while (p && !err && (piece = pieces_before(p, tid, now)))
		err = put_python(t, tid, piece);
	return err;
}

static int put_pause(struct trace *t, uint32_t tid, const struct rec_python *r)
{
	int err = pauses_put(t, tid, r);

	if (!err)
		put_tail(t, read_is_open(&t->cycle, &r->r));
	return err;
}

/* ---- instants ---- */

/* "[memory]" as torch writes it. The plugin leaves out an event without "Addr" or
 * without totals, and pairs allocations with frees by address; an "[OutOfMemory]" has
 * none. */
static void put_memory(struct trace *t, const struct run *run, const struct rec_memory *m)
{
	struct json *j = &t->json;

	json_lit(j,
		 "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"");
	json_text(j, m->r.kind == REC_OOM ? "[OutOfMemory]" : "[memory]");
	json_text_unsigned(j, "\",\"pid\":", t->pid);
	json_text_unsigned(j, ",\"tid\":", run->tid);
	slice_text_ts(t, ",\"ts\":", row_instant(&t->row, m->r.begin));
	json_text_unsigned(j, ",\"args\":{\"Total Reserved\":", m->reserved);
	json_text_unsigned(j, ",\"Total Allocated\":", m->allocated);
	json_text_number(j, ",\"Bytes\":", m->bytes);
	json_text_number(j, ",\"Device Id\":", m->device_index);
	json_text_number(j, ",\"Device Type\":", m->device_type);
	json_lit(j, ",");
	if (m->r.kind == REC_MEMORY)
		json_member(j, "Addr", m->addr);
	put_tail(t, false);
}

static int put_slice(struct trace *t, const struct cursor *c, const struct record *r,
		     uint64_t offset)
{
	const struct run *run = read_run(&t->cycle, c->run);

	switch (r->kind) {
	case REC_STEP:
		return put_step(t, run, (const struct rec_step *)r);
	case REC_MODULE:
	case REC_FUNCTION:
	case REC_C_CALL:
		return put_call(t, run->tid, r);
	case REC_PYTHON:
		return put_pause(t, run->tid, (const struct rec_python *)r);
	default:
		return put_op(t, c, (const struct rec_op *)r, offset);
	}
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
	case REC_MODULE:
	case REC_FUNCTION:
	case REC_PYTHON:
	case REC_C_CALL:
		err = put_pieces(t, run->tid, r->begin);
		if (t->cuda && !err)
			err = gpu_calls(t, run->tid, r->begin);
		if (err)
			return err;
		return put_slice(t, c, r, offset);
	case REC_MEMORY:
	case REC_OOM:
		put_memory(t, run, (const struct rec_memory *)r);
		return 0;
	default: /* the record belongs to the GPU part */
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
	flops_sum_thread(t);
	nn_thread(t);
	if (t->cuda)
		gpu_thread(t);
	err = put_entered(t, tid);
	while (!err && !t->json.err && (r = read_next(&c, &offset)))
		err = put_record(t, &c, r, offset);
	err = err ? err : put_pieces(t, tid, UINT64_MAX);
	if (!err && t->cuda)
		err = gpu_calls(t, tid, UINT64_MAX);
	return err ? err : t->json.err;
}

/* Writes the calls of threads that have no records, up to thread `tid`. */
static int put_other_threads(struct trace *t, uint64_t tid)
{
	uint32_t next;
	int err = 0;

	while (!err && t->cuda && gpu_next_thread(t, &next) && next < tid) {
		row_start(&t->row);
		gpu_thread(t);
		err = gpu_calls(t, next, UINT64_MAX);
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
