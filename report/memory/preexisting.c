/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks from before the window: parameters, optimizer states, inputs, by their use. */
#include "report/memory/category.h"

#include <string.h>

/* ---- memory that is older than the window and stays ---- */

/* How many tensors of a parameter's size an optimizer keeps for it. */
static int64_t state_factor(const struct model *m)
{
	static const struct {
		const char *name;
		int factor;
	} known[] = {
		{ "Adam", 2 },       { "NAdam", 2 },    { "RAdam", 2 },
		{ "SparseAdam", 2 }, { "Adagrad", 1 },  { "RMSprop", 1 },
		{ "Rprop", 2 },      { "Adadelta", 2 }, { "Lion", 1 },
	};
	const char *name;

	for (uint32_t i = 0; i < m->slices_n; i++) {
		name = slice_name(m, i);
		if (m->slices[i].kind != SLICE_NOTE ||
		    !text_starts_with(name, "Optimizer.step#"))
			continue;
		name += strlen("Optimizer.step#");
		for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++)
			if (text_starts_with(name, known[k].name))
				return known[k].factor;
		return 0;
	}
	return 0;
}

/* SGD has state only with momentum, which shows as a multiplication in place. */
static bool has_momentum(const struct model *m)
{
	uint32_t in;

	for (uint32_t i = 0; i < m->slices_n; i++) {
		const char *name = slice_name(m, i);

		if (strcmp(name, "aten::_foreach_mul_") && strcmp(name, "aten::mul_"))
			continue;
		in = blocks_within(m, i, "Optimizer.step#SGD");
		if (in != NO_ROW)
			return true;
	}
	return false;
}

/* ---- datasets ---- */

#define DATASETS 64

static bool picks_items(const char *name)
{
	return !strcmp(name, "aten::select") || !strcmp(name, "aten::index") ||
	       !strcmp(name, "aten::index_select") || !strcmp(name, "aten::slice");
}

/* Did a DataLoader allocate a block of that size itself? Then it is a batch, no data
 * set. */
static bool is_batch(const struct blocks *b, int64_t bytes)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->rows[i].bytes == bytes && b->rows[i].from != NO_ROW &&
		    blocks_within(b->model, b->model->memory[b->rows[i].from].slice,
				  "enumerate(Data") != NO_ROW)
			return true;
	return false;
}

/* Adds up each size that items are picked from in a DataLoader of this process, once. */
static int64_t sum_dataset_bytes(const struct blocks *b)
{
	const struct model *m = b->model;
	int64_t seen[DATASETS], sum = 0;
	unsigned n = 0, i;

	for (uint32_t at = 0; at < m->slices_n && n < DATASETS; at++) {
		const struct slice *s = &m->slices[at];

		if (s->kind != SLICE_OP || s->input_bytes <= 0 ||
		    s->input_bytes > INT64_C(1) << 45 ||
		    !picks_items(slice_name(m, at)) ||
		    blocks_within(m, at, "enumerate(Data") == NO_ROW)
			continue;
		for (i = 0; i < n && seen[i] != s->input_bytes; i++)
			;
		if (i < n)
			continue;
		seen[n++] = s->input_bytes;
		sum += is_batch(b, s->input_bytes) ? 0 : s->input_bytes;
	}
	return sum;
}

/* Divides the totals at a device's first event: parameters, then the optimizer's states
 * for them, then data sets on the CPU; the rest is unknown. Parameters are on the device
 * that has most gradients. */
void preexisting_set(const struct blocks *b, uint32_t device, int64_t to[CATEGORIES])
{
	const struct model *m = b->model;
	int64_t freed = 0, rest = 0, state = 0, grads[MODEL_DEVICES] = { 0 };
	uint32_t main_device = 0, first = NO_ROW;

	memset(to, 0, CATEGORIES * sizeof(*to));
	for (size_t i = 0; i < b->n; i++) {
		const struct block *row = &b->rows[i];

		if (row->category == CATEGORY_GRADIENT)
			grads[row->device] += row->bytes;
		if (row->device != device)
			continue;
		freed += row->begin == BLOCK_BEFORE ? row->bytes : 0;
		state += row->category == CATEGORY_OPTIMIZER ? row->bytes : 0;
	}
	for (uint32_t i = 1; i < m->devices_n; i++)
		if (grads[i] > grads[main_device])
			main_device = i;
	for (uint32_t i = 0; i < m->memory_n && first == NO_ROW; i++)
		if (m->memory[i].device == device && !m->memory[i].oom)
			first = i;
	if (main_device == device) {
		to[CATEGORY_PARAMETER] = b->parameters;
		state = b->parameters * (has_momentum(m) ? 1 : state_factor(m)) - state;
		to[CATEGORY_OPTIMIZER] = state > 0 ? state : 0;
	}
	if (!m->devices[device].type)
		to[CATEGORY_INPUT] = sum_dataset_bytes(b);
	if (first != NO_ROW && m->memory[first].allocated)
		rest = m->memory[first].allocated - m->memory[first].bytes - freed -
		       to[CATEGORY_PARAMETER] - to[CATEGORY_OPTIMIZER] -
		       to[CATEGORY_INPUT];
	to[CATEGORY_UNKNOWN] = rest > 0 ? rest : 0;
}
