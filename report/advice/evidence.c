/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves the first step out: it warms up caches, allocators and libraries. */
#include "report/advice/evidence.h"
#include "report/figures/median.h"

#include <stdlib.h>

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
	e->step = median_of(lengths, e->judged);
	free(lengths);
	if (e->step <= 0)
		e->judged = 0;
	return true;
}
