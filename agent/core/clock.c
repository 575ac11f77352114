/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/clock.h"
#include "agent/core/sys.h"

#include <string.h>

uint64_t clock_kind = CLOCK_NS;

static struct clock_triple first;	/* from the process's start */

/* Times around the counter; the narrowest of a few tries names one moment best. */
static struct clock_triple triple_now(void)
{
	struct clock_triple best = { 0 };
	uint64_t width = UINT64_MAX;

	for (int i = 0; i < 4; i++) {
		uint64_t before = clock_ticks();
		int64_t real = clock_get_ns(CLOCK_REALTIME);
		int64_t mono = clock_get_ns(CLOCK_MONOTONIC_RAW);
		uint64_t after = clock_ticks();

		if (after - before >= width)
			continue;
		width = after - before;
		best = (struct clock_triple){ before + width / 2, real, mono };
	}
	return best;
}

/* The kernel itself keeps time by the counter only when it found it invariant
 * and the same on all cores: trust its verdict rather than CPUID alone. */
void clock_start(void)
{
#if defined __x86_64__
	char source[32];

	if (sys_read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource",
			  source, sizeof(source)) > 0 && !strncmp(source, "tsc", 3))
		clock_kind = CLOCK_TSC;
#endif
	first = triple_now();
}

void clock_begin(struct spool_header *head)
{
	/* Two triples from the first day, far apart: the rate is known even to those
	 * who read the spool of a process that was killed at once. */
	if (first.ticks) {
		head->clock[0] = first;
		atomic_store_explicit(&head->clocks, 1, memory_order_release);
	}
	clock_sample(head);
}

void clock_sample(struct spool_header *head)
{
	uint64_t n = atomic_load_explicit(&head->clocks, memory_order_relaxed);

	if (n == SPOOL_CLOCKS) {
		/* Full: keep every other one, so that long jobs stay covered. */
		for (uint64_t i = 1; i < SPOOL_CLOCKS / 2; i++)
			head->clock[i] = head->clock[2 * i];
		n = SPOOL_CLOCKS / 2;
		atomic_store_explicit(&head->clocks, n, memory_order_release);
	}
	head->clock[n] = triple_now();
	atomic_store_explicit(&head->clocks, n + 1, memory_order_release);
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
	const struct clock_triple *a = head->clock, *b = head->clock + (n ? n - 1 : 0);

	if (head->clock_kind != CLOCK_TSC || n < 2 || b->mono_ns <= a->mono_ns ||
	    b->ticks <= a->ticks)
		return 1e9;
	return (double)(b->ticks - a->ticks) * 1e9 / (double)(b->mono_ns - a->mono_ns);
}

/* The last triple at or before `ticks`, else the first. */
static const struct clock_triple *before(const struct spool_header *head, uint64_t n,
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

/*
 * Within a window time is a straight line in ticks: a step of CLOCK_REALTIME (an
 * operator's hand, a leap) must not bend it. Between windows the line starts anew at
 * the epoch time of then, so that hosts stay as aligned as NTP keeps them.
 */
struct clock_line clock_line_at(const struct spool_header *head, uint64_t anchor)
{
	uint64_t n = clocks_of(head);
	const struct clock_triple *c;
	struct clock_line line = { 0, 0, 1e9 / clock_rate(head) };

	if (!n)
		return line;
	c = before(head, n, anchor);
	line.ticks = c->ticks;
	line.ns = c->real_ns;
	return line;
}

int64_t clock_real_ns(const struct spool_header *head, uint64_t ticks)
{
	struct clock_line line = clock_line_at(head, ticks);

	return clock_line_ns(&line, ticks);
}
