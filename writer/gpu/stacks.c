/* SPDX-License-Identifier: Apache-2.0 */
/* "Call stack": the native stack from which a call was made. */
#include "agent/core/record_cuda.h"
#include "agent/core/stack_pair.h"
#include "writer/gpu/cuda.h"
#include "writer/python/python.h"
#include "writer/symbols/symbols.h"

#include <errno.h>
#include <string.h>

/* As many frames as stack_depth shows, innermost first; 0: the stack is not in the
 * spool. */
static unsigned frames_of_stack(const struct trace *t, size_t i,
				struct stack_frame frame[STACKS_MOST])
{
	const struct cuda_stack *s = (struct cuda_stack *)t->cuda->stacks.mem + i;
	const struct rec_stack *r = cuda_record(t, s->at);
	unsigned flags, most = t->config->stack_depth;

	return stacks_get(t->view, stack_pair_get(t->view, r->stack).native, frame,
			  most ? most : STACKS_MOST, &flags);
}

int gpu_stacks_ready(struct trace *t)
{
	struct stack_frame frame[STACKS_MOST];
	struct cuda *c = t->cuda;
	int err = 0;

	if (!c->stacks.n)
		return 0;
	c->symbols = symbols_new(t->view);
	if (!c->symbols)
		return -ENOMEM;
	for (size_t i = 0; i < c->stacks.n && !err; i++)
		for (unsigned n = frames_of_stack(t, i, frame); n-- && !err;)
			err = symbols_want(c->symbols, frame[n]);
	if (!err)
		symbols_resolve(c->symbols);
	return err;
}

static uint32_t python_of(const struct trace *t, const struct cuda_call *call)
{
	const struct cuda_stack *s =
		(struct cuda_stack *)t->cuda->stacks.mem + call->stack - 1;
	const struct rec_stack *r = cuda_record(t, s->at);

	return stack_pair_get(t->view, r->stack).python;
}

void gpu_put_lines(struct trace *t, const struct cuda_call *call)
{
	python_call_stack(t, python_of(t, call), false);
}

/* Writes names from the innermost outwards, ";" between them; an inlined call has a name
 * of its own. */
void gpu_put_stack(struct trace *t, const struct cuda_call *call)
{
	struct stack_frame frame[STACKS_MOST];
	unsigned depth = frames_of_stack(t, call->stack - 1, frame);
	struct json *j = &t->json;

	if (!depth)
		return;
	json_text(j, t->python && python_of(t, call) ? ",\"Native call stack\":\""
						     : ",\"Call stack\":\"");
	for (unsigned i = 0; i < depth; i++) {
		unsigned n;
		const char *text = symbols_text(t->cuda->symbols, frame[i], &n);

		for (; n--; text += strlen(text) + 1) {
			json_escaped(j, text, strlen(text));
			if (n || i + 1 < depth)
				json_lit(j, ";");
		}
	}
	json_lit(j, "\"");
}
