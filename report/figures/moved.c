/* SPDX-License-Identifier: Apache-2.0 */
/* Sums up to each memory event: an interval's bytes are a difference of two. The model
 * leaves out events with which a sum would overflow. */
#include "report/figures/moved.h"
#include "base/search.h"

#include <stdlib.h>

/* Numbers of c10::DeviceType: the CPU, MKLDNN and IDEEP; CUDA, HIP, XPU and PrivateUse1.
 * torch counts no others. */
#define ON_CPU    (1u << 0 | 1u << 2 | 1u << 5)
#define ON_DEVICE (1u << 1 | 1u << 6 | 1u << 12 | 1u << 20)

struct moved_bytes moved_by(const struct model *m, const struct memory_event *e)
{
	int64_t type = m->devices[e->device].type;
	unsigned bit = type >= 0 && type < 32 ? 1u << type : 0;

	return (struct moved_bytes){ bit & ON_CPU ? e->bytes : 0,
				     bit & ON_DEVICE ? e->bytes : 0 };
}

bool moved_make(struct moved *d, const struct model *m)
{
	*d = (struct moved){ m, calloc(m->memory_n + 1, sizeof(*d->before)),
			     calloc(m->memory_n + 1, sizeof(*d->covering)), 0 };
	if (!d->before || !d->covering) {
		moved_free(d);
		return false;
	}
	for (size_t i = 0; i < m->memory_n; i++) {
		const struct memory_event *e = &m->memory[i];
		struct moved_bytes by = moved_by(m, e);

		if (e->oom)
			by = (struct moved_bytes){ 0, 0 };
		d->before[i + 1].cpu = d->before[i].cpu + by.cpu;
		d->before[i + 1].device = d->before[i].device + by.device;
	}
	return true;
}

/* The first event from `from` on that is not before `ts`: near, as a rule, so steps
 * double. */
static size_t next_event(const struct moved *d, size_t from, int64_t ts)
{
	const struct memory_event *e = d->m->memory;
	size_t n = d->m->memory_n, step = 1;

	while (step < n - from && e[from + step].ts < ts)
		step *= 2;
	return SEARCH_FIRST(i, from + step / 2, step < n - from ? from + step : n,
			    e[i].ts >= ts);
}

struct moved_bytes moved_within(struct moved *d, int64_t begin, int64_t end)
{
	size_t last;

	if (!d->m->memory_n)
		return (struct moved_bytes){ 0, 0 };
	if (d->at && d->m->memory[d->at - 1].ts >= begin)
		d->at = 0;
	d->at = next_event(d, d->at, begin);
	last = end < INT64_MAX ? next_event(d, d->at, end + 1) : d->m->memory_n;
	d->covering[d->at]++;
	d->covering[last]--;
	return (struct moved_bytes){ d->before[last].cpu - d->before[d->at].cpu,
				     d->before[last].device - d->before[d->at].device };
}

bool moved_apart(const struct moved *d,
		 bool (*take)(void *arg, const struct memory_event *e), void *arg)
{
	int64_t covering = 0;

	for (size_t i = 0; i < d->m->memory_n; i++) {
		covering += d->covering[i];
		if ((!covering || d->m->memory[i].oom) && !take(arg, &d->m->memory[i]))
			return false;
	}
	return true;
}

void moved_free(struct moved *d)
{
	free(d->before);
	free(d->covering);
	*d = (struct moved){ 0 };
}
