/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window's cost has three parts: the mean of a kind's samples, times the kind's events,
 * dropped ones as well; what was timed each time; and what cannot be timed but is in
 * proportion to it: libtorch's part of operators, and malloc's hooks where they pass on
 * what is no sample. docs/measured/cost.md has the estimate beside the truth.
 */
#include "writer/cost.h"
#include "agent/core/clock.h"
#include "writer/heap/account.h"
#include "writer/heap/sum.h"

#include <string.h>

/* libtorch makes a RecordFunction for each operator that has a listener, before a
 * callback can time it. That takes TORCH_OP times our own part of an operator, as both
 * find the same caches; TORCH_INPUTS times with the inputs; and TORCH_NODE times more for
 * a node of autograd, whose name libtorch demangles. */
#define TORCH_OP     2.3
#define TORCH_INPUTS 3.5
#define TORCH_NODE   12.0
/* Records and tables of stacks displace the program's caches: its misses cost this
 * factor. */
#define HEAP_DISPLACED 1.2

static struct cycle_info *cycle_info_of(const struct trace *t)
{
	return (struct cycle_info *)t->info;
}

static uint64_t samples_of(const struct trace *t, unsigned kind)
{
	return atomic_load(&cycle_info_of(t)->cost[kind].samples);
}

static double ticks_of(const struct trace *t, unsigned kind)
{
	return (double)atomic_load(&cycle_info_of(t)->cost[kind].ticks);
}

static double mean_of(const struct trace *t, unsigned kind)
{
	uint64_t samples = samples_of(t, kind);

	return samples ? ticks_of(t, kind) / (double)samples : 0;
}

static uint64_t events_of(const struct trace *t, enum record_kind kind)
{
	return t->cycle.events[kind] + atomic_load(&cycle_info_of(t)->drops[kind]);
}

/* Ticks that the agent's own code took. */
static double own_ticks(const struct trace *t)
{
	static const enum record_kind kind_of[COST_WHOLE] = {
		[COST_OP] = REC_OP,
		[COST_NOTE] = REC_ANNOTATION,
		[COST_MEMORY] = REC_MEMORY,
		[COST_ALLOC] = REC_ALLOC,
		[COST_FREE] = REC_FREE,
		[COST_MODULE] = REC_MODULE,
		[COST_FUNCTION] = REC_FUNCTION,
		[COST_PAUSE] = REC_PYTHON,
		[COST_C_CALL] = REC_C_CALL,
	};
	double ticks = 0;

	for (unsigned i = 0; i < COST_WHOLE; i++)
		ticks += mean_of(t, i) * (double)events_of(t, kind_of[i]) *
			 (i == COST_ALLOC || i == COST_FREE ? HEAP_DISPLACED : 1);
	for (unsigned i = COST_WHOLE; i < COST_PASS; i++)
		ticks += ticks_of(t, i);
	if (t->heap && t->config->malloc != MALLOC_ALL)
		ticks += mean_of(t, COST_PASS) * (double)t->heap->all.allocs / HEAP_ONE;
	return ticks;
}

static double torch_ticks(const struct trace *t)
{
	double each = config_wants_inputs(t->config) ? TORCH_INPUTS : TORCH_OP;
	uint64_t events = events_of(t, REC_OP) + events_of(t, REC_ANNOTATION);

	return mean_of(t, COST_OP) *
	       (each * (double)events + TORCH_NODE * (double)t->cycle.backward);
}

void cost_fill(struct trace *t)
{
	double ns_each = 1e9 / clock_rate(t->view->head);
	double own =
		own_ticks(t) * ns_each + (double)atomic_load(&cycle_info_of(t)->rare_ns);
	double torch = torch_ticks(t) * ns_each;

	t->result->torch_ns = torch > 0 && torch < 1e18 ? (uint64_t)torch : 0;
	t->result->overhead_ns =
		own > 0 && own + torch < 1e18 ? (uint64_t)(own + torch) : 0;
}

/* ---- in the file ---- */

static void put_real(struct json *j, double d)
{
	uint64_t thousandths = d > 0 && d < 1e15 ? (uint64_t)(d * 1e3) : 0;

	json_need(j);
	j->at = json_put_us(j->at, thousandths);
}

/* Mean ns of a sampled kind, where there were some. */
static void put_kind(struct trace *t, enum cost_kind kind, const char *key)
{
	double ns = mean_of(t, kind) * 1e9 / clock_rate(t->view->head);

	if (!samples_of(t, kind))
		return;
	json_lit(&t->json, ", \"ns per ");
	json_raw(&t->json, key, strlen(key));
	json_lit(&t->json, "\": ");
	put_real(&t->json, ns);
}

void cost_write(struct trace *t)
{
	static const char *const key[COST_KINDS] = {
		[COST_OP] = "event",
		[COST_NOTE] = "annotation",
		[COST_MEMORY] = "memory report",
		[COST_ALLOC] = "allocation",
		[COST_FREE] = "free",
		[COST_MODULE] = "module",
		[COST_FUNCTION] = "function",
		[COST_PAUSE] = "python event",
		[COST_C_CALL] = "C call",
		[COST_SAMPLE] = "sampled block",
		[COST_CALL] = "cuda call",
		[COST_PASS] = "passed malloc and free",
	};
	struct json *j = &t->json;
	uint64_t samples = 0, steps = t->cycle.events[REC_STEP];
	double all = (double)t->result->overhead_ns;

	for (unsigned i = 0; i < COST_PASS; i++)
		samples += samples_of(t, i);
	json_text_unsigned(j, "\"cost\": {\"sampled events\": ", samples);
	for (unsigned i = 0; i < COST_KINDS; i++)
		put_kind(t, i, key[i]);
	json_lit(j, ", \"estimated overhead us\": ");
	put_real(j, all / 1e3);
	if (t->result->torch_ns) {
		json_lit(j, ", \"libtorch's part of it us\": ");
		put_real(j, (double)t->result->torch_ns / 1e3);
	}
	json_lit(j, ", \"pages, chunks and steps of it us\": ");
	put_real(j, (double)atomic_load(&cycle_info_of(t)->rare_ns) / 1e3);
	if (steps) {
		json_lit(j, ", \"estimated overhead us per step\": ");
		put_real(j, all / 1e3 / (double)steps);
	}
	json_lit(j, "}");
}
