/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA's calls on the rows of their threads, with arrows to the GPU work they caused. */
#include "agent/core/names.h"
#include "writer/gpu/cuda.h"

#include <errno.h>

/* ---- the slice around a call ---- */

/* Calls are sorted by thread and begin, and written in that order: the next call tells
 * whose row comes next. */
bool gpu_next_thread(const struct trace *t, uint32_t *tid)
{
	const struct cuda *c = t->cuda;

	if (c->next >= c->calls.n)
		return false;
	*tid = cuda_call_at(c, c->next)->tid;
	return true;
}

void gpu_thread(struct trace *t)
{
	t->cuda->owners.n = 0;
}

uint32_t gpu_collective(struct trace *t, const struct cursor *behind, uint64_t at)
{
	struct cuda *c = t->cuda;
	const struct gpu_collective one = { *behind, at };

	if (pile_add(&c->collectives, &one, sizeof(one)))
		return 0; /* the operator's kernels then have no collective */
	return (uint32_t)c->collectives.n;
}

/* The innermost slice around `ticks`; owners that have ended are dropped. NULL: none. */
static struct cuda_owner *owner_at(struct cuda *c, uint64_t ticks)
{
	struct cuda_owner *o = c->owners.mem;

	while (c->owners.n && o[c->owners.n - 1].end <= ticks)
		c->owners.n--;
	return c->owners.n ? &o[c->owners.n - 1] : NULL;
}

/* ProfilerStep gets no copy on the GPU's rows: the plugin would count each step twice. */
int gpu_slice(struct trace *t, const struct record *r, uint64_t end, uint32_t collective)
{
	const struct name *n =
		r->kind == REC_ANNOTATION ? names_get(t->view, r->name) : NULL;
	bool nccl = n && (name_starts_with(n, "nccl:") || name_starts_with(n, "gloo:"));
	struct cuda *c = t->cuda;
	const struct cuda_owner *around = owner_at(c, r->begin);
	struct cuda_owner mine = around ? *around : (struct cuda_owner){ 0 };
	const struct cuda_annotation annotation = { .external = t->external,
						    .name = r->name };
	int err = 0;

	if (!around || end < mine.end)
		mine.end = end;
	mine.slice = t->external;
	if (r->kind == REC_OP) {
		mine.op = t->external;
		mine.collective = collective;
	} else if (r->kind == REC_STEP || (n && name_starts_with(n, "ProfilerStep#"))) {
		mine.annotation = 0;
	} else if (nccl || t->config->dialect != DIALECT_TB043) {
		err = pile_add(&c->annotations, &annotation, sizeof(annotation));
		mine.annotation = (uint32_t)c->annotations.n;
	}
	if (nccl)
		mine.nccl = t->external;
	return pile_add(&c->owners, &mine, sizeof(mine)) ? -ENOMEM : err;
}

static void take_owner(struct trace *t, struct cuda_call *call)
{
	const struct cuda_owner *o = owner_at(t->cuda, call->begin);

	if (!o)
		return;
	call->external = o->op ? o->op : o->slice;
	call->annotation = o->annotation;
	call->collective = o->op ? o->collective : 0;
	/* The old plugin counts the work that belongs to the nccl:* event as
	 * communication. */
	if (t->config->dialect == DIALECT_TB043 && o->nccl &&
	    (call->collective || !o->op))
		call->external = o->nccl;
}

/* ---- a call ---- */

/* The begin of a flow: its "ts" is the call's, its id the correlation id, as in
 * Kineto. */
static void put_arrow(struct trace *t, const struct cuda_call *call)
{
	struct json *j = &t->json;

	json_text_unsigned(j, "{\"ph\":\"s\",\"id\":", call->correlation);
	json_text_unsigned(j, ",\"pid\":", t->pid);
	json_text_unsigned(j, ",\"tid\":", call->tid);
	slice_text_ts(t, ",\"ts\":", call->begin_ns);
	json_lit(j, ",\"cat\":\"ac2g\",\"name\":\"ac2g\"},\n");
}

/* Writes a call with its arguments. A driver call under a runtime call does not repeat
 * the id: HTA joins launches and kernels by it. */
static int put_call(struct trace *t, struct cuda_call *call)
{
	const struct rec_call *r = cuda_record(t, call->at);
	struct json *j = &t->json;
	int64_t end;
	int err = row_place(&t->row, call->begin, call->end, &call->begin_ns, &end);

	if (err)
		return err;
	take_owner(t, call);
	slice_head(t, r->r.name,
		   call->flags & CALL_DRIVER ? TRACE_DRIVER_CALL : REC_CALL);
	json_unsigned(j, call->tid);
	slice_times(t, call->begin_ns, end);
	json_lit(j, ",\"args\":{");
	if (call->external || t->config->dialect == DIALECT_TB043)
		json_member(j, "External id", call->external);
	if (call->stack)
		gpu_put_stacks(t, call);
	json_text_unsigned(j, "\"cbid\":", r->cbid);
	if (call->correlation && !(call->marks & MARK_UNDER))
		json_text_unsigned(j, ",\"correlation\":", call->correlation);
	json_lit(j, "}},\n");
	if (call->first && !(call->marks & MARK_NO_ARROW))
		put_arrow(t, call);
	return j->err;
}

/* A driver call under a runtime call is shown only where the option asks for all of
 * them. */
static bool is_shown(const struct trace *t, const struct cuda_call *call)
{
	return !(call->marks & MARK_UNDER) || t->config->cuda_driver_calls ||
	       !(call->flags & CALL_DRIVER);
}

int gpu_calls(struct trace *t, uint32_t tid, uint64_t before)
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

/* Names the threads that have calls but no records of their own. */
void gpu_thread_rows(struct trace *t)
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
			label_thread(t, tid, "", 0);
	}
}
