/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves the first step out: it warms up caches, allocators and libraries. */
#include "report/advice/evidence.h"
#include "base/order.h"

#include <stdlib.h>

static int by_size(const void *left, const void *right)
{
	return order_of(*(const int64_t *)left, *(const int64_t *)right);
}

int64_t evidence_median(int64_t *of, size_t n)
{
	if (!n)
		return 0;
	qsort(of, n, sizeof(*of), by_size);
	return of[(n - 1) / 2] + (of[n / 2] - of[(n - 1) / 2]) / 2;
}

bool evidence_make(struct evidence *e, const struct model *m, const struct steps *steps,
		   const struct devices *devices, const struct operators *operators,
		   const struct kernels *kernels)
{
	size_t first = !steps->before && steps->n > 1;
	int64_t *lengths;

	*e = (struct evidence){ .m = m,
				.steps = steps,
				.devices = devices,
				.operators = operators,
				.kernels = kernels,
				.first = first,
				.judged = steps->n - first };
	lengths = malloc((e->judged + 1) * sizeof(*lengths));
	if (!lengths)
		return false;
	for (size_t i = 0; i < e->judged; i++)
		lengths[i] = steps->row[first + i].end - steps->row[first + i].begin;
	e->step = evidence_median(lengths, e->judged);
	free(lengths);
	if (e->step <= 0)
		e->judged = 0;
	return true;
}
