/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Poisson sampling by bytes: the gaps between two samples are exponential, so each byte
 * is as likely as any other to be hit, and a block of n bytes is a sample with the
 * probability 1 - exp(-n / mean), whatever came before it.
 */
#include "agent/heap/gap.h"
#include "agent/heap/record.h"

#define LN2      0.69314718055994530942
#define MOST_GAP 9e18 /* fits into the count, and into no address space */

__thread struct heap_gap heap_gap __attribute__((tls_model("initial-exec")));

/* x = m * 2^e with m in [1/sqrt 2, sqrt 2); log m by the series of the area tangent:
 * its first term left out is below 1e-12. */
double heap_gap_log(double x)
{
	union {
		double d;
		uint64_t u;
	} m = { .d = x };
	int e = (int)(m.u >> 52) - 1023;
	double s, q, sum = 0;

	m.u = (m.u & 0xfffffffffffffull) | 1023ull << 52;
	if (m.d > 1.4142135623730951) {
		m.d *= 0.5;
		e++;
	}
	s = (m.d - 1) / (m.d + 1);
	q = s * s;
	for (int i = 15; i >= 1; i -= 2)
		sum = sum * q + 1.0 / i;
	return 2 * s * sum + e * LN2;
}

static uint64_t mix_seed(uint64_t x) /* splitmix64 */
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

void heap_gap_seed(struct heap_gap *g, uint64_t seed)
{
	g->random = mix_seed(seed + 0x9e3779b97f4a7c15ull);
	if (!g->random)
		g->random = 1;
}

void heap_gap_next(struct heap_gap *g, uint64_t mean)
{
	uint64_t r = g->random;
	double gap;

	r ^= r >> 12;
	r ^= r << 25;
	r ^= r >> 27;
	g->random = r;
	r *= 0x2545f4914f6cdd1dull; /* xorshift64*: its upper bits are good */
	/* -mean * log(u) with u even in (0, 1) is distributed exponentially. */
	gap = -heap_gap_log(((double)(r >> 12) + 0.5) * 0x1p-52) * (double)mean;
	g->left = gap < MOST_GAP ? (uint64_t)gap : (uint64_t)MOST_GAP;
}

static _Atomic uint64_t seeds; /* threads that sample so far */

bool heap_sampled_now(size_t size)
{
	struct heap_gap *g = &heap_gap;

	/* `left` is 0 until a thread's first gap is drawn: its first block comes here. */
	if (!g->random) {
		heap_gap_seed(g, heap_settings.seed + atomic_fetch_add(&seeds, 1));
		heap_gap_next(g, heap_settings.sample_bytes);
		if (size <= g->left) {
			g->left -= size;
			return false;
		}
	}
	heap_gap_next(g, heap_settings.sample_bytes);
	if (__builtin_expect(atomic_load_explicit(&heap_dozes, memory_order_relaxed), 0))
		heap_doze_ends();
	return true;
}
