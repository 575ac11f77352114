/* SPDX-License-Identifier: Apache-2.0 */
/* These are rare beside operators and calls: the long way is short enough. */
#include "agent/python/pause.h"
#include "agent/core/emit_short.h"

#include <errno.h>

static void put_record(struct thread *t, struct pause *p, struct rec_python as,
		       enum pause_kind kind)
{
	const struct cycle_info *info = emit_info();
	struct rec_python *r = emit_reserve(t, REC_PYTHON, sizeof(*r));

	if (!r)
		return;
	if (!as.r.begin)
		as.r.begin = clock_ticks();
	else if (info && as.r.begin < info->begin)
		as.r.begin = info->begin; /* it began before the window */
	*r = as;
	emit_commit(t, &r->r, REC_PYTHON, (uint8_t)kind, sizeof(*r));
	p->record = r;
	p->cycle = t->cycle;
}

static void put_pause(struct pause *p, struct rec_python as, enum pause_kind kind)
{
	int saved = errno;
	struct thread *t = emit_enter(REC_PYTHON);

	*p = (struct pause){ 0 };
	if (t) {
		put_record(t, p, as, kind);
		emit_leave(t);
	}
	errno = saved;
}

void pause_begin(struct pause *p, enum pause_kind kind, uint32_t of)
{
	struct rec_python as = {
		.r.name = kind == PAUSE_IMPORT ? of : 0,
		.generation = kind == PAUSE_GC ? of : 0,
	};

	put_pause(p, as, kind);
}

void pause_whole(struct pause *p, enum pause_kind kind, uint64_t begin, uint64_t end)
{
	struct rec_python as = { .r.begin = begin, .r.end = end };

	put_pause(p, as, kind);
}

struct pause_cost pause_cost_begin(void)
{
	struct pause_cost c = { .timed = emit_is_sample() };

	if (__builtin_expect(c.timed, 0))
		c.span = cost_begin();
	return c;
}

void pause_cost_end(const struct pause_cost *c, struct pause *p)
{
	if (__builtin_expect(c->timed, 0)) {
		cost_end(c->span, COST_PAUSE);
		p->timed = p->record;
	}
}

/* What was found is there before the end is, which says that it is. */
static void end_record(struct rec_python *r, uint64_t now,
		       const struct pause_found *found)
{
	if (found) {
		r->r.flags |= found->flags;
		r->uncollectable = found->uncollectable;
		r->collected = found->collected;
	}
	__atomic_store_n(&r->r.end, now, __ATOMIC_RELEASE);
}

void pause_end(const struct pause *p, uint64_t now, const struct pause_found *found)
{
	int saved = errno;
	struct thread *t = p->record ? emit_enter(REC_PYTHON) : NULL;

	if (t) {
		if (atomic_load_explicit(&t->emitting, memory_order_relaxed) == p->cycle)
			end_record(p->record, now, found);
		emit_leave(t);
		if (__builtin_expect(p->timed, 0))
			cost_more(now, COST_PAUSE);
	}
	errno = saved;
}
