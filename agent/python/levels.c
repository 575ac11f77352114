/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread is in is compared with the frames that it has: events come for each call,
 * but not for the return of one that began before they were asked for. */
#include "agent/python/levels.h"
#include "agent/core/clock.h"

void levels_end(struct levels *k, unsigned n, uint64_t now)
{
	for (; k->n > n; k->n--)
		function_gone(level_record(&k->level[k->n - 1]), now);
}

/* C lies between the two, or what was called has returned unseen. */
void levels_find_caller(struct levels *k, const void *frame)
{
	const struct python_layout *l = interpreter.layout;

	for (unsigned i = 0; frame && i < WALK_STEPS;
	     i++, frame = layout_at(frame, l->caller)) {
		if (walk_is_helper(l, frame))
			continue;
		for (unsigned n = k->n; n; n--)
			if (level_is(&k->level[n - 1], l, frame)) {
				levels_end(k, n, clock_ticks());
				return;
			}
	}
	levels_end(k, 0, clock_ticks());
}

/* An end that has no begin, or lies below others: those have returned unseen. */
void levels_end_below(struct levels *k, const void *frame, uint64_t now)
{
	unsigned lowest =
		k->beyond ? k->n : 1; /* not all of them for each that is too deep */

	for (unsigned n = k->n; n >= lowest && n; n--)
		if (k->level[n - 1].frame == frame) {
			struct record *r = level_record(&k->level[n - 1]);

			levels_end(k, n, now);
			k->n = n - 1;
			k->beyond = 0;
			if (r)
				r->end = now;
			return;
		}
	if (k->beyond)
		k->beyond--;
}
