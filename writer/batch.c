/* SPDX-License-Identifier: Apache-2.0 */
/* This process's sealed windows: found in the spool, quiet once no thread writes into
 * them, written here or handed to the finisher; then their chunks are given back. */
#include "writer/batch.h"
#include "agent/core/gate.h"
#include "agent/core/job.h"
#include "agent/core/spool_view.h"
#include "agent/core/thread.h"
#include "base/fmt.h"
#include "base/sys.h"
#include "writer/sort.h"
#include "writer/trace.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define QUIET_TRIES 1000 /* tries of a millisecond each */
#define OLD_MOST    16 /* descriptors that are kept a little longer */
#define STUCK_MOST  64
#define HANDED_MOST 64 /* windows with the finisher at a time */
#define FORGOTTEN   10000000000ll /* ns after which the finisher must be gone */

/* Numbers of cycles in which a thread was still emitting when they were written. That
 * thread may yet store a byte, so no other gets their chunks before it has left. */
static uint64_t stuck[STUCK_MOST];
static unsigned stuck_n;

/* Retired descriptors: a thread that counts a drop may still hold one for a moment. */
static uint64_t old[OLD_MOST];
static unsigned old_at;

static _Atomic unsigned failed;
static _Atomic bool starved; /* memory is missing: the windows still wait */

/* The windows that the finisher has. */
static struct {
	uint64_t offset; /* of the descriptor's chunk */
	int64_t since; /* CLOCK_MONOTONIC ns */
} handed[HANDED_MOST];
static unsigned handed_n;
static unsigned unready; /* windows sealed, but not to be handed over yet */
static int64_t ask_ns, ask_gap; /* the next time to ask for the finisher */

static struct cycle_info *info_at(uint64_t offset)
{
	return (struct cycle_info *)(chunk_at(offset) + 1);
}

enum wait { WAITS_NOT, WAITS_FOR_GPU, WAITS };

static enum wait wait_of_cycle(uint64_t offset, bool handed_too)
{
	struct cycle_info *info = info_at(offset);
	uint32_t state = atomic_load_explicit(&info->state, memory_order_acquire);

	if (state != CYCLE_DISCARDED && state != CYCLE_SEALED &&
	    !(handed_too && state == CYCLE_QUIET))
		return WAITS_NOT;
	/* CUPTI still delivers the window's GPU work. */
	if (atomic_load_explicit(&info->cuda_state, memory_order_acquire) == CUDA_PENDING)
		return WAITS_FOR_GPU;
	return WAITS;
}

struct found {
	struct pile cycles; /* uint64_t: offsets of the descriptors of what waits */
	unsigned unready;
};

static bool is_older(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return info_at(*a)->number < info_at(*b)->number;
}

/* Finds the windows that wait, the oldest first. */
static int find_waiting(const struct spool_view *v, struct found *f, bool handed_too)
{
	const struct chunk *c;
	uint64_t at = 0;

	while ((c = spool_view_next(v, &at))) {
		uint64_t offset = (uint64_t)((const uint8_t *)c - v->base);
		enum wait wait;

		if (atomic_load_explicit(&((struct chunk *)c)->kind,
					 memory_order_acquire) != CHUNK_CYCLE)
			continue;
		wait = wait_of_cycle(offset, handed_too);
		f->unready += wait == WAITS_FOR_GPU;
		if (wait != WAITS)
			continue;
		if (pile_add(&f->cycles, &offset, sizeof(offset)))
			return -ENOMEM;
	}
	return sort_merge(f->cycles.mem, f->cycles.n, sizeof(uint64_t), is_older);
}

/* Whether no thread is in the middle of a record of the cycle any more. All cycles of
 * a batch share the tries, so a thread that hangs costs a batch one second and not
 * each window. */
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

/* Marks a chunk as taken: a record that a thread commits after this counts as late. */
static int mark_chunk_taken(uint64_t offset, void *arg)
{
	(void)arg;
	atomic_store(&chunk_at(offset)->taken, 1);
	return 0;
}

static int give_chunk_back(uint64_t offset, void *arg)
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
	if (spool_head_has(spool.head->last_file, sizeof(spool.head->last_file)))
		fmt(spool.head->last_file, sizeof(spool.head->last_file), "%s", r->path);
	atomic_fetch_add(&t->files, 1);
}

/* A descriptor waits OLD_MOST windows before its chunk is given back (see `old`). */
static void retire_cycle(const struct read_index *ix, uint64_t offset, bool quiet)
{
	uint64_t number = info_at(offset)->number, oldest = old[old_at];

	if (quiet)
		index_chunks(ix, number, give_chunk_back, NULL);
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
			index_chunks(ix, stuck[i], give_chunk_back, NULL);
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

	if (atomic_load(&info->state) != CYCLE_DISCARDED) {
		if (write_trace(v, ix, info, config, NULL, r)) {
			atomic_store(&info->state, CYCLE_BROKEN);
			atomic_fetch_add(&failed, 1);
			return;
		}
		add_totals(info, r);
	}
	/* The window is written or thrown away: nobody shall look at it again. */
	atomic_store(&info->state, CYCLE_WRITTEN);
	retire_cycle(ix, offset, quiet);
	if (done && r->path[0])
		done(r->path);
}

