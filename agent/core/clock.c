/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of ticks and wall clock, taken now and then while the process runs: between two
 * of them the writer turns ticks into time by a straight line.
 */
#include "agent/core/clock.h"

#include <string.h>

#define JUMP_NS  20000000 /* CLOCK_REALTIME moved by more: that was no drift */
#define STEER_NS 500000 /* how much may be made up for in a second */
#define EDGE_NS  1000000 /* least time from the last triple to one of clock_edge */

uint64_t clock_kind = CLOCK_NS;

static struct clock_triple first; /* from the process's start */

/* Both clocks are read between two looks at the counter; the narrowest of four tries
 * tells best which ticks they belong to. */
static struct clock_triple triple_now(void)
{
	struct clock_triple best = { 0 };
	uint64_t width = UINT64_MAX;

	for (int i = 0; i < 4; i++) {
		uint64_t from = clock_ticks();
		int64_t real = sys_clock_ns(CLOCK_REALTIME);
		int64_t mono = sys_clock_ns(CLOCK_MONOTONIC_RAW);
		uint64_t to = clock_ticks();

		if (to - from >= width)
			continue;
		width = to - from;
		best = (struct clock_triple){ .ticks = from + width / 2,
					      .real_ns = real,
					      .mono_ns = mono };
	}
	return best;
}

/* The kernel itself keeps time by the counter only when it found it invariant
 * and the same on all cores: its verdict is worth more than CPUID's. */
static uint64_t ask_kernel(void)
{
#if defined __x86_64__
	char source[32];

	if (sys_read_file(
		    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
		    source, sizeof(source)) > 0 &&
	    !strncmp(source, "tsc", 3))
		return CLOCK_TSC;
#endif
	return CLOCK_NS;
}

void clock_start_as(uint64_t kind)
{
	clock_kind = kind < CLOCK_UNKNOWN ? kind : ask_kernel();
	first = triple_now();
}

void clock_start(void)
{
	clock_start_as(CLOCK_UNKNOWN);
}

/* Ticks per second from the first triple to `c`. */
static double rate_until(const struct spool_header *head, const struct clock_triple *c)
{
	const struct clock_triple *a = head->clock;

	if (head->clock_kind != CLOCK_TSC || c->mono_ns <= a->mono_ns ||
	    c->ticks <= a->ticks)
		return 1e9;
	return (double)(c->ticks - a->ticks) * 1e9 / (double)(c->mono_ns - a->mono_ns);
}

/*
 * The time that traces tell runs on without a bend or a gap. Its rate until the next
 * triple is decided at each triple and stored: the rate so far, steered towards
 * CLOCK_REALTIME by at most 500 ppm, as adjtime does. So hosts stay as aligned as NTP
 * keeps them, windows that follow each other fit, and what is written now is what would
 * be written later. When the wall clock itself jumps, so does this time, and leap_ns says
 * how far.
 */
static void steer_rate(const struct spool_header *head, uint64_t n,
		       struct clock_triple *c)
{
	const struct clock_triple *last = &head->clock[n - 1];
	double off, most = STEER_NS;

	c->line_ns = last->line_ns +
		     (int64_t)((double)(c->ticks - last->ticks) * last->per_tick);
	c->leap_ns = last->leap_ns;
	off = (double)(c->real_ns - c->line_ns);
	if (off > JUMP_NS || off < -JUMP_NS) {
		c->leap_ns += (int64_t)off;
		c->line_ns += (int64_t)off;
		off = 0;
	}
	c->per_tick = 1e9 / rate_until(head, c);
	c->per_tick *= 1 + (off > most ? most : off < -most ? -most : off) / 1e9;
}

static void add_triple(struct spool_header *head, struct clock_triple now)
{
	uint64_t n = atomic_load_explicit(&head->clocks, memory_order_relaxed);

	if (n == SPOOL_CLOCKS) {
		/* The table is full: every other triple stays, so that a long job is
		 * covered from its begin. */
		for (uint64_t i = 1; i < SPOOL_CLOCKS / 2; i++)
			head->clock[i] = head->clock[2 * i];
		n = SPOOL_CLOCKS / 2;
		atomic_store_explicit(&head->clocks, n, memory_order_release);
	}
	if (!spool_head_has(&head->clock[n], sizeof(head->clock[n])))
		return;
	steer_rate(head, n, &now);
	head->clock[n] = now;
	atomic_store_explicit(&head->clocks, n + 1, memory_order_release);
}

