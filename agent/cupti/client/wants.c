/* SPDX-License-Identifier: Apache-2.0 */
/* What a client asked for, and when: kinds, calls, callbacks. */
#include "agent/cupti/client/wants.h"
#include "agent/cupti/client/translate.h"
#include "agent/cupti/lib/calls.h"
#include "agent/cupti/lib/kinds.h"
#include "agent/cupti/lib/layout.h"
#include "agent/cupti/lib/session.h"
#include "base/seldom.h"

#include <string.h>

/*
 * What the client asked for, and when. Without us CUPTI would have made a record when
 * its kind was on at the moment of the call: at a record's own begin for what happens on
 * the CPU. GPU work begins later than its call; the correlation ids of calls, which
 * count up, tell on which side of a switch it was asked for.
 */
#define SPANS 4u /* times that a kind was on, the newest ones */
#define EDGES 32u /* moments at which something was switched, the newest ones */
#define EVENTS_ALONE                                                      \
	27u /* 12.9: CUDA_EVENT and SYNCHRONIZATION no longer go together \
	     */

struct edge {
	_Atomic uint64_t ns;
	/* The newest call before the edge and the first one after it, as far as seen:
	 * KNOWN | correlation id. */
	_Atomic uint64_t last, first;
};
#define KNOWN (1ull << 32)

struct span {
	_Atomic uint32_t begin, end; /* numbers of edges; end 0 = it is on */
};

struct asked {
	struct span span[SPANS];
	_Atomic uint32_t spans; /* so far */
};

static SELDOM struct {
	struct edge edge[EDGES];
	_Atomic uint32_t edges; /* number of the newest */
	struct asked kind[KIND_MOST];
	struct calls_set call[2][SPANS]; /* of KIND_DRIVER, KIND_RUNTIME */
	_Atomic uint32_t lock;
} when;

/* Several threads of one client hardly ever switch at once: they take turns. */
static void lock_wants(void)
{
	while (atomic_exchange(&when.lock, 1))
		__builtin_ia32_pause();
}

static void unlock_wants(void)
{
	atomic_store(&when.lock, 0);
}

/* ---- switching ---- */

static uint32_t edge_at(uint64_t ns)
{
	uint32_t number = atomic_load(&when.edges) + 1;
	struct edge *e = &when.edge[number % EDGES];

	atomic_store(&e->last, 0);
	atomic_store(&e->first, 0);
	atomic_store(&e->ns, ns);
	atomic_store(&when.edges, number);
	return number;
}

static struct span *newest_span(struct asked *a)
{
	uint32_t n = atomic_load(&a->spans);

	return n ? &a->span[(n - 1) % SPANS] : NULL;
}

static bool is_on(struct asked *a)
{
	struct span *s = newest_span(a);

	return s && !atomic_load(&s->end);
}

/* The calls that were asked for in that span, for a kind that is calls. */
static struct calls_set *calls_in(uint32_t kind, uint32_t span)
{
	return &when.call[kind - KIND_DRIVER][span % SPANS];
}

static void open_span(uint32_t kind, uint64_t ns, bool all_calls)
{
	struct asked *a = &when.kind[kind];
	uint32_t n = atomic_load(&a->spans);
	struct span *s = &a->span[n % SPANS];

	if (api_is_call(kind))
		calls_put_all(calls_in(kind, n), all_calls);
	atomic_store(&s->begin, edge_at(ns));
	atomic_store(&s->end, 0);
	atomic_store(&a->spans, n + 1);
}

void wants_kind(uint32_t kind, bool on, uint64_t ns)
{
	struct asked *a = &when.kind[kind];

	if (kind >= KIND_MOST)
		return;
	lock_wants();
	if (on && !is_on(a))
		open_span(kind, ns, true);
	else if (on && api_is_call(kind)) /* the whole kind: it overrides single calls */
		calls_put_all(calls_in(kind, atomic_load(&a->spans) - 1), true);
	else if (!on && is_on(a))
		atomic_store(&newest_span(a)->end, edge_at(ns));
	unlock_wants();
}

void wants_call(int domain, uint32_t cbid, bool on, uint64_t ns)
{
	uint32_t kind = domain == DOMAIN_DRIVER ? KIND_DRIVER : KIND_RUNTIME;
	struct asked *a = &when.kind[kind];

	if (cbid >= CALLS_MOST)
		return;
	lock_wants();
	if (on && !is_on(a))
		open_span(kind, ns, false);
	if (is_on(a))
		calls_put(calls_in(kind, atomic_load(&a->spans) - 1), cbid, on);
	unlock_wants();
}

bool wants_on(uint32_t kind)
{
	return kind < KIND_MOST && is_on(&when.kind[kind]);
}

bool wants_any(void)
{
	for (uint32_t kind = 0; kind < KIND_MOST; kind++)
		if (is_on(&when.kind[kind]))
			return true;
	return false;
}

static void replay_calls(uint32_t kind)
{
	struct calls_set *set = calls_in(kind, atomic_load(&when.kind[kind].spans) - 1);
	int domain = kind == KIND_DRIVER ? DOMAIN_DRIVER : DOMAIN_RUNTIME;
	unsigned off = 0;

	for (uint32_t cbid = 0; cbid < CALLS_MOST; cbid++)
		off += !calls_has(set, cbid);
	if (off < CALLS_MOST / 2)
		kinds_theirs(kind, true);
	for (uint32_t cbid = 0; cbid < CALLS_MOST; cbid++) {
		bool on = calls_has(set, cbid);

		if (on != (off < CALLS_MOST / 2))
			kinds_theirs_api(domain, cbid, on);
	}
}

