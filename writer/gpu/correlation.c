/* SPDX-License-Identifier: Apache-2.0 */
/* GPU work and the call that caused it, joined by correlation id. */
#include "writer/gpu/correlation.h"
#include "agent/core/names.h"
#include "base/hash.h"
#include "writer/gpu/cuda.h"
#include "writer/sort.h"

#include <errno.h>

#define LOOK_BACK 16 /* stacks passed over as of unseen calls */

/* ---- call to GPU work ---- */

/* CUPTI and the agent's hooks give ids independently: so `hook` is part of the key. */
static size_t slot_of(const struct cuda *c, uint32_t correlation, bool hook)
{
	size_t i = hash_place(correlation ^ (uint64_t)hook << 32, c->slots);

	for (;; i = i + 1 < c->slots ? i + 1 : 0) {
		const struct cuda_call *call;

		if (!c->by_correlation[i])
			return i;
		call = cuda_call_at(c, c->by_correlation[i] - 1);
		if (call->correlation == correlation &&
		    !(call->flags & CALL_HOOK) == !hook)
			return i;
	}
}

struct cuda_call *gpu_find(const struct trace *t, uint32_t correlation, bool hook)
{
	const struct cuda *c = t->cuda;
	uint32_t found = c->slots && correlation
				 ? c->by_correlation[slot_of(c, correlation, hook)]
				 : 0;

	return found ? cuda_call_at(c, found - 1) : NULL;
}

/* A runtime call and the driver call under it have the same id. Readers want the id once,
 * and the work belongs to the outer call. */
static void enter_call(struct cuda *c, size_t i)
{
	struct cuda_call *call = cuda_call_at(c, i), *first;
	uint32_t *slot;

	if (!call->correlation)
		return;
	slot = &c->by_correlation[slot_of(c, call->correlation, call->flags & CALL_HOOK)];
	if (!*slot) {
		*slot = (uint32_t)i + 1;
		return;
	}
	first = cuda_call_at(c, *slot - 1);
	if (first->flags & CALL_DRIVER && !(call->flags & CALL_DRIVER)) {
		first->marks |= MARK_UNDER;
		*slot = (uint32_t)i + 1;
	} else {
		call->marks |= MARK_UNDER;
	}
}

/* The id of the call; 0: overhead belongs to no call. */
static uint32_t correlation_of(const struct trace *t, const struct cuda_work *w)
{
	const struct rec_gpu *g = cuda_gpu(t, w);

	switch (w->kind) {
	case REC_SYNC:
		return ((const struct rec_sync *)g)->correlation;
	case REC_EVENT:
		return ((const struct rec_event *)g)->correlation;
	case REC_OVERHEAD:
		return 0;
	default:
		return g->correlation;
	}
}

/* Joins a piece of work to its call. The call's arrow goes to its earliest work. */
static void join_work_to_call(struct trace *t, size_t i)
{
	struct cuda *c = t->cuda;
	struct cuda_work *w = cuda_work_at(c, i);
	bool gpu = w->kind <= REC_GRAPH;
	const struct rec_gpu *g = cuda_gpu(t, w);
	struct cuda_call *call =
		gpu_find(t, correlation_of(t, w), gpu && g->r.flags & GPU_ESTIMATE);
	int64_t called;

	c->gpu += gpu;
	if (!call) {
		c->known[CUDA_UNMATCHED] += gpu;
		return;
	}
	c->matched += gpu;
	w->call = (uint32_t)(call - cuda_call_at(c, 0)) + 1;
	called = rows_ns(&t->row.clock, call->begin);
	if (gpu && w->begin < called)
		c->known[CUDA_EARLY]++;
	if (!gpu && (w->kind != REC_SYNC || ((const struct rec_sync *)g)->type < 2))
		return;
	if (call->first && cuda_work_at(c, call->first - 1)->begin <= w->begin)
		return;
	call->first = (uint32_t)i + 1;
	call->marks &= (uint16_t) ~(MARK_EARLY | MARK_NO_ARROW);
	if (w->begin <= called)
		call->marks |= MARK_EARLY;
	if (w->end <= called + 4)
		call->marks |= MARK_NO_ARROW;
}

/* ---- stack to call ---- */

static bool stack_before(const void *left, const void *right)
{
	const struct cuda_stack *a = left, *b = right;

	return a->tid != b->tid ? a->tid < b->tid : a->ticks < b->ticks;
}

/* False also where one of them has no name. */
static bool same_name(const struct trace *t, uint32_t one, uint32_t other)
{
	const struct name *a = names_get(t->view, one), *b = names_get(t->view, other);

	return a && b && name_is_same(a, b);
}

/* Joins each call to the stack taken just before it; a stack whose call was not seen
 * stays alone. */
static void join_stacks(struct trace *t)
{
	struct cuda *c = t->cuda;
	struct cuda_stack *s = c->stacks.mem;
	size_t behind = 0, floor = 0;

	for (size_t i = 0; i < c->calls.n; i++) {
		struct cuda_call *call = cuda_call_at(c, i);
		const struct record *r = cuda_record(t, call->at);
		uint64_t until = call->begin + c->clock.error;

		while (behind < c->stacks.n &&
		       (s[behind].tid < call->tid ||
			(s[behind].tid == call->tid && s[behind].ticks <= until)))
			behind++;
		for (size_t n = behind, tries = 0;
		     n-- > floor && s[n].tid == call->tid && tries < LOOK_BACK; tries++) {
			const struct record *stack = cuda_record(t, s[n].at);

			if (!same_name(t, stack->name, r->name))
				continue;
			call->stack = (uint32_t)n + 1;
			floor = n + 1;
			break;
		}
	}
}

/* ---- all ---- */

int gpu_link(struct trace *t)
{
	struct cuda *c = t->cuda;
	int err = sort_merge(c->stacks.mem, c->stacks.n, sizeof(struct cuda_stack),
			     stack_before);

	if (err)
		return err;
	if (c->calls.n) {
		c->slots = c->calls.n + c->calls.n / 2 + 1;
		c->by_correlation = pile_map(c->slots * sizeof(*c->by_correlation));
		if (!c->by_correlation) {
			c->slots = 0;
			return -ENOMEM;
		}
		for (size_t i = 0; i < c->calls.n; i++)
			enter_call(c, i);
	}
	for (size_t i = 0; i < c->work.n; i++)
		join_work_to_call(t, i);
	if (c->stacks.n)
		join_stacks(t);
	return gpu_count_missing(t);
}
