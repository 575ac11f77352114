/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts two sets of times, and what is in both, by the steps. */
#include "report/figures/overlap.h"

#include <stdlib.h>

/* A time that crosses the end of a step is in both, with its part. */
static void cut_steps(struct overlap *o, const struct steps *s, const struct spans *both)
{
	for (size_t i = 0; i < s->n; i++) {
		int64_t begin = s->row[i].begin, end = s->row[i].end;

		o->step[i] = (struct overlap_step){
			spans_within(&o->computation, begin, end),
			spans_within(&o->communication, begin, end),
			spans_within(both, begin, end),
		};
	}
}

/* Kernels decide: with one of them the host only launches, and does not compute. */
bool overlap_make(struct overlap *o, const struct model *m, const struct steps *s)
{
	struct spans both = { 0 };
	bool fine;

	*o = (struct overlap){ .step = calloc(s->n + 1, sizeof(*o->step)) };
	fine = o->step && steps_spans(m, SHARE_KERNEL, &o->computation) &&
	       steps_spans(m, SHARE_COMMUNICATION, &o->communication);
	o->kernels = o->computation.n > 0;
	fine = fine && (o->kernels || steps_spans(m, SHARE_CPU, &o->computation)) &&
	       spans_common(&both, &o->computation, &o->communication);
	if (fine)
		cut_steps(o, s, &both);
	else
		overlap_free(o);
	spans_free(&both);
	return fine;
}

void overlap_free(struct overlap *o)
{
	free(o->step);
	spans_free(&o->computation);
	spans_free(&o->communication);
	*o = (struct overlap){ 0 };
}