void wants_replay(void)
{
	for (uint32_t kind = 0; kind < KIND_MOST; kind++) {
		bool on = is_on(&when.kind[kind]);

		if (on && api_is_call(kind))
			replay_calls(kind);
		else if (on)
			kinds_theirs(kind, true);
		else if (atomic_load(&when.kind[kind].spans))
			kinds_theirs(kind, false); /* went off while we were not there */
	}
}

void wants_forget(void)
{
	memset((void *)&when, 0, sizeof(when));
}

/* ---- records ---- */

/* a is older than b, of ids that wrap at 32 bits. */
static bool is_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static uint64_t number_at(const uint8_t *record, unsigned offset, unsigned width)
{
	return layout_read(record + offset, width);
}

/* Keeps the smaller (or greater) id; false: what is known is better already. */
static bool keep_id(_Atomic uint64_t *known, uint32_t id, bool smaller)
{
	uint64_t old = atomic_load(known);

	do {
		if (old && (smaller ? !is_before(id, (uint32_t)old)
				    : !is_before((uint32_t)old, id)))
			return false;
	} while (!atomic_compare_exchange_weak(known, &old, KNOWN | id));
	return true;
}

void wants_learn(const uint8_t *record)
{
	uint32_t kind = (uint32_t)number_at(record, 0, 4), newest_edge;
	const struct shape *s = api_is_call(kind) ? translate_of(kind) : NULL;
	uint64_t ns = s ? number_at(record, s->time[0], 8) : 0;
	uint32_t id = s ? (uint32_t)number_at(record, s->correlation, 4) : 0;

	if (!ns || !id)
		return;
	newest_edge = atomic_load(&when.edges);
	for (uint32_t n = newest_edge; n && n + EDGES > newest_edge; n--) {
		struct edge *e = &when.edge[n % EDGES];

		if (ns < atomic_load(&e->ns))
			keep_id(&e->last, id, false);
		else if (!keep_id(&e->first, id, true))
			break; /* older edges know an id as small */
	}
}

/* Was work asked for before or after the edge? By the ids of calls. */
enum order { BEFORE, AFTER, UNSURE };

static enum order order_of(struct edge *e, const struct shape *s, const uint8_t *record)
{
	uint64_t last = atomic_load(&e->last), first = atomic_load(&e->first);
	uint32_t id = s->correlation ? (uint32_t)number_at(record, s->correlation, 4) : 0;

	if (id && last && !is_before((uint32_t)last, id))
		return BEFORE;
	if (id && first && !is_before(id, (uint32_t)first))
		return AFTER;
	return UNSURE;
}

static bool begins_after(struct edge *e, const struct shape *s, const uint8_t *record)
{
	uint64_t ns = s->time[0] ? number_at(record, s->time[0], 8) : 0;

	return !ns || ns >= atomic_load(&e->ns);
}

static bool by_ids(const struct shape *s)
{
	return s->gpu || !s->time[0];
}

static bool began_after(uint32_t number, const struct shape *s, const uint8_t *record)
{
	struct edge *e = &when.edge[number % EDGES];
	enum order order = by_ids(s) ? order_of(e, s, record) : UNSURE;

	if (number + EDGES <= atomic_load(&when.edges))
		return true; /* long ago */
	return order == UNSURE ? begins_after(e, s, record) : order == AFTER;
}

/* Work that is under way when its kind goes off is still the client's. Where no call from
 * before the edge is known, ids tell nothing, and only the client had the kind on. */
static bool began_too_late(uint32_t number, const struct shape *s, const uint8_t *record)
{
	struct edge *e = &when.edge[number % EDGES];
	enum order order = by_ids(s) ? order_of(e, s, record) : UNSURE;

	if (!number || (!s->time[0] && !s->correlation))
		return false;
	if (number + EDGES <= atomic_load(&when.edges))
		return true;
	if (order != UNSURE)
		return order == AFTER;
	if (by_ids(s) && (!s->time[0] || !atomic_load(&e->last)))
		return false;
	return begins_after(e, s, record);
}

/* `kind`: the kind that was switched on for the record. */
static bool in_span(uint32_t kind, const struct shape *s, const uint8_t *record)
{
	struct asked *a = &when.kind[kind];
	uint32_t n = atomic_load(&a->spans), cbid;

	for (uint32_t i = n; i && i + SPANS > n; i--) {
		struct span *span = &a->span[(i - 1) % SPANS];

		if (!began_after(atomic_load(&span->begin), s, record) ||
		    began_too_late(atomic_load(&span->end), s, record))
			continue;
		if (!api_is_call(kind))
			return true;
		cbid = (uint32_t)number_at(record, 4, 4) % CALLS_MOST;
		return calls_has(calls_in(kind, i - 1), cbid);
	}
	return false;
}

bool wants_wanted(const uint8_t *record)
{
	static const struct shape unknown;
	uint32_t kind = (uint32_t)number_at(record, 0, 4);
	const struct shape *s = translate_of(kind) ?: &unknown;

	if (kind >= KIND_MOST)
		return false;
	if (in_span(kind, s, record))
		return true;
	/* Kinds that CUPTI switches on beside another kind. */
	if (kind == KIND_MEMCPY2)
		return in_span(KIND_MEMCPY, s, record);
	if (session.version >= EVENTS_ALONE)
		return false;
	return (kind == KIND_CUDA_EVENT && in_span(KIND_SYNCHRONIZATION, s, record)) ||
	       (kind == KIND_SYNCHRONIZATION && in_span(KIND_CUDA_EVENT, s, record));
}
