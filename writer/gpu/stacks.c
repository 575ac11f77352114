/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks from which CUDA's calls were made. */
#include "agent/core/record_cuda.h"
#include "agent/core/stack_pair.h"
#include "writer/gpu/cuda.h"
#include "writer/python/python.h"
#include "writer/symbols/symbols.h"

static struct stack_pair pair_of(const struct trace *t, size_t i)
{
	const struct cuda_stack *s = (struct cuda_stack *)t->cuda->stacks.mem + i;
	const struct rec_stack *r = cuda_record(t, s->at);

	return stack_pair_get(t->view, r->stack);
}

int gpu_want_stacks(struct trace *t)
{
	int err = 0;

	for (size_t i = 0; t->cuda && i < t->cuda->stacks.n && !err; i++)
		err = symbols_want_stack(t->symbols, pair_of(t, i).native);
	return err;
}

void gpu_count_stacks(struct trace *t)
{
	for (size_t i = 0; t->cuda && i < t->cuda->calls.n; i++) {
		const struct cuda_call *call = cuda_call_at(t->cuda, i);

		if (call->stack)
			python_count(t, pair_of(t, call->stack - 1));
	}
}

void gpu_put_stacks(struct trace *t, const struct cuda_call *call)
{
	python_stacks(t, pair_of(t, call->stack - 1), false);
}
