/* SPDX-License-Identifier: Apache-2.0 */
/* Correlation ids: which call a piece of GPU work belongs to, and so which window. */
#include "agent/cupti/flow/correlation.h"
#include "agent/cupti/lib/kinds.h"
#include "base/sys.h"

#include <string.h>

/*
 * Which window GPU work belongs to: that of the call with its correlation id. CUPTI
 * counts these up, call by call, so the low bits are the place in a table, and what is
 * overwritten is half a million calls old. Work and call may come in either order: work
 * without a call waits in a ring, and is placed by its own time when it waited too long.
 */
#define CALLS_BITS   19u
#define CALLS_MASK   ((1u << CALLS_BITS) - 1)
#define PART         8192u /* of the table, touched at once */
#define WAITING_MOST 32768u
#define SPANS        8u

/* What a place in the table says, above the window's number. */
#define NUMBER   0x1fffffffu
#define OUTSIDE  NUMBER /* the call was in no window */
#define LAUNCHES 0x20000000u
#define MATCHED  0x40000000u
#define WAITS    0x80000000u /* the number is a place of the ring instead */

struct entry {
	uint32_t correlation, value; /* value 0: free */
};
struct waiting {
	int64_t since;
	uint32_t correlation;
	uint32_t next; /* work of the same call: place + 1 */
	struct made made; /* size 0: free */
};

static struct entry *entries;
static uint64_t touched; /* parts of the table: bits */
static struct waiting *waiting;
static uint32_t first, last; /* places of the ring, counted on */
static struct span {
	uint32_t from, to; /* correlation ids */
} spans[SPANS]; /* the last captures: a call in them may be read after their end */
static uint32_t spans_n;
static struct {
	uint32_t window, depth;
	uint32_t from; /* correlation id */
} capture;

_Static_assert(CALLS_MASK / PART < 64, "a bit for each part");

bool correlation_start(void)
{
	if (!entries)
		entries = sys_map(sizeof(*entries) << CALLS_BITS);
	if (!waiting)
		waiting = sys_map(sizeof(*waiting) * WAITING_MOST);
	return entries && waiting;
}

/* A page that is read before it is written is mapped twice. */
static __attribute__((noinline)) void touch_part(uint32_t part)
{
	touched |= 1ull << part;
	sys_touch(&entries[part * PART], PART * sizeof(*entries));
}

static struct entry *entry_at(uint32_t correlation)
{
	uint32_t n = correlation & CALLS_MASK;

	if (__builtin_expect(!(touched >> n / PART & 1), 0))
		touch_part(n / PART);
	return &entries[n];
}

static bool is_entry_of(const struct entry *e, uint32_t correlation)
{
	return e->value && e->correlation == correlation;
}

/* An entry whose window is over may be from 2^32 calls ago, before the ids wrapped. */
static bool is_newer(const struct entry *e, uint32_t correlation)
{
	const struct window *w;

	if (!e->value || (int32_t)(correlation - e->correlation) > 0)
		return true;
	if (e->value & WAITS)
		return false;
	w = windows_get(e->value & NUMBER);
	return !w || w->state == WINDOW_OVER;
}

static void match_call(struct entry *e, struct window *w)
{
	if ((e->value & (LAUNCHES | MATCHED)) == LAUNCHES && w)
		w->matched++;
	e->value |= MATCHED;
}

/* ---- work that waits ---- */

static struct waiting *waiter_at(uint32_t n)
{
	return &waiting[n % WAITING_MOST];
}

static uint32_t waiter_number(const struct waiting *x)
{
	return (uint32_t)(x - waiting);
}

static void saw_call(struct window *w, uint32_t correlation)
{
	if (!w->called || (int32_t)(correlation - w->first_call) < 0)
		w->first_call = correlation;
	if (!w->called || (int32_t)(correlation - w->last_call) > 0)
		w->last_call = correlation;
	w->called = true;
}

/* Ids count up: work with an id below the window's first call was asked for before the
 * window. Where no call is known, that is likelier than a call that got lost, if such
 * work is recorded. */
static bool is_older(const struct window *w, uint32_t correlation)
{
	if (!correlation)
		return false;
	return w->called ? (int32_t)(correlation - w->first_call) < 0 : kinds_stray();
}

/* The work's call was not recorded: between which other calls that was made tells the
 * window, else where the work ran is the best guess. */
static void give_up(struct waiting *x)
{
	const struct record *r = &x->made.u.r;
	struct window *ran = windows_at(r->begin);
	struct window *w = x->correlation ? windows_around(x->correlation) : NULL;
	struct entry *e = &entries[x->correlation & CALLS_MASK];
	bool before = !w && ran && is_older(ran, x->correlation);

	if (e->correlation == x->correlation && e->value == (WAITS | waiter_number(x)))
		e->value = 0;
	w = w ? w : ran;
	if (w && w->info && r->kind != REC_EVENT)
		gpu_chunk_count(&w->side, before ? CUDA_OLDER : CUDA_UNMATCHED, 1);
	if (w && !before)
		place_record(w, &x->made);
	x->made.size = 0;
}

