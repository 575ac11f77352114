/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/sys.h"
#include "agent/cupti/parts.h"

#include <string.h>

/*
 * Which window GPU work belongs to: that of the call with its correlation id. CUPTI
 * counts these up, call by call, so the low bits are the place in a table, and what is
 * overwritten is half a million calls old. Work and call may come in either order: work
 * without a call waits in a ring, and is placed by its own time when it waited too long.
 */
#define CALLS_BITS   19u
#define CALLS_MASK   ((1u << CALLS_BITS) - 1)
#define WAITING_MOST 32768u
#define LONGEST      128u

/* What a place in the table says, above the window's number. */
#define NUMBER   0x1fffffffu
#define OUTSIDE  NUMBER /* the call was in no window */
#define LAUNCHES 0x20000000u
#define MATCHED  0x40000000u
#define WAITS    0x80000000u /* the number is one of the ring instead */

struct entry {
	uint32_t correlation, value; /* value 0: free */
};
struct waiting {
	int64_t since;
	uint32_t correlation, size; /* size 0: free */
	uint32_t next; /* of the same call: place + 1 */
	uint32_t spare;
	uint64_t record[LONGEST / 8];
};

static struct entry *entries;
static struct waiting *waiting;
static uint32_t first, last; /* of the ring, counted on */

bool link_start(void)
{
	if (!entries)
		entries = sys_map(sizeof(*entries) << CALLS_BITS);
	if (!waiting)
		waiting = sys_map(sizeof(*waiting) * WAITING_MOST);
	return entries && waiting;
}

/* A place whose window is over may be from a lap of 2^32 calls ago. */
static bool newer(const struct entry *e, uint32_t correlation)
{
	const struct window *w;

	if (!e->value || (int32_t)(correlation - e->correlation) > 0)
		return true;
	if (e->value & WAITS)
		return false;
	w = windows_get(e->value & NUMBER);
	return !w || w->state == WINDOW_OVER;
}

/* NULL: an entry of a younger call is in its place. */
static struct entry *place(uint32_t correlation)
{
	struct entry *e = &entries[correlation & CALLS_MASK];

	if (e->value && e->correlation == correlation)
		return e;
	if (!newer(e, correlation))
		return NULL;
	e->correlation = correlation;
	e->value = 0;
	return e;
}

static void match(struct entry *e, struct window *w)
{
	if ((e->value & (LAUNCHES | MATCHED)) == LAUNCHES && w)
		w->matched++;
	e->value |= MATCHED;
}

/* ---- work that waits ---- */

static struct waiting *waiter(uint32_t n)
{
	return &waiting[n % WAITING_MOST];
}

/* Nobody called for it: where it ran is the best guess. */
static void give_up(struct waiting *x)
{
	const struct record *r = (const struct record *)x->record;
	struct window *w = windows_at(r->begin);
	struct entry *e = &entries[x->correlation & CALLS_MASK];

	if (e->correlation == x->correlation && e->value & WAITS)
		e->value = 0;
	if (w && w->info && r->kind != REC_EVENT)
		side_count(&w->side, CUDA_UNMATCHED, 1);
	if (w)
		decode_place(w, r, x->size);
	x->size = 0;
}

static void wait_for_call(uint32_t correlation, const struct record *r, uint32_t size)
{
	struct entry *e = place(correlation);
	struct waiting *x;

	if (size > LONGEST)
		return;
	if (last - first == WAITING_MOST) {
		if (waiter(first)->size)
			give_up(waiter(first));
		first++;
	}
	x = waiter(last);
	x->since = windows_now;
	x->correlation = correlation;
	x->size = size;
	x->next = e && e->value & WAITS ? (e->value & NUMBER) + 1 : 0;
	memcpy(x->record, r, size);
	if (e)
		e->value = WAITS | last % WAITING_MOST;
	last++;
}

/* All that waits for this call; w NULL: for nothing, it was outside of all windows. */
static uint32_t release(uint32_t n, uint32_t correlation, struct window *w)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < WAITING_MOST; i++) {
		struct waiting *x = waiter(n);

		if (!x->size || x->correlation != correlation)
			break;
		if (w)
			decode_place(w, (const struct record *)x->record, x->size);
		x->size = 0;
		found++;
		if (!x->next)
			break;
		n = x->next - 1;
	}
	return found;
}

void link_expire(int64_t age_ns)
{
	for (; first != last; first++) {
		struct waiting *x = waiter(first);

		if (x->size && windows_now - x->since < age_ns)
			break;
		if (x->size)
			give_up(x);
	}
}

bool link_waits(const struct window *w)
{
	for (uint32_t i = first; i != last; i++) {
		const struct record *r = (const struct record *)waiter(i)->record;

		if (waiter(i)->size && r->begin >= w->begin && r->begin < w->end)
			return true;
	}
	return false;
}

/* ---- calls and work ---- */

/* A driver call inside a runtime call has its id: it launches once. */
void link_call(uint32_t correlation, struct window *w, bool works)
{
	struct entry *e;
	uint32_t value, found = 0;

	if (!w && !works && entries[correlation & CALLS_MASK].correlation != correlation)
		return; /* work for it may still wait: then it is told below */
	e = place(correlation);
	if (!e)
		return;
	value = e->value;
	if (value & WAITS) {
		found = release(value & NUMBER, correlation, w);
		value = 0;
	}
	if (!value || ((value & NUMBER) == OUTSIDE && w))
		value = w ? w->number & NUMBER : OUTSIDE;
	e->value = value;
	w = windows_get(value & NUMBER);
	if (works && w && !(value & LAUNCHES)) {
		e->value |= LAUNCHES;
		w->launched++;
		if (value & MATCHED)
			w->matched++;
	}
	if (found)
		match(e, w);
}

void link_work(uint32_t correlation, const struct record *r, uint32_t size)
{
	struct entry *e = &entries[correlation & CALLS_MASK];
	struct window *w;

	if (!e->value || e->correlation != correlation || e->value & WAITS) {
		wait_for_call(correlation, r, size);
		return;
	}
	if ((e->value & NUMBER) == OUTSIDE)
		return;
	w = windows_get(e->value & NUMBER);
	match(e, w);
	if (w)
		decode_place(w, r, size);
	else if (spool.head)
		atomic_fetch_add(&spool.head->totals.cuda[CUDA_LATE], 1);
}

void link_fork_child(void)
{
	entries = NULL;
	waiting = NULL;
	first = last = 0;
}