static _Atomic uint32_t busy;

void clock_begin(struct spool_header *head)
{
	struct clock_triple now = triple_now();

	atomic_store(&busy, 0);
	if (!spool_head_has(&head->clock[0], sizeof(head->clock[0])))
		return;
	/* Two triples are there at once, as far apart as can be: so the rate is known
	 * even in the spool of a process that was killed in its first second. */
	head->clock[0] = first.ticks ? first : now;
	head->clock[0].line_ns = head->clock[0].real_ns;
	head->clock[0].per_tick = 1e9 / rate_until(head, &now);
	atomic_store_explicit(&head->clocks, 1, memory_order_release);
	add_triple(head, triple_now());
}

void clock_sample(struct spool_header *head)
{
	uint64_t n;

	/* A thread that takes a triple just now takes it for us, too. */
	if (atomic_exchange_explicit(&busy, 1, memory_order_acquire))
		return;
	n = atomic_load_explicit(&head->clocks, memory_order_relaxed);
	if (n)
		add_triple(head, triple_now());
	atomic_store_explicit(&busy, 0, memory_order_release);
}

void clock_edge(struct spool_header *head)
{
	uint64_t n = atomic_load_explicit(&head->clocks, memory_order_relaxed);

	if (n && sys_clock_ns(CLOCK_MONOTONIC_RAW) - head->clock[n - 1].mono_ns > EDGE_NS)
		clock_sample(head);
}

static uint64_t clocks_of(const struct spool_header *head)
{
	uint64_t n = atomic_load_explicit(&((struct spool_header *)head)->clocks,
					  memory_order_acquire);

	return n > SPOOL_CLOCKS ? SPOOL_CLOCKS : n;
}

double clock_rate(const struct spool_header *head)
{
	uint64_t n = clocks_of(head);

	return rate_until(head, &head->clock[n ? n - 1 : 0]);
}

/* The last triple at or before `ticks`, else the first. */
static const struct clock_triple *triple_at(const struct spool_header *head, uint64_t n,
					    uint64_t ticks)
{
	uint64_t lo = 0, hi = n;

	while (hi - lo > 1) {
		uint64_t mid = (lo + hi) / 2;

		if (head->clock[mid].ticks <= ticks)
			lo = mid;
		else
			hi = mid;
	}
	return &head->clock[lo];
}

/* The epoch time that traces tell at `ticks`; *leap: the wall clock's jumps so far. */
static int64_t told_ns(const struct spool_header *head, uint64_t ticks, int64_t *leap)
{
	uint64_t n = clocks_of(head);
	const struct clock_triple *c = triple_at(head, n, ticks);

	/* The spool may be damaged: a number that does not fit an integer is undefined
	 * behaviour when it is converted. */
	double per_tick = c->per_tick > 0 && c->per_tick < 1e3 ? c->per_tick : 1;
	double ns = (double)(int64_t)(ticks - c->ticks) * per_tick;

	*leap = c->leap_ns;
	if (ns > 1e18 || ns < -1e18)
		return c->line_ns;
	return (int64_t)((uint64_t)c->line_ns + (uint64_t)(int64_t)ns);
}

/* Jumps of the wall clock within the window are taken out of its end: no event may last
 * an hour because somebody has set the clock. */
struct clock_line clock_line_at(const struct spool_header *head, uint64_t begin,
				uint64_t end)
{
	struct clock_line line = { .ticks = begin, .per_tick = 1e9 / clock_rate(head) };
	int64_t before_leaps, after_leaps, last;

	line.ns = line.end_ns = told_ns(head, begin, &before_leaps);
	if (end <= begin)
		return line;
	last = told_ns(head, end, &after_leaps);
	last = (int64_t)((uint64_t)last - (uint64_t)after_leaps + (uint64_t)before_leaps);
	if (last <= line.ns)
		return line;
	line.end_ns = last;
	line.per_tick = (double)(last - line.ns) / (double)(end - begin);
	return line;
}