static void wait_for_call(struct entry *e, uint32_t correlation, const struct made *m)
{
	struct waiting *x;
	bool mine;

	if (last - first == WAITING_MOST) {
		if (waiter_at(first)->made.size)
			give_up(waiter_at(first));
		first++;
	}
	mine = is_entry_of(e, correlation);
	x = waiter_at(last);
	x->since = windows_now;
	x->correlation = correlation;
	x->next = mine ? (e->value & NUMBER) + 1 : 0;
	x->made = *m;
	if (mine || is_newer(e, correlation))
		*e = (struct entry){ correlation, WAITS | waiter_number(x) };
	last++;
}

/* Most work waits for a moment only: the same few places of the ring serve them. */
static void shorten_ring(void)
{
	while (first != last && !waiter_at(first)->made.size)
		first++;
	if (first == last)
		first = last = 0;
}

/* Places all work that waits for this call; w NULL: drops it, the call was in no
 * window. */
static uint32_t release_waiters(uint32_t n, uint32_t correlation, struct window *w)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < WAITING_MOST; i++) {
		struct waiting *x = waiter_at(n);

		if (!x->made.size || x->correlation != correlation)
			break;
		if (w)
			place_record(w, &x->made);
		x->made.size = 0;
		found++;
		if (!x->next)
			break;
		n = x->next - 1;
	}
	shorten_ring();
	return found;
}

void correlation_expire(int64_t age_ns)
{
	for (shorten_ring(); first != last; shorten_ring()) {
		struct waiting *x = waiter_at(first);

		if (windows_now - x->since < age_ns)
			break;
		give_up(x);
	}
}

bool correlation_waits(const struct window *w)
{
	for (uint32_t i = first; i != last; i++) {
		const struct record *r = &waiter_at(i)->made.u.r;

		if (waiter_at(i)->made.size && r->begin >= w->begin && r->begin < w->end)
			return true;
	}
	return false;
}

/* ---- calls and work ---- */

static bool was_captured(uint32_t correlation)
{
	for (uint32_t i = 0; i < SPANS && i < spans_n; i++)
		if (correlation - spans[i].from < spans[i].to - spans[i].from)
			return true;
	return false;
}

/* A driver call inside a runtime call has that call's id: the two launch once. */
void correlation_call(uint32_t correlation, struct window *w, bool works)
{
	struct entry *e = entry_at(correlation);
	uint32_t value = is_entry_of(e, correlation) ? e->value : 0, found = 0;

	if (w)
		saw_call(w, correlation);
	if (!value && ((!w && !works) || !is_newer(e, correlation)))
		return;
	if (value & WAITS) {
		found = release_waiters(value & NUMBER, correlation, w);
		value = 0;
	}
	if (!value || ((value & NUMBER) == OUTSIDE && w))
		value = w ? w->number & NUMBER : OUTSIDE;
	*e = (struct entry){ correlation, value };
	if (!w || w->number != (value & NUMBER))
		w = windows_get(value & NUMBER);
	if (works && w && !(value & LAUNCHES)) {
		e->value |= LAUNCHES;
		w->launched++;
		if (value & MATCHED || was_captured(correlation)) {
			w->matched++;
			e->value |= MATCHED;
		}
	}
	if (found)
		match_call(e, w);
}

/* Ids count up over all threads: the ids between are of calls made during the capture.
 * Work of another stream, that comes all the same, is placed as ever. */
void correlation_capture(uint32_t correlation, const struct window *w, bool begins)
{
	uint32_t number = w ? w->number : 0;

	if (capture.window != number) { /* the capture's other end was not recorded */
		capture.window = number;
		capture.depth = 0;
	}
	if (begins && !capture.depth++)
		capture.from = correlation;
	if (begins || !w || !capture.depth || --capture.depth)
		return;
	if (correlation - capture.from >
	    CALLS_MASK) /* of too long ago, or read too early */
		return;
	spans[spans_n++ % SPANS] = (struct span){ capture.from, correlation };
	for (uint32_t id = capture.from; id != correlation; id++) {
		struct entry *e = &entries[id & CALLS_MASK];

		if (is_entry_of(e, id) && !(e->value & WAITS))
			match_call(e, windows_get(e->value & NUMBER));
	}
}

void correlation_work(uint32_t correlation, const struct made *m)
{
	struct entry *e = entry_at(correlation);
	struct window *w;

	if (!is_entry_of(e, correlation) || e->value & WAITS) {
		wait_for_call(e, correlation, m);
		return;
	}
	if ((e->value & NUMBER) == OUTSIDE)
		return;
	w = windows_get(e->value & NUMBER);
	match_call(e, w);
	if (w)
		place_record(w, m);
	else if (spool.head)
		atomic_fetch_add(&spool.head->totals.cuda[CUDA_LATE], 1);
}

void correlation_fork_child(void)
{
	entries = NULL;
	touched = 0;
	waiting = NULL;
	first = last = 0;
	memset(&capture, 0, sizeof(capture));
	spans_n = 0;
}
