/* SPDX-License-Identifier: Apache-2.0 */
/* Halves a difference in place of a sum: times of a hostile file are of any size. */
#include "report/figures/median.h"
#include "base/order.h"

#include <stdlib.h>

static int by_size(const void *left, const void *right)
{
	return order_of(*(const int64_t *)left, *(const int64_t *)right);
}

int64_t median_of(int64_t *numbers, size_t n)
{
	if (!n)
		return 0;
	qsort(numbers, n, sizeof(*numbers), by_size);
	return numbers[(n - 1) / 2] + (numbers[n / 2] - numbers[(n - 1) / 2]) / 2;
}

double median_of_sorted(const double *sorted, size_t n)
{
	if (!n)
		return 0;
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}
