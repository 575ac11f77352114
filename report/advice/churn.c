/* SPDX-License-Identifier: Apache-2.0 */
/* Is memory fetched from the system in each step, and given back? */
#include "report/advice/churn.h"
#include "base/order.h"
#include "base/search.h"
#include "base/text.h"
#include "report/advice/blame.h"
#include "report/advice/phrase.h"
#include "report/advice/quiet.h"
#include "report/advice/rules.h"
#include "report/advice/thresholds.h"
#include "report/advice/verdict.h"
#include "report/figures/median.h"
#include "report/out.h"

#include <stdlib.h>

#define MIB (INT64_C(1) << 20)

/* ---- a GPU's, by calls ---- */

/* The calls of CUDA's runtime and driver and those of HIP count alike. */
static bool is_driver_memory(const char *name)
{
	static const char *const names[] = { "cudaMalloc", "cudaFree",  "cuMemAlloc",
					     "cuMemFree",  "hipMalloc", "hipFree",
					     NULL };

	return text_is_in(name, names);
}

/* The first judged step that is steady. */
static size_t steady_from(const struct facts *f)
{
	size_t before = facts_before(f);

	return before < STEADY_STEP - 1 ? STEADY_STEP - 1 - before : 0;
}

struct calls {
	struct spans all, idle;
	struct blame blame;
	size_t n, held, steps;
};

/* The first steps may fill torch's cache: only calls from the first steady step on
 * count. */
static bool find_calls(struct facts *f, struct calls *c)
{
	bool fine = true;

	memset(f->scratch, 0, f->n * sizeof(*f->scratch));
	for (uint32_t i = 0; fine && i < f->m->slices_n; i++) {
		const struct slice *s = &f->m->slices[i];
		long step;

		if (s->kind != SLICE_CALL || !is_driver_memory(slice_name(f->m, i)))
			continue;
		step = facts_step(f, s->begin);
		if (step < 0 || (size_t)step < steady_from(f))
			continue;
		fine = spans_add(&c->all, s->begin, s->end);
		c->n++;
		f->scratch[step]++;
		blame_add(&c->blame, i, s->end - s->begin);
	}
	for (size_t i = steady_from(f); i < f->n; i++) {
		c->steps++;
		c->held += f->scratch[i] > 0;
	}
	spans_join(&c->all);
	return fine && spans_without(&c->idle, &c->all, &f->busy);
}

/* The idle time of a median steady step; 0 where there are not enough such steps. */
static int64_t median_idle(struct facts *f, const struct calls *c)
{
	if (!c->held || c->held < c->steps - c->steps / 3)
		return 0;
	facts_measure(f, &c->idle);
	return median_of(f->time + steady_from(f), c->steps);
}

/* This is right after a failure, too: what was not made yet is empty. */
static void free_calls(struct calls *c)
{
	spans_free(&c->all);
	spans_free(&c->idle);
	blame_free(&c->blame);
}

bool churn_idle(struct facts *f, int64_t *idle)
{
	struct calls c = { .n = 0 };
	bool fine = blame_start(&c.blame, f) && find_calls(f, &c);

	*idle = fine && steady_from(f) < f->n ? median_idle(f, &c) : 0;
	free_calls(&c);
	return fine;
}

