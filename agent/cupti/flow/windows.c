/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that wait for GPU work: since when, for how much, and when that ends. */
#include "agent/cupti/flow/windows.h"
#include "agent/core/clock.h"
#include "agent/cupti/flow/bell.h"
#include "agent/cupti/flow/buffers.h"
#include "agent/cupti/flow/moments.h"
#include "agent/cupti/flow/orders.h"
#include "agent/cupti/lib/devices.h"
#include "agent/cupti/lib/session.h"
#include "base/seldom.h"
#include "base/sys.h"

#include <string.h>

#define SEAL_TRIES 200 /* waits of 50 us for a seal that is under way */
#define IDLE_NS    2000000000ll /* nothing new for so long: nothing will come */
#define OLD_NS     30000000000ll
#define OVERDUE_NS 28000000000ll
#define FRESH_NS   500000000ll /* how long kinds stay on for work that still runs */

static SELDOM struct window windows[WINDOWS_MOST];
static uint32_t newest; /* number of the newest window */
static uint32_t oldest; /* all before it are over */
int64_t windows_now;

/* ---- a window's life ---- */

struct window *windows_get(uint32_t number)
{
	struct window *w = &windows[number % WINDOWS_MOST];

	return number && w->number == number ? w : NULL;
}

static bool is_pending(const struct window *w)
{
	return w && (w->state == WINDOW_OPEN || w->state == WINDOW_SEALED);
}

/* From here on the descriptor is the writer's, and soon its memory has another use.
 * `why`: the count for a window that is not complete; CUDA_COUNTS: the window is. Where
 * CUPTI is not ours any more, all has come back. */
static void settle_window(struct window *w, enum cuda_count why)
{
	struct cycle_info *info = w->info;

	if (!w->thrown) {
		bool held =
			!session_gone() && (buffers_held(w->turn) || buffers_refused());
		bool missing = w->launched > w->matched;

		moments_replay(&w->side);
		devices_write(&w->side, w->begin);
		if (missing)
			gpu_chunk_count(&w->side, CUDA_MISSING, w->launched - w->matched);
		if (why != CUDA_COUNTS)
			gpu_chunk_count(&w->side, why,
					held || (missing && why == CUDA_CROWDED));
	}
	w->state = WINDOW_OVER;
	w->info = w->side.info = NULL;
	atomic_store_explicit(&info->cuda_state, CUDA_SETTLED, memory_order_release);
	if (session.act.settled)
		session.act.settled();
}

static void open_window(struct cycle_info *info)
{
	struct window *w = &windows[(newest + 1) % WINDOWS_MOST];

	if (is_pending(w)) /* more than we can keep an eye on: the oldest goes */
		settle_window(w, CUDA_CROWDED);
	bell_near(false);
	memset(w, 0, sizeof(*w));
	w->state = WINDOW_OPEN;
	w->number = ++newest;
	w->info = w->side.info = info;
	w->end = UINT64_MAX;
	w->news_at = windows_now;
	moments_replay(&w->side);
	windows_moment();
	w->begin = moments_ns(info->begin);
}

static void seal_window(struct cycle_info *info, bool kept)
{
	struct window *w = NULL;

	for (uint32_t n = newest; n + WINDOWS_MOST > newest && n; n--)
		if ((w = windows_get(n)) && w->info == info && w->state == WINDOW_OPEN)
			break;
	if (!w || w->info != info || w->state != WINDOW_OPEN)
		return;
	windows_moment();
	w->end = moments_ns(info->end);
	w->state = WINDOW_SEALED;
	w->turn = buffers_turn();
	w->sealed_at = w->news_at = windows_now;
	w->thrown = !kept;
	if (w->thrown)
		settle_window(w, CUDA_COUNTS);
}

/* ---- what the scheduler told ---- */

static void take_orders(void)
{
	enum order what;
	struct cycle_info *info;

	while ((info = orders_next(&what)))
		if (what == ORDER_OPENED)
			open_window(info);
		else
			seal_window(info, what == ORDER_SEALED);
}

/* The newest window's end is set a moment before its order comes. */
static bool seal_under_way(void)
{
	struct window *w = windows_get(newest);

	return w && w->state == WINDOW_OPEN &&
	       __atomic_load_n(&w->info->end, __ATOMIC_ACQUIRE);
}

void windows_collect(void)
{
	windows_now = sys_clock_ns(CLOCK_MONOTONIC);
	take_orders();
	for (int i = 0; i < SEAL_TRIES && seal_under_way(); i++) {
		sys_nap(50000);
		take_orders();
	}
}

struct window *windows_at(uint64_t ns)
{
	for (uint32_t n = newest; n && n + WINDOWS_MOST > newest; n--) {
		struct window *w = windows_get(n);

		if (!w)
			break;
		if (w->begin <= ns)
			return ns < w->end ? w : NULL;
	}
	return NULL;
}

