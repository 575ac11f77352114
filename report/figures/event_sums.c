/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the events in order with a pile of those that are open: an event is summed up
 * when the next one is not inside it. */
#include "report/figures/event_sums.h"
#include "base/array.h"
#include "report/figures/event_tree.h"
#include "report/figures/launched.h"
#include "report/figures/sum.h"

#include <stdlib.h>

struct open_event {
	uint32_t slice;
	struct moved_bytes moved;
	struct event_sums inside; /* its doubles are not used */
	struct python_sum cpu_us, device_us; /* of the events inside */
};

struct walk {
	const struct model *m;
	struct event_tree tree;
	struct launched launched;
	struct moved *moved;
	struct open_event *open;
	size_t n, room;
	event_sums_take *take;
	void *arg;
};

static struct event_sums sums_of(const struct walk *w, const struct open_event *e)
{
	const struct slice *s = &w->m->slices[e->slice];
	uint32_t launcher = w->tree.launcher[e->slice];
	double inside_us = python_sum_of(&e->device_us);
	struct event_sums sums = { .cpu = s->end - s->begin,
				   .cpu_us = event_us(w->m, s),
				   .moved = e->moved };

	sums.self_cpu = sums.cpu;
	sum_take(&sums.self_cpu, e->inside.cpu);
	sums.self_cpu_us = sums.cpu_us - python_sum_of(&e->cpu_us);
	sums.self_moved.cpu = e->moved.cpu;
	sums.self_moved.device = e->moved.device;
	sum_take(&sums.self_moved.cpu, e->inside.moved.cpu);
	sum_take(&sums.self_moved.device, e->inside.moved.device);
	if (!w->launched.ns)
		return sums;
	sums.self_device = sums.device = w->launched.ns[launcher];
	sum_add(&sums.device, e->inside.device);
	sums.device_us = w->launched.us[launcher] + inside_us;
	sums.self_device_us = sums.device_us - inside_us;
	return sums;
}

/* Ends the innermost event that is open. */
static bool end_event(struct walk *w)
{
	struct open_event *e = &w->open[--w->n];
	struct event_sums sums = sums_of(w, e);

	if (w->n) {
		struct open_event *around = &w->open[w->n - 1];

		sum_add(&around->inside.cpu, sums.cpu);
		sum_add(&around->inside.device, sums.device);
		sum_add(&around->inside.moved.cpu, sums.moved.cpu);
		sum_add(&around->inside.moved.device, sums.moved.device);
		python_sum_add(&around->cpu_us, sums.cpu_us);
		python_sum_add(&around->device_us, sums.device_us);
	}
	return w->take(w->arg, e->slice, &sums);
}

static bool walk_events(struct walk *w)
{
	for (uint32_t i = 0; i < w->m->slices_n; i++) {
		const struct slice *s = &w->m->slices[i];

		if (!w->tree.event[i])
			continue;
		while (w->n && w->open[w->n - 1].slice != w->tree.parent[i])
			if (!end_event(w))
				return false;
		if (!GROW(w->open, w->room, w->n))
			return false;
		w->open[w->n++] = (struct open_event){
			.slice = i, .moved = moved_within(w->moved, s->begin, s->end)
		};
	}
	while (w->n)
		if (!end_event(w))
			return false;
	return true;
}

bool event_sums_each(const struct model *m, struct moved *moved, event_sums_take *take,
		     void *arg)
{
	struct walk w = { .m = m, .moved = moved, .take = take, .arg = arg };
	bool fine = event_tree_make(&w.tree, m) && launched_make(&w.launched, m) &&
		    walk_events(&w);

	event_tree_free(&w.tree);
	launched_free(&w.launched);
	free(w.open);
	return fine;
}
