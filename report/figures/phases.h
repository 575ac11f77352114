/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases - which part of a training step each slice belongs to.
 *
 * Waiting for data, the optimizer and the backward pass are known by their annotations
 * and by autograd's nodes, also for all that is inside; the forward pass by its modules,
 * by annotations that name it, and by the numbers that autograd gives its operators. Work
 * on a device is in none by itself: who launched it says.
 *
 * Threads  one at a time.
 * Memory   one byte a slice; free.
 * Errors   NULL: not enough memory.
 * Units    none.
 */
#ifndef REPORT_FIGURES_PHASES_H
#define REPORT_FIGURES_PHASES_H

#include "report/model.h"

enum phase {
	PHASE_OTHER,
	PHASE_DATA,
	PHASE_FORWARD,
	PHASE_BACKWARD,
	PHASE_OPTIMIZER,
	PHASES
};
extern const char *const phase_names[PHASES];

/* By slice: an enum phase. */
uint8_t *phases_make(const struct model *m);

#endif