#define EACH_PENDING(w)                                               \
	for (uint32_t n_ = oldest; (int32_t)(newest - n_) >= 0; n_++) \
		if (is_pending((w) = windows_get(n_)))

unsigned windows_pending(bool *open)
{
	struct window *w;
	unsigned n = 0;

	*open = false;
	while (oldest <= newest && !is_pending(windows_get(oldest)))
		oldest++;
	EACH_PENDING(w)
	{
		n++;
		*open = *open || w->state == WINDOW_OPEN;
	}
	return n;
}

/* A GPU that is never idle gives back no buffer that still gets new work: some time after
 * the seal no new work must come; calls that were under way have ended by then. */
bool windows_fresh(void)
{
	struct window *w;

	EACH_PENDING(w)
	if (w->state == WINDOW_OPEN || windows_now - w->sealed_at < FRESH_NS)
		return true;
	return false;
}

bool windows_overdue(void)
{
	struct window *w;

	EACH_PENDING(w)
	if (w->state == WINDOW_SEALED && windows_now - w->sealed_at > OVERDUE_NS)
		return true;
	return false;
}

bool windows_complete(void)
{
	struct window *w;

	EACH_PENDING(w)
	if (w->launched > w->matched || buffers_held(buffers_turn()))
		return false;
	return true;
}

static bool is_old(const struct window *w)
{
	return w->flushes && windows_now - w->sealed_at > OLD_NS;
}

/* A buffer that CUPTI has had since before the seal and does not give back holds work
 * that still runs. Where CUPTI has no such buffer, a call without work has none to come:
 * it was captured into a graph, or copied nothing. */
static bool is_complete(const struct window *w, bool (*waits)(const struct window *w))
{
	if (!w->flushes || buffers_held(w->turn) || waits(w))
		return false;
	return w->launched <= w->matched ||
	       (windows_now - w->news_at > IDLE_NS && w->flushes > 1);
}

struct window *windows_around(uint32_t correlation)
{
	struct window *w;

	EACH_PENDING(w)
	if (w->called && (int32_t)(correlation - w->first_call) >= 0 &&
	    (int32_t)(w->last_call - correlation) >= 0)
		return w;
	return NULL;
}

void windows_settle(bool all, bool (*waits)(const struct window *w))
{
	struct window *w;

	EACH_PENDING(w)
	{
		if (w->state != WINDOW_SEALED)
			continue;
		if (!all && is_complete(w, waits))
			settle_window(w, CUDA_COUNTS);
		else if (all || is_old(w))
			settle_window(w, CUDA_UNFETCHED);
	}
}

/* A process that leaves by _exit still has a window open. */
void windows_end(void)
{
	struct window *w;

	EACH_PENDING(w)
	{
		if (w->state == WINDOW_OPEN)
			w->turn = buffers_turn();
		settle_window(w, CUDA_UNFETCHED);
	}
}

void windows_flush(void)
{
	struct window *w;

	EACH_PENDING(w)
	w->flushing = w->state == WINDOW_SEALED;
}

void windows_flushed(void)
{
	struct window *w;

	EACH_PENDING(w)
	w->flushes += w->flushing;
}

void windows_moment(void)
{
	const struct rec_moment *m = moments_take();
	struct window *w;

	EACH_PENDING(w)
	moments_write(&w->side, m);
}

void windows_count(enum cuda_count what, uint64_t n)
{
	for (uint32_t i = newest; n && i && i >= oldest; i--)
		if (is_pending(windows_get(i))) {
			gpu_chunk_count(&windows_get(i)->side, what, n);
			return;
		}
	if (n && spool.head)
		atomic_fetch_add(&spool.head->totals.cuda[what], n);
}

void windows_late(const struct window *w)
{
	if (!w->thrown && spool.head)
		atomic_fetch_add(&spool.head->totals.cuda[CUDA_LATE], 1);
}

void windows_gap(uint64_t from, uint64_t to)
{
	struct window *w;

	EACH_PENDING(w)
	{
		uint64_t begin = w->begin > from ? w->begin : from;
		uint64_t end = w->end < to ? w->end : to;

		if (end <= begin)
			continue;
		/* A gap that lasts is counted piece by piece, and is one gap all the
		 * same. */
		gpu_chunk_count(&w->side, CUDA_GAPS, begin != w->gap_end);
		w->gap_end = end;
		gpu_chunk_count(&w->side, CUDA_GAP_NS, end - begin);
	}
}

void windows_fork_child(void)
{
	if (!newest)
		return; /* nine pages that nobody ever wrote to */
	memset(windows, 0, sizeof(windows));
	newest = oldest = 0;
}
