/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/clock.h"
#include "agent/core/sys.h"

#include <string.h>

uint64_t clock_kind = CLOCK_NS;

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
}

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

/*
 * Epoch time of the first triple plus elapsed raw time: steps of CLOCK_REALTIME
 * (NTP, an operator's hand) must not bend a trace. Raw time between two triples
 * is linear in ticks.
 */
int64_t clock_real_ns(const struct spool_header *head, uint64_t ticks)
{
	uint64_t n = clocks_of(head), lo = 0, hi = n;
	const struct clock_triple *c = head->clock;
	double per_tick;

	if (head->clock_kind != CLOCK_TSC)
		return n ? c[0].real_ns + ((int64_t)ticks - c[0].mono_ns) : (int64_t)ticks;
	if (n < 2)
		return n ? c[0].real_ns : 0;
	while (hi - lo > 1) {
		uint64_t mid = (lo + hi) / 2;

		if (c[mid].ticks <= ticks)
			lo = mid;
		else
			hi = mid;
	}
	if (lo + 1 >= n)
		lo = n - 2;
	c += lo;
	if (c[1].ticks <= c[0].ticks)
		return head->clock[0].real_ns;
	per_tick = (double)(c[1].mono_ns - c[0].mono_ns) / (double)(c[1].ticks - c[0].ticks);
	return head->clock[0].real_ns + (c[0].mono_ns - head->clock[0].mono_ns) +
	       (int64_t)((double)(int64_t)(ticks - c[0].ticks) * per_tick);
}
