/* SPDX-License-Identifier: Apache-2.0 */
/* Where a decoded record goes: into its window, or into a count of what is wrong. */
#include "agent/cupti/flow/place.h"

#include <string.h>

uint64_t place_latest;

/* What is wrong with the record's times, or CUDA_COUNTS. */
static enum cuda_count time_fault(const struct window *w, const struct record *r)
{
	if (r->kind == REC_EVENT)
		return CUDA_COUNTS;
	if (!r->begin || !r->end)
		return CUDA_ZERO;
	if (r->end < r->begin)
		return CUDA_REVERSED;
	if (r->begin + PLACE_OUTSIDE_NS < w->begin || r->end > place_latest)
		return CUDA_OUTSIDE;
	return CUDA_COUNTS;
}

void place_record(struct window *w, const struct made *m)
{
	const struct record *r = &m->u.r;
	enum cuda_count wrong;
	struct record *to;

	if (!w->info) {
		windows_late(w);
		return;
	}
	w->news_at = windows_now;
	wrong = time_fault(w, r);
	if (wrong != CUDA_COUNTS) {
		gpu_chunk_count(&w->side, wrong, 1);
		return;
	}
	to = side_reserve(&w->side, (enum record_kind)r->kind, m->size);
	if (!to)
		return;
	memcpy(to, r, m->size);
	side_commit(&w->side, to, (enum record_kind)r->kind, r->flags, m->size);
}
