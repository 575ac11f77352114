/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operators - a row for each operator, with torch's key_averages() definitions.
 *
 * Rows are by name, by name and input shapes, or by name and any other text;
 * "ProfilerStep#7" is "ProfilerStep*". Annotations, calls of the CUDA API and what runs
 * on a GPU have rows, too, and functions of Python where the model was read with them; so
 * have tensors that came and went in no event ("[memory]"). An annotation's row is not
 * that of an operator of the same name. Times that lie in the events inside an event are
 * in the totals and not in `self_`.
 *
 * Shapes are torch's: a list of tensors is [] in them, as no shapes at all are.
 *
 * Threads  one at a time.
 * Memory   160 bytes a row; while they are made at most 70 bytes a slice;
 *          operators_free.
 * Errors   false: not enough memory.
 * Units    nanoseconds; sums stay at their ends.
 */
#ifndef REPORT_FIGURES_OPERATORS_H
#define REPORT_FIGURES_OPERATORS_H

#include "report/figures/steps.h"

enum operators_by {
	OPERATORS_BY_NAME,
	OPERATORS_BY_SHAPE,
	OPERATORS_BY_GROUP, /* what the caller says of each slice */
};

struct operator_figures {
	uint32_t name, shapes; /* texts of the model; shapes: TEXT_NONE unless by shape */
	uint32_t group; /* a text of the model; TEXT_NONE unless by group, or in none */
	uint8_t kind; /* enum slice_kind of its first event on the first thread */
	uint64_t count;
	int64_t cpu, self_cpu; /* on the host */
	int64_t device, self_device; /* of the GPU work that it launched */
	int64_t cpu_memory, self_cpu_memory; /* bytes of tensors, signed */
	int64_t device_memory, self_device_memory;
	int64_t flops, torch_flops; /* all; those that torch.profiler has, too */
	uint32_t first; /* by the row's first event: 0 has the earliest */
	struct {
		double cpu, self_cpu, device, self_device;
	} torch; /* the four times in us, to the bit as torch adds them up */
};

struct operators {
	struct operator_figures
		*row; /* by time of their own: GPU, where there is any, or CPU */
	size_t n, room;
	int64_t self_cpu,
		self_device; /* sums over all rows, as torch's footer has them */
	bool device; /* some row has time on a device */
	bool shapes, flops; /* some slice has these */
};

/* `from` and `to` bound what counts: slices that begin in [from, to). Names of steps are
 * added to the model's texts. */
bool operators_make(struct operators *o, struct model *m, enum operators_by by,
		    int64_t from, int64_t to);
/* By name and group: `group` has a text of the model, or TEXT_NONE, for each slice. */
bool operators_make_grouped(struct operators *o, struct model *m, const uint32_t *group,
			    int64_t from, int64_t to);
void operators_free(struct operators *o);

#endif
