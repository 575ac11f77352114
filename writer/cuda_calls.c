/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/names.h"
#include "writer/cuda_parts.h"

#include <errno.h>

/* ---- which slice we are in ---- */

bool cuda_next_thread(const struct trace *t, uint32_t *tid)
{
	const struct cuda *c = t->cuda;

	if (c->next >= c->calls.n)
		return false;
	*tid = cuda_call_at(c, c->next)->tid;
	return true;
}

void cuda_thread(struct trace *t)
{
	t->cuda->owners.n = 0;
}

uint32_t cuda_collective(struct trace *t, const struct cursor *behind, uint64_t at)
{
	struct cuda *c = t->cuda;
	struct cuda_collective *to = pile_push(&c->collectives, sizeof(*to));

	if (!to) /* its kernels then go without */
		return 0;
	*to = (struct cuda_collective){ *behind, at };
	return (uint32_t)c->collectives.n;
}

static struct cuda_owner *owner_at(struct cuda *c, uint64_t ticks)
{
	struct cuda_owner *o = c->owners.mem;

	while (c->owners.n && o[c->owners.n - 1].end <= ticks)
		c->owners.n--;
	return c->owners.n ? &o[c->owners.n - 1] : NULL;
}

static bool starts(const struct name *n, const char *prefix)
{
	size_t len = strlen(prefix);

	return n && n->len >= len && !memcmp(n->text, prefix, len);
}

static int add_annotation(struct trace *t, uint32_t name, uint32_t *number)
{
	struct cuda *c = t->cuda;
	struct cuda_annotation *a = pile_push(&c->annotations, sizeof(*a));

	if (!a)
		return -ENOMEM;
	*a = (struct cuda_annotation){ .external = t->external, .name = name };
	*number = (uint32_t)c->annotations.n;
	return 0;
}

int cuda_slice(struct trace *t, const struct record *r, uint64_t end, uint32_t collective)
{
	const struct name *n =
		r->kind == REC_ANNOTATION ? names_get(t->view, r->name) : NULL;
	bool nccl = starts(n, "nccl:") || starts(n, "gloo:");
	struct cuda *c = t->cuda;
	const struct cuda_owner *around = owner_at(c, r->begin);
	struct cuda_owner mine = around ? *around : (struct cuda_owner){ 0 }, *to;
	int err = 0;

	if (!around || end < mine.end)
		mine.end = end;
	mine.slice = t->external;
	if (r->kind == REC_OP) {
		mine.op = t->external;
		mine.collective = collective;
	} else if (r->kind == REC_STEP || starts(n, "ProfilerStep#")) {
		mine.annotation = 0;
	} else if (nccl || t->config->dialect != DIALECT_TB043) {
		err = add_annotation(t, r->name, &mine.annotation);
	}
	if (nccl)
		mine.nccl = t->external;
	to = pile_push(&c->owners, sizeof(*to));
	if (!to)
		return -ENOMEM;
	*to = mine;
	return err;
}

static void take_owner(struct trace *t, struct cuda_call *call)
{
	const struct cuda_owner *o = owner_at(t->cuda, call->begin);

	if (!o)
		return;
	call->external = o->op ? o->op : o->slice;
	call->annotation = o->annotation;
	call->collective = o->op ? o->collective : 0;
	/* The old plugin takes for communication what belongs to the nccl:* event. */
	if (t->config->dialect == DIALECT_TB043 && o->nccl &&
	    (call->collective || !o->op))
		call->external = o->nccl;
}

/* ---- a call ---- */

static void put_arrow(struct trace *t, const struct cuda_call *call)
{
	struct json *j = &t->json;

	json_lit(j, "{\"ph\":\"s\",\"id\":");
	json_unsigned(j, call->correlation);
	json_lit(j, ",\"pid\":");
	json_unsigned(j, t->pid);
	json_lit(j, ",\"tid\":");
	json_unsigned(j, call->tid);
	json_lit(j, ",\"ts\":");
	json_need(j);
	j->at = json_put_us(j->at, trace_ts(t, call->begin_ns));
	json_lit(j, ",\"cat\":\"ac2g\",\"name\":\"ac2g\"},\n");
}

static int put_call(struct trace *t, struct cuda_call *call)
{
	const struct rec_call *r = cuda_record(t, call->at);
	struct json *j = &t->json;
	int64_t end;
	int err = row_place(&t->row, call->begin, call->end, &call->begin_ns, &end);

	if (err)
		return err;
	take_owner(t, call);
	trace_put_head(t, r->r.name,
		       call->flags & CALL_DRIVER ? TRACE_DRIVER_CALL : REC_CALL);
	json_unsigned(j, call->tid);
	trace_put_times(t, call->begin_ns, end);
	json_lit(j, ",\"args\":{");
	if (call->external || t->config->dialect == DIALECT_TB043) {
		json_lit(j, "\"External id\":");
		json_unsigned(j, call->external);
		json_lit(j, ",");
	}
	json_lit(j, "\"cbid\":");
	json_unsigned(j, r->cbid);
	if (call->correlation && !(call->marks & MARK_UNDER)) {
		json_lit(j, ",\"correlation\":");
		json_unsigned(j, call->correlation);
	}
	if (call->stack)
		cuda_put_stack(t, call);
	json_lit(j, "}},\n");
	if (call->first && !(call->marks & MARK_NO_ARROW))
		put_arrow(t, call);
	return j->err;
}

/* The driver calls under runtime calls are of interest to who asks for all. */
static bool is_shown(const struct trace *t, const struct cuda_call *call)
{
	return !(call->marks & MARK_UNDER) || t->config->cuda_driver_calls ||
	       !(call->flags & CALL_DRIVER);
}

int cuda_calls(struct trace *t, uint32_t tid, uint64_t before)
{
	struct cuda *c = t->cuda;
	int err = 0;

	while (!err && c->next < c->calls.n) {
		struct cuda_call *call = cuda_call_at(c, c->next);

		if (call->tid > tid || (call->tid == tid && call->begin >= before))
			break;
		c->next++;
		if (call->tid == tid && is_shown(t, call))
			err = put_call(t, call);
	}
	return err;
}

/* Threads without a record of their own. */
void cuda_thread_rows(struct trace *t)
{
	const struct cuda *c = t->cuda;
	size_t run = 0;

	for (size_t i = 0; i < c->calls.n; i++) {
		uint32_t tid = cuda_call_at(c, i)->tid;

		if (i && cuda_call_at(c, i - 1)->tid == tid)
			continue;
		while (run < t->cycle.runs.n && read_run(&t->cycle, run)->tid < tid)
			run++;
		if (run == t->cycle.runs.n || read_run(&t->cycle, run)->tid != tid)
			trace_put_thread(t, tid, "", 0);
	}
}
