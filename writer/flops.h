/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flops - floating-point operations of an operator, by the shapes of its inputs.
 *
 * torch.profiler has formulas for seven operators (torch/csrc/profiler/util.cpp); those
 * of others are torch.utils.flop_counter's. A multiplication and an addition are two.
 *
 * Threads  any.
 * Memory   none; the description may be damaged or hostile.
 * Errors   FLOPS_UNKNOWN: an input is missing or makes no sense, the product has more
 *          than 63 bits, or the shapes do not tell.
 * Units    floating-point operations.
 */
#ifndef WRITER_FLOPS_H
#define WRITER_FLOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLOPS_UNKNOWN (-1)

struct flops_row {
	char name[64]; /* with ".overload" where the formula is of that one alone */
	uint8_t way;
	bool ours; /* torch.profiler has no formula for it */
	uint8_t at[6]; /* which arguments the formula needs */
};

/* The row of an operator; NULL: nobody has a formula for it. */
const struct flops_row *flops_find(const char *name, size_t len, const char *overload,
				   size_t overload_len);
/* By an input description (record_inputs.h). */
int64_t flops_of(const struct flops_row *row, const uint8_t *inputs, size_t len);
/* Is it a product or a convolution, not one operation for each element? */
bool flops_is_product(const struct flops_row *row);

#endif