/* Waits until no thread adds anything to these cycles that a reader would see. */
static int quieten_cycles(const struct spool_view *v, struct read_index *ix,
			  const uint64_t *cycle, size_t n)
{
	unsigned tries = QUIET_TRIES;

	for (size_t i = 0; i < n; i++)
		wait_quiet(info_at(cycle[i])->number, &tries);
	if (index_make(ix, v))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		index_chunks(ix, info_at(cycle[i])->number, mark_chunk_taken, NULL);
	gate_barrier();
	thread_leave_nothing();
	retire_stuck(ix);
	return 0;
}

static int write_all(const struct spool_view *v, const uint64_t *cycle, size_t n,
		     const struct config *config, void (*done)(const char *path))
{
	struct writer_result *r = pile_map(sizeof(*r));
	struct read_index ix;
	int err = r ? quieten_cycles(v, &ix, cycle, n) : -ENOMEM;

	if (err)
		goto unmap;
	for (size_t i = 0; i < n; i++) {
		r->path[0] = '\0';
		finish_cycle(v, &ix, cycle[i], thread_quiet(info_at(cycle[i])->number),
			     config, r, done);
	}
	index_free(&ix);
unmap:
	pile_unmap(r, sizeof(*r));
	return err;
}

static bool look_at_spool(struct spool_view *v)
{
	return spool.head && !spool_view_init(v, spool.base, spool.now);
}

unsigned batch_write(const struct config *config, bool handed_too,
		     void (*done)(const char *path))
{
	struct found f = { 0 };
	struct spool_view v;
	unsigned n;
	int err;

	if (!look_at_spool(&v))
		return 0;
	err = find_waiting(&v, &f, handed_too);
	n = (unsigned)f.cycles.n;
	if (!err && n)
		err = write_all(&v, f.cycles.mem, n, config, done);
	pile_free(&f.cycles);
	atomic_store(&starved, err != 0);
	return err ? 0 : n;
}

bool batch_sealed(void)
{
	struct spool_view v;
	const struct chunk *c;
	uint64_t at = 0;

	while (look_at_spool(&v) && (c = spool_view_next(&v, &at))) {
		uint64_t offset = (uint64_t)((const uint8_t *)c - v.base);

		if (atomic_load(&((struct chunk *)c)->kind) == CHUNK_CYCLE &&
		    wait_of_cycle(offset, false) != WAITS_NOT)
			return true;
	}
	return false;
}

/* ---- with a finisher ---- */

/* Returns false where the window was thrown away, so that the finisher gets nothing. */
static bool hand_to_finisher(uint64_t offset, const struct read_index *ix)
{
	struct cycle_info *info = info_at(offset);
	bool thrown = atomic_load(&info->state) == CYCLE_DISCARDED;

	atomic_store(&info->state, thrown ? CYCLE_WRITTEN : CYCLE_QUIET);
	if (thrown) {
		retire_cycle(ix, offset, thread_quiet(info->number));
		return false;
	}
	handed[handed_n].offset = offset;
	handed[handed_n++].since = sys_clock_ns(CLOCK_MONOTONIC);
	return true;
}

void batch_hand_over(void)
{
	struct found f = { 0 };
	struct read_index ix;
	struct spool_view v;
	bool any = false;
	size_t n;

	if (!look_at_spool(&v))
		return;
	if (!find_waiting(&v, &f, false) && f.cycles.n) {
		n = f.cycles.n < HANDED_MOST - handed_n ? f.cycles.n
							: HANDED_MOST - handed_n;
		f.unready += (unsigned)(f.cycles.n - n);
		if (n && !quieten_cycles(&v, &ix, f.cycles.mem, n)) {
			for (size_t i = 0; i < n; i++)
				any |= hand_to_finisher(((uint64_t *)f.cycles.mem)[i],
							&ix);
			index_free(&ix);
		}
	}
	unready = f.unready;
	pile_free(&f.cycles);
	if (any)
		job_handed();
}

void batch_collect(void)
{
	struct read_index ix;
	struct spool_view v;
	bool done = false;

	for (unsigned i = 0; i < handed_n; i++)
		done |= atomic_load(&info_at(handed[i].offset)->state) != CYCLE_QUIET;
	if (!done || !look_at_spool(&v) || index_make(&ix, &v))
		return;
	for (unsigned i = 0; i < handed_n;) {
		uint64_t offset = handed[i].offset;
		uint32_t state = atomic_load(&info_at(offset)->state);

		if (state == CYCLE_QUIET) {
			i++;
			continue;
		}
		if (state == CYCLE_WRITTEN)
			retire_cycle(&ix, offset, thread_quiet(info_at(offset)->number));
		handed[i] = handed[--handed_n];
	}
	index_free(&ix);
	if (unready)
		batch_hand_over();
}

unsigned batch_pending(void)
{
	return handed_n + unready;
}

bool batch_forgotten(int64_t now)
{
	int64_t since = now;

	for (unsigned i = 0; i < handed_n; i++)
		since = handed[i].since < since ? handed[i].since : since;
	if (now - since <= FORGOTTEN)
		ask_ns = ask_gap = 0;
	if (now - since <= FORGOTTEN || now < ask_ns)
		return false;
	ask_gap = !ask_gap ? FORGOTTEN : ask_gap < 4 * FORGOTTEN ? 2 * ask_gap : ask_gap;
	ask_ns = now + ask_gap;
	return true;
}

unsigned batch_failed(void)
{
	return atomic_load(&failed) + atomic_load(&starved);
}

void batch_forget(void)
{
	memset(stuck, 0, sizeof(stuck));
	memset(old, 0, sizeof(old));
	stuck_n = old_at = handed_n = unready = 0;
	ask_ns = ask_gap = 0;
	atomic_store(&failed, 0);
	atomic_store(&starved, false);
}
