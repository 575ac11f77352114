/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/batch.h"
#include "agent/core/fmt.h"
#include "agent/core/gate.h"
#include "agent/core/thread.h"
#include "writer/trace.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define QUIET_TRIES 1000 /* of a millisecond */
#define OLD_MOST    16 /* descriptors that are kept a little longer */
#define STUCK_MOST  64

/* Chunks of cycles in which a thread was still emitting when they were written:
 * it may yet store a byte, so nobody else gets them before it has left. */
static uint64_t stuck[STUCK_MOST];
static unsigned stuck_n;

/* A thread that counts a drop may hold on to a descriptor for a moment. */
static uint64_t old[OLD_MOST];
static unsigned old_at;

static _Atomic unsigned failed;

static struct cycle_info *info_at(uint64_t offset)
{
	return (struct cycle_info *)(chunk_at(offset) + 1);
}

static bool waiting(uint64_t offset)
{
	struct cycle_info *info = info_at(offset);
	uint32_t state = atomic_load_explicit(&info->state, memory_order_acquire);

	/* Its GPU work is still coming in. */
	if (atomic_load_explicit(&info->cuda_state, memory_order_acquire) == CUDA_PENDING)
		return false;
	return state == CYCLE_DISCARDED ||
	       (state == CYCLE_SEALED && !(info->flags & CYCLE_FAILED));
}

/* Offsets of the descriptors of cycles that wait for us. */
static int find(const struct spool_view *v, struct pile *cycles)
{
	const struct chunk *c;
	uint64_t at = 0;

	while ((c = spool_view_next(v, &at))) {
		uint64_t offset = (uint64_t)((const uint8_t *)c - v->base), *place;

		if (atomic_load_explicit(&((struct chunk *)c)->kind,
					 memory_order_acquire) != CHUNK_CYCLE ||
		    !waiting(offset))
			continue;
		place = pile_push(cycles, sizeof(*place));
		if (!place)
			return -ENOMEM;
		*place = offset;
	}
	return 0;
}

/* Nearly in order already: descriptors are taken one after the other. */
static void oldest_first(uint64_t *offset, size_t n)
{
	for (size_t gap = n / 2; gap; gap = gap == 2 ? 1 : gap * 5 / 11) {
		for (size_t i = gap; i < n; i++) {
			uint64_t moved = offset[i];
			size_t at = i;

			for (; at >= gap &&
			       info_at(offset[at - gap])->number > info_at(moved)->number;
			     at -= gap)
				offset[at] = offset[at - gap];
			offset[at] = moved;
		}
	}
}

