/* SPDX-License-Identifier: Apache-2.0 */
/* Moments in which CUPTI's clock and ours were read together. */
#include "agent/cupti/flow/moments.h"
#include "agent/core/clock.h"
#include "agent/cupti/lib/session.h"
#include "base/seldom.h"

#include <string.h>

/* Moments at which both clocks were read; what lies between is straight. */
#define MOMENTS 64u
#define TRIES   16
#define FAR_NS  10000000.0
#define JUMP_NS 100000000.0

static SELDOM struct {
	struct rec_moment at[MOMENTS];
	uint64_t n;
} moments;

static const struct rec_moment *nth_moment(uint64_t i)
{
	return &moments.at[i % MOMENTS];
}

static void read_clocks(struct rec_moment *m)
{
	uint64_t from = clock_ticks(), ns = 0, to;

	/* Where CUPTI does not answer CLOCK_REALTIME serves: it is CUPTI's clock. */
	if (session.state != SESSION_READY || cupti.GetTimestamp(&ns) || !ns)
		ns = (uint64_t)sys_clock_ns(CLOCK_REALTIME);
	to = clock_ticks();
	m->r.begin = from + (to - from) / 2;
	m->r.end = ns;
	m->error = (to - from) / 2 + 1;
}

const struct rec_moment *moments_take(void)
{
	static uint64_t finest = UINT32_MAX;
	struct rec_moment best = { .error = UINT64_MAX }, m = { 0 };

	/* Until a reading is as good as the finest: something may come in between. */
	for (int i = 0; i < TRIES && (i < 2 || best.error > 2 * finest); i++) {
		read_clocks(&m);
		if (m.error < best.error)
			best = m;
	}
	if (best.error < finest)
		finest = best.error;
	moments.at[moments.n++ % MOMENTS] = best;
	return nth_moment(moments.n - 1);
}

void moments_write(struct side *side, const struct rec_moment *m)
{
	struct rec_moment *r = side_reserve(side, REC_MOMENT, sizeof(*r));

	if (!r)
		return;
	*r = *m;
	r->r.name = 0;
	side_commit(side, &r->r, REC_MOMENT, 0, sizeof(*r));
}

void moments_replay(struct side *side)
{
	if (moments.n)
		moments_write(side, nth_moment(moments.n - 1));
}

/* ns per tick from one moment to a later one. Beyond the two moments the slope is worth
 * something only when they are far enough apart. */
static double clock_slope(const struct rec_moment *a, const struct rec_moment *b,
			  bool between)
{
	double ns = (double)(int64_t)(b->r.end - a->r.end);
	double ticks = (double)(int64_t)(b->r.begin - a->r.begin);
	double usual = 1e9 / clock_rate(spool.head);
	double off = ns - ticks * usual;

	/* The wall clock was set between the moments: on both sides of the jump the rate
	 * is the usual one. */
	if (ticks <= 0 || off > JUMP_NS || off < -JUMP_NS)
		return usual;
	return between || ns > FAR_NS ? ns / ticks : usual;
}

uint64_t moments_ns(uint64_t ticks)
{
	uint64_t oldest = moments.n > MOMENTS ? moments.n - MOMENTS : 0, i = moments.n;
	const struct rec_moment *a, *b;
	bool between;

	if (!moments.n)
		return 0;
	while (i > oldest + 1 && (int64_t)(nth_moment(i - 1)->r.begin - ticks) > 0)
		i--;
	a = nth_moment(i - 1); /* the last moment before, or the first */
	between = i < moments.n && (int64_t)(ticks - a->r.begin) >= 0;
	b = i < moments.n ? nth_moment(i) : a;
	if (a == b && i - 1 > oldest)
		a = nth_moment(i - 2);
	return b->r.end + (uint64_t)(int64_t)((double)(int64_t)(ticks - b->r.begin) *
					      clock_slope(a, b, between));
}

uint64_t moments_now(void)
{
	return moments_ns(clock_ticks());
}

void moments_fork_child(void)
{
	memset(&moments, 0, sizeof(moments));
}
