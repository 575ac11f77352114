/* SPDX-License-Identifier: Apache-2.0 */
/* Do tensors take more memory with each step? */
#include "report/advice/rules.h"
#include "report/advice/thresholds.h"
#include "report/out.h"

#include <stdlib.h>

/* Where a step ends for the host, which makes and frees tensors: the GPU may end it much
 * later, when the host is in another step already. Rows follow each other as the model's
 * steps do; `at` moves on with them. */
static int64_t host_end(const struct model *m, const struct step_figures *step,
			size_t *at)
{
	while (*at < m->steps_n && m->steps[*at].number != step->number)
		++*at;
	if (*at < m->steps_n && m->steps[*at].end < step->end)
		return m->steps[*at].end;
	return step->end;
}

/* What a device has allocated at the end of each step; -1 = not said yet. */
static void levels_of(const struct facts *f, unsigned device, const struct steps *steps,
		      int64_t *level)
{
	const struct model *m = f->m;
	int64_t now = -1;
	size_t at = 0, step = 0;

	for (size_t i = 0; i < steps->n; i++) {
		int64_t end = host_end(m, &steps->row[i], &step);

		for (; at < m->memory_n && m->memory[at].ts < end; at++)
			if (m->memory[at].device == device && !m->memory[at].oom)
				now = m->memory[at].allocated;
		level[i] = now;
	}
}

/* Does each step end with more than the one before? Two rises may be chance. */
static bool rises_always(const int64_t *level, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (level[i - 1] < 0 || level[i] <= level[i - 1])
			return false;
	return n > GROWTH_RISES &&
	       (level[n - 1] - level[0]) / (int64_t)(n - 1) >= GROWTH_KIB * INT64_C(1024);
}

/* No gain in time is claimed: the harm is a program that runs out of memory. */
static void say_growth(const struct facts *f, struct advice *a, unsigned device,
		       int64_t by, size_t steps)
{
	char name[32];

	model_device(f->m, device, name, sizeof(name));
	ADVICE_SAY(a->title, "Tensors take more memory with each step");
	ADVICE_SAY(a->seen, "%s: %s a step, in each of %zu steps", name, out_bytes(by),
		   steps);
	ADVICE_SAY(a->why,
		   "Something keeps tensors of each step: a list, a graph of "
		   "autograd (a loss that is added up), a cache that still fills.");
	ADVICE_SAY(a->act, "\"proflaunch memory --leaks\" says who holds them; "
			   "detach() or item() what is only counted");
}

bool growth_look(struct facts *f, struct advice *a)
{
	const struct steps *steps = f->e->steps;
	int64_t *level = calloc(steps->n + 1, sizeof(*level));

	for (unsigned d = 0; level && d < f->m->devices_n && !*a->title; d++) {
		levels_of(f, d, steps, level);
		if (rises_always(level, steps->n))
			say_growth(f, a, d,
				   (level[steps->n - 1] - level[0]) /
					   (int64_t)(steps->n - 1),
				   steps->n - 1);
	}
	if (!level)
		return false;
	free(level);
	return true;
}