static bool wait_quiet(uint64_t cycle, unsigned *tries)
{
	gate_barrier();
	while (!thread_quiet(cycle)) {
		if (!*tries)
			return false;
		--*tries;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return true;
}

static int take(uint64_t offset, void *arg)
{
	(void)arg;
	atomic_store(&chunk_at(offset)->taken, 1);
	return 0;
}

static int give(uint64_t offset, void *arg)
{
	(void)arg;
	if (atomic_load(&chunk_at(offset)->kind) == CHUNK_DATA ||
	    atomic_load(&chunk_at(offset)->kind) == CHUNK_CUDA)
		chunk_give(offset);
	return 0;
}

/* ---- after a cycle ---- */

static void add_totals(const struct cycle_info *info, const struct writer_result *r)
{
	struct spool_totals *t = &spool.head->totals;
	uint64_t late = 0;

	for (unsigned i = 0; i < REC_KINDS; i++) {
		uint64_t drops = atomic_load(&((struct cycle_info *)info)->drops[i]);

		atomic_fetch_add(&t->events[i], r->events[i]);
		atomic_fetch_add(&t->drops[i], r->drops[i]);
		late += r->drops[i] > drops ? r->drops[i] - drops : 0;
	}
	for (unsigned i = 0; i < DROP_WHYS; i++)
		atomic_fetch_add(&t->whys[i],
				 atomic_load(&((struct cycle_info *)info)->whys[i]) +
					 (i == DROP_LATE ? late : 0));
	for (unsigned i = 0; i < CUDA_COUNTS; i++)
		atomic_fetch_add(&t->cuda[i], r->cuda[i]);
	for (unsigned i = 0; i < HEAP_COUNTS; i++)
		atomic_fetch_add(&t->heap[i], r->heap[i]);
	atomic_fetch_add(&t->cost_ns, r->overhead_ns);
	atomic_fetch_add(&t->steps, r->steps);
	if (!r->path[0])
		return;
	atomic_fetch_add(&t->bytes, r->bytes);
	fmt(t->last_file, sizeof(t->last_file), "%s", r->path);
	atomic_fetch_add(&t->files, 1);
}

static void retire(const struct read_index *ix, uint64_t offset, bool quiet)
{
	uint64_t number = info_at(offset)->number, oldest = old[old_at];

	if (quiet)
		read_chunks(ix, number, give, NULL);
	else if (stuck_n < STUCK_MOST)
		stuck[stuck_n++] = number;
	old[old_at] = offset;
	old_at = (old_at + 1) % OLD_MOST;
	if (oldest)
		chunk_give(oldest);
}

static void retire_stuck(const struct read_index *ix)
{
	for (unsigned i = 0; i < stuck_n;) {
		if (thread_quiet(stuck[i])) {
			read_chunks(ix, stuck[i], give, NULL);
			stuck[i] = stuck[--stuck_n];
		} else {
			i++;
		}
	}
}

/* ---- the batch ---- */

static void finish_cycle(const struct spool_view *v, const struct read_index *ix,
			 uint64_t offset, bool quiet, const struct config *config,
			 struct writer_result *r, void (*done)(const char *path))
{
	struct cycle_info *info = info_at(offset);

	if (atomic_load(&info->state) == CYCLE_SEALED) {
		if (trace_write(v, ix, info, config, r)) {
			info->flags |= CYCLE_FAILED;
			atomic_fetch_add(&failed, 1);
			return;
		}
		add_totals(info, r);
	}
	/* Written, or thrown away: in both cases nobody shall look at it again. */
	atomic_store(&info->state, CYCLE_WRITTEN);
	retire(ix, offset, quiet);
	if (r->path[0])
		done(r->path);
}

static void write_all(const struct spool_view *v, const uint64_t *cycle, size_t n,
		      const struct config *config, void (*done)(const char *path))
{
	struct writer_result *r = pile_map(sizeof(*r));
	struct read_index ix;
	unsigned tries = QUIET_TRIES;

	for (size_t i = 0; i < n; i++)
		wait_quiet(info_at(cycle[i])->number, &tries);
	if (!r || read_index(&ix, v))
		goto unmap;
	for (size_t i = 0; i < n; i++)
		read_chunks(&ix, info_at(cycle[i])->number, take, NULL);
	gate_barrier();
	thread_leave_nothing();
	retire_stuck(&ix);
	for (size_t i = 0; i < n; i++) {
		r->path[0] = '\0';
		finish_cycle(v, &ix, cycle[i], thread_quiet(info_at(cycle[i])->number),
			     config, r, done);
	}
	read_index_free(&ix);
unmap:
	pile_unmap(r, sizeof(*r));
}

unsigned batch_write(const struct config *config, void (*done)(const char *path))
{
	struct pile cycles = { 0 };
	struct spool_view v;
	size_t n;

	if (!spool.head || spool_view_init(&v, spool.base, spool.head->cap))
		return 0;
	if (!find(&v, &cycles) && cycles.n) {
		oldest_first(cycles.mem, cycles.n);
		write_all(&v, cycles.mem, cycles.n, config, done);
	}
	n = cycles.n;
	pile_free(&cycles);
	return (unsigned)n;
}

unsigned batch_failed(void)
{
	return atomic_load(&failed);
}

void batch_forget(void)
{
	memset(stuck, 0, sizeof(stuck));
	memset(old, 0, sizeof(old));
	stuck_n = old_at = 0;
	atomic_store(&failed, 0);
}
