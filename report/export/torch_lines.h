/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_lines - a line for each event with a stack, as torch.profiler's export_stacks
 * writes it.
 *
 * Threads  one at a time.
 * Memory   24 bytes a line, and what origin and self_time take, until it returns.
 * Errors   false: not enough memory. `out` has its own.
 * Units    whole microseconds; what is less than one has no line.
 */
#ifndef REPORT_EXPORT_TORCH_LINES_H
#define REPORT_EXPORT_TORCH_LINES_H

#include "report/export/fold.h"
#include "report/model.h"

#include <stdio.h>

/* `device`: the time of what the operator itself launched, in place of its own. *stacks:
 * some event has one, *lines: some has a line. The fold only keeps the frames. */
bool torch_lines_write(const struct model *m, struct fold *f, bool device, bool *stacks,
		       bool *lines, FILE *out);

#endif
