/* SPDX-License-Identifier: Apache-2.0 */
/* A wait itself costs nothing while the GPU works. What it costs is the time behind it:
 * the host had no work queued, and the GPU idles until it has launched some. */
#include "report/advice/stalls.h"
#include "base/search.h"
#include "base/text.h"
#include "report/advice/thresholds.h"

#include <stdlib.h>

/* Plain copies and sets are in the list, as the host can be blocked in them, too. */
static bool is_wait_name(const char *name)
{
	static const char *const names[] = { "cudaStreamSynchronize",
					     "cudaDeviceSynchronize",
					     "cudaEventSynchronize",
					     "cudaMemcpy",
					     "cudaMemcpy2D",
					     "cudaMemset",
					     "cuStreamSynchronize",
					     "cuCtxSynchronize",
					     "cuEventSynchronize",
					     "hipStreamSynchronize",
					     "hipDeviceSynchronize",
					     "hipEventSynchronize",
					     "hipMemcpy",
					     "hipMemcpyWithStream",
					     NULL };

	return text_is_in(name, names);
}

/* A copy to pageable memory waits, whatever its name says. */
static void mark_copies(const struct facts *f, unsigned char *waits)
{
	for (size_t i = 0; i < f->work_n; i++) {
		const struct slice *s = &f->m->slices[f->work[i].slice];
		const char *name = slice_name(f->m, f->work[i].slice);

		if (s->sort == SORT_COPY && f->work[i].call != NO_ROW &&
		    text_has(name, "DtoH") && text_has(name, "Pageable"))
			waits[f->work[i].call] = 1;
	}
}

/* Short waits cost nothing to speak of, unless the step itself is short. */
static bool is_long(const struct facts *f, const struct slice *s, long step)
{
	int64_t time = s->end - s->begin;

	return time > WAIT_US * INT64_C(1000) ||
	       (double)time > (double)facts_length(f, (size_t)step) * WAIT_PERCENT / 100;
}

/* Waits of other threads do not stop the one that launches, and are left out. */
static bool take_waits(struct facts *f, const unsigned char *copies)
{
	for (uint32_t i = 0; i < f->m->slices_n; i++) {
		const struct slice *s = &f->m->slices[i];
		long step;

		if (s->kind != SLICE_CALL || s->thread != f->host ||
		    (!copies[i] && !is_wait_name(slice_name(f->m, i))))
			continue;
		step = facts_step(f, s->begin);
		if (step < 0 || !is_long(f, s, step))
			continue;
		if (!GROW(f->waits, f->waits_room, f->waits_n))
			return false;
		f->waits[f->waits_n++] = i;
		f->time[step]++;
	}
	return true;
}

struct span stalls_idle(const struct facts *f, uint32_t wait)
{
	const struct slice *s = &f->m->slices[wait];
	long step = facts_step(f, s->begin);
	size_t next = SEARCH_FIRST(i, 0, f->busy.n, f->busy.row[i].end > s->end);
	int64_t begin = next ? f->busy.row[next - 1].end : s->begin, end;

	/* Busy when the call returns: the host was not late. */
	if (step < 0 || (next < f->busy.n && f->busy.row[next].begin <= s->end))
		return (struct span){ s->end, s->end };
	end = next < f->busy.n ? f->busy.row[next].begin : f->to;
	begin = begin > s->begin ? begin : s->begin;
	return (struct span){ begin, end < f->step[step].end ? end : f->step[step].end };
}

bool stalls_make(struct facts *f)
{
	unsigned char *copies = calloc(f->m->slices_n + 1, 1);
	size_t kept = 0;
	bool fine = copies;

	memset(f->time, 0, (f->n + 1) * sizeof(*f->time));
	if (fine && f->host != NO_ROW) {
		mark_copies(f, copies);
		fine = take_waits(f, copies);
	}
	for (size_t i = 0; fine && i < f->waits_n; i++)
		if (f->time[facts_step(f, f->m->slices[f->waits[i]].begin)] >= WAIT_COUNT)
			f->waits[kept++] = f->waits[i];
	f->waits_n = kept;
	free(copies);
	return fine;
}

void stalls_blocked(struct facts *f)
{
	memset(f->time, 0, f->n * sizeof(*f->time));
	for (size_t i = 0; i < f->waits_n; i++) {
		const struct slice *s = &f->m->slices[f->waits[i]];
		struct span idle = stalls_idle(f, f->waits[i]);
		long step = facts_step(f, s->begin);

		if (step >= 0 && idle.begin < idle.end)
			facts_add(&f->time[step], s->end - s->begin);
	}
}