/* The advice stands only where the GPU idles during the calls of a median step. */
static bool look_at_calls(struct facts *f, struct advice *a)
{
	struct calls c = { .n = 0 };
	bool fine = blame_start(&c.blame, f) && find_calls(f, &c);

	if (fine)
		a->gain = median_idle(f, &c);
	if (fine && a->gain) {
		ADVICE_SAY(a->title, "GPU memory is allocated anew in each step");
		ADVICE_SAY(
			a->seen,
			"%.1f cudaMalloc or cudaFree a step, in %zu of %zu steps from the "
			"%urd on; the GPU idles for %s meanwhile",
			(double)c.n / (double)c.steps, c.held, c.steps, STEADY_STEP,
			phrase_time(a->gain));
		ADVICE_SAY(
			a->why,
			"torch's allocator keeps what it has; here it asks the driver again, and "
			"cudaFree waits for all GPU work.");
		ADVICE_SAY(
			a->act,
			"no torch.cuda.empty_cache() in the loop; the same shapes in each step, or "
			"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
		ADVICE_SAY(a->where, "%s", blame_place(&c.blame));
	}
	free_calls(&c);
	return fine;
}

/* ---- the host's, by memory events ---- */

struct block { /* a large one: its allocation or its free */
	uint64_t addr;
	uint32_t event;
};

struct blocks {
	struct block *row;
	size_t n;
	struct spans time; /* of what does nothing but allocate or free */
	int64_t *mapped; /* bytes of each step in blocks that are always mapped */
	struct blame blame; /* by bytes that the same step frees */
	double bytes, brief; /* all that judged steps allocate; of it, freed soon */
};

/* Events of one address keep their order, so that a free follows its allocation. */
static int by_address(const void *left, const void *right)
{
	const struct block *a = left, *b = right;

	return a->addr != b->addr ? (a->addr < b->addr ? -1 : 1)
				  : order_of(a->event, b->event);
}

/* The time of these operators is mostly that of the allocation itself. */
static bool is_allocator(const char *name)
{
	return text_after(name, "aten::empty") || text_after(name, "aten::new_empty") ||
	       text_after(name, "aten::resize_");
}

/* A block that was mapped is unmapped between operators, when Python drops its tensor:
 * the gap that such a free lies in is the system's time, as long as its pages account
 * for. */
static bool add_frees(const struct facts *f, struct blocks *b)
{
	const struct model *m = f->m;
	struct spans quiet = { 0 };
	bool fine = quiet_make(f, &quiet);

	for (uint32_t i = 0; fine && i < m->memory_n; i++) {
		const struct memory_event *e = &m->memory[i];
		size_t at = SEARCH_FIRST(k, 0, quiet.n, quiet.row[k].end > e->ts);
		int64_t left, pages;

		if (m->devices[e->device].type != 0 || e->bytes > -MAPPED_MIB * MIB ||
		    at == quiet.n || quiet.row[at].begin > e->ts)
			continue;
		left = quiet.row[at].end - e->ts;
		pages = -(e->bytes / MIB);
		pages = pages < left / (MAPPED_US * 1000) ? pages * MAPPED_US * 1000
							  : left;
		fine = spans_add(&b->time, e->ts, e->ts + pages);
	}
	spans_free(&quiet);
	return fine;
}

/* Small blocks add to the sum of what is allocated, but only large ones are kept. */
static bool find_blocks(const struct facts *f, struct blocks *b)
{
	const struct model *m = f->m;

	for (uint32_t i = 0; i < m->memory_n; i++) {
		const struct memory_event *e = &m->memory[i];

		if (m->devices[e->device].type != 0 || e->oom || facts_step(f, e->ts) < 0)
			continue;
		b->bytes += e->bytes > 0 ? (double)e->bytes : 0;
		if (e->has_addr &&
		    (e->bytes >= CHURN_MIB * MIB || e->bytes <= -CHURN_MIB * MIB))
			b->row[b->n++] = (struct block){ e->addr, i };
		if (e->bytes >= CHURN_MIB * MIB && e->slice != NO_ROW &&
		    is_allocator(slice_name(m, e->slice)) &&
		    !spans_add(&b->time, m->slices[e->slice].begin,
			       m->slices[e->slice].end))
			return false;
	}
	if (b->n)
		qsort(b->row, b->n, sizeof(*b->row), by_address);
	if (!add_frees(f, b))
		return false;
	spans_join(&b->time);
	return true;
}

/* An allocation and the free of the same address behind it, in that step or the next: a
 * loop's variable goes when it is assigned anew. The C library maps a block of
 * MAPPED_MIB or more anew each time: its pages cost time in whatever touches them first.
 */
static void pair_blocks(const struct facts *f, struct blocks *b)
{
	for (size_t i = 0; i + 1 < b->n; i++) {
		const struct memory_event *e = &f->m->memory[b->row[i].event];
		const struct memory_event *end = &f->m->memory[b->row[i + 1].event];

		if (b->row[i].addr != b->row[i + 1].addr || e->bytes <= 0 ||
		    end->bytes >= 0 || e->slice == NO_ROW ||
		    facts_step(f, end->ts) - facts_step(f, e->ts) > 1)
			continue;
		b->brief += (double)e->bytes;
		if (e->bytes >= MAPPED_MIB * MIB)
			facts_add(&b->mapped[facts_step(f, e->ts)], e->bytes);
		blame_add(&b->blame, e->slice, e->bytes);
	}
}

/* The time of the system's mapping is not in the trace: an estimate by size is added
 * to the measured one. Pages that nobody touches cost nothing, so it may be too much. */
static void say_blocks(struct facts *f, struct advice *a, const struct blocks *b)
{
	struct verdict v;
	double most =
		b->blame.most == TEXT_NONE ? 0 : (double)b->blame.time[b->blame.most];

	facts_measure(f, &b->time);
	for (size_t i = 0; i < f->n; i++) {
		facts_add(&f->time[i], b->mapped[i] / MIB * MAPPED_US * INT64_C(1000));
		if (f->time[i] > facts_length(f, i))
			f->time[i] = facts_length(f, i);
	}
	v = verdict_of(f, BOUND_AT_LEAST, CHURN_TIME_PERCENT);
	if (!v.holds || most * 100 < b->bytes * CHURN_PERCENT || b->bytes <= 0)
		return;
	ADVICE_SAY(a->title, "Large blocks are allocated and freed in each step");
	ADVICE_SAY(
		a->seen,
		"%s a step, %u %% of what it allocates, in blocks of %u MiB or more that the same "
		"step or the next frees; by %u us a MiB that takes about %s, %s",
		out_bytes((int64_t)(b->brief / (double)f->n)),
		phrase_percent(b->brief, b->bytes), CHURN_MIB, MAPPED_US,
		phrase_time(v.median), verdict_steps(f, &v));
	ADVICE_SAY(
		a->why,
		"The C library may fetch such blocks from the system and give them back each "
		"time; the system clears each page.");
	ADVICE_SAY(
		a->act,
		"allocate once and reuse (out=, in-place operators), or LD_PRELOAD jemalloc or "
		"tcmalloc");
	ADVICE_SAY(a->where, "%s", blame_place(&b->blame));
	a->gain = v.median;
}

/* Everything is freed on every path, whichever of the allocations failed. */
static bool look_at_blocks(struct facts *f, struct advice *a)
{
	struct blocks b = { .row = malloc((f->m->memory_n + 1) * sizeof(*b.row)),
			    .mapped = calloc(f->n + 1, sizeof(*b.mapped)) };
	bool fine = b.row && b.mapped && blame_start(&b.blame, f) && find_blocks(f, &b);

	if (fine) {
		pair_blocks(f, &b);
		say_blocks(f, a, &b);
	}
	blame_free(&b.blame);
	spans_free(&b.time);
	free(b.row);
	free(b.mapped);
	return fine;
}

bool churn_look(struct facts *f, struct advice *a)
{
	if (f->work_n)
		return steady_from(f) >= f->n || look_at_calls(f, a);
	return !f->m->memory_n || look_at_blocks(f, a);
}
