/* SPDX-License-Identifier: Apache-2.0 */
/* A slice has the phase that it names itself, else that of what it lies in. */
#include "report/figures/phases.h"
#include "report/figures/module_tree.h"

#include <stdlib.h>

const char *const phase_names[PHASES] = { [PHASE_OTHER] = "other",
					  [PHASE_DATA] = "data",
					  [PHASE_FORWARD] = "forward",
					  [PHASE_BACKWARD] = "backward",
					  [PHASE_OPTIMIZER] = "optimizer" };

/* What a slice says whatever it lies in. */
static enum phase sure_phase(const struct model *m, uint32_t slice)
{
	const struct slice *s = &m->slices[slice];
	const char *name = slice_name(m, slice);

	if (s->kind == SLICE_OP && (s->backward || text_starts_with(name, "autograd::")))
		return PHASE_BACKWARD;
	if (s->kind != SLICE_NOTE && s->kind != SLICE_OP)
		return PHASE_OTHER;
	if (text_starts_with(name, "enumerate(Data"))
		return PHASE_DATA;
	if (text_starts_with(name, "Optimizer."))
		return PHASE_OPTIMIZER;
	return PHASE_OTHER;
}

/* What the program calls a part of its step. */
static enum phase named_phase(const char *name)
{
	static const struct {
		const char *words[3];
		enum phase phase;
	} names[] = {
		{ { "forward", "Forward", "FORWARD" }, PHASE_FORWARD },
		{ { "backward", "Backward", "BACKWARD" }, PHASE_BACKWARD },
		{ { "optimizer", "Optimizer", "OPTIMIZER" }, PHASE_OPTIMIZER },
		{ { "dataload", "DataLoad", "data_load" }, PHASE_DATA },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		for (size_t k = 0; k < 3; k++)
			if (text_has(name, names[i].words[k]))
				return names[i].phase;
	return PHASE_OTHER;
}

/* Backward passes and optimizers are sure, whatever the program calls the part around
 * them; else what is around has been named before, and decides. */
static enum phase phase_of(const struct model *m, uint32_t slice, enum phase around)
{
	const struct slice *s = &m->slices[slice];
	enum phase sure = sure_phase(m, slice);

	if (sure != PHASE_OTHER)
		return sure;
	if (around != PHASE_OTHER)
		return around;
	if (module_tree_is_module(m, slice) || (s->kind == SLICE_OP && s->seq >= 0))
		return PHASE_FORWARD;
	if (s->kind == SLICE_NOTE)
		return named_phase(slice_name(m, slice));
	return PHASE_OTHER;
}

uint8_t *phases_make(const struct model *m)
{
	uint8_t *phase = calloc(m->slices_n + 1, sizeof(*phase));

	for (uint32_t i = 0; phase && i < m->slices_n; i++) {
		uint32_t parent = m->slices[i].parent;

		phase[i] = (uint8_t)phase_of(
			m, i, parent == NO_ROW ? PHASE_OTHER : (enum phase)phase[parent]);
	}
	return phase;
}
