/* SPDX-License-Identifier: Apache-2.0 */
/* SSE2, which every x86-64 has, and AVX2. */
#include "report/scan/find_sets.h"

#ifdef __x86_64__

#include <immintrin.h>

/* ---- SSE2: 16 bytes ---- */

/* A byte is a control character where the smaller of it and 0x1f is itself. */
static const char *sse2_text_end(const char *at)
{
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
	const __m128i control = _mm_set1_epi8(0x1f);

	for (;; at += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)at);
		__m128i ends = _mm_or_si128(_mm_cmpeq_epi8(v, quote),
					    _mm_cmpeq_epi8(v, backslash));
		unsigned mask;

		ends = _mm_or_si128(ends, _mm_cmpeq_epi8(_mm_min_epu8(v, control), v));
		mask = (unsigned)_mm_movemask_epi8(ends);
		if (mask)
			return at + __builtin_ctz(mask);
	}
}

/* Four vectors give one mask, whose lowest bit is the first byte's. */
static uint64_t sse2_equal(const __m128i v[4], char c)
{
	const __m128i want = _mm_set1_epi8(c);
	uint64_t mask = 0;

	for (unsigned i = 0; i < 4; i++)
		mask |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v[i], want))
			<< 16 * i;
	return mask;
}

/* Every x86-64 CPU has SSE2, so that this needs no test of the CPU. */
static const char *sse2_nest_end(const char *at, const char *end)
{
	struct find_nest n = { .from = at };
	const char *behind;

	for (; at < end; at += 64) {
		struct find_masks m;
		__m128i v[4];

		for (unsigned i = 0; i < 4; i++)
			v[i] = _mm_loadu_si128((const __m128i *)at + i);
		m.quote = sse2_equal(v, '"');
		m.backslash = sse2_equal(v, '\\');
		/* [ and { differ by this bit, and ] and }. */
		for (unsigned i = 0; i < 4; i++)
			v[i] = _mm_or_si128(v[i], _mm_set1_epi8(0x20));
		m.open = sse2_equal(v, '{');
		m.close = sse2_equal(v, '}');
		if (find_is_over(&m, &n, at, end, &behind))
			return behind;
	}
	return NULL;
}

const struct find_set find_sse2 = { "sse2", sse2_text_end, sse2_nest_end };

/* ---- AVX2: 32 bytes ---- */

#define AVX2 __attribute__((target("avx2,popcnt,bmi")))

AVX2 static const char *avx2_text_end(const char *at)
{
	const __m256i quote = _mm256_set1_epi8('"'), backslash = _mm256_set1_epi8('\\');
	const __m256i control = _mm256_set1_epi8(0x1f);

	for (;; at += 32) {
		__m256i v = _mm256_loadu_si256((const __m256i *)at);
		__m256i ends = _mm256_or_si256(_mm256_cmpeq_epi8(v, quote),
					       _mm256_cmpeq_epi8(v, backslash));
		unsigned mask;

		ends = _mm256_or_si256(ends,
				       _mm256_cmpeq_epi8(_mm256_min_epu8(v, control), v));
		mask = (unsigned)_mm256_movemask_epi8(ends);
		if (mask)
			return at + __builtin_ctz(mask);
	}
}

AVX2 static inline uint64_t avx2_equal(const __m256i v[2], char c)
{
	const __m256i want = _mm256_set1_epi8(c);
	unsigned low = (unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v[0], want));
	unsigned high = (unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v[1], want));

	return low | (uint64_t)high << 32;
}

AVX2 static const char *avx2_nest_end(const char *at, const char *end)
{
	struct find_nest n = { .from = at };
	const char *behind;

	for (; at < end; at += 64) {
		struct find_masks m;
		__m256i v[2];

		for (unsigned i = 0; i < 2; i++)
			v[i] = _mm256_loadu_si256((const __m256i *)at + i);
		m.quote = avx2_equal(v, '"');
		m.backslash = avx2_equal(v, '\\');
		for (unsigned i = 0; i < 2; i++)
			v[i] = _mm256_or_si256(v[i], _mm256_set1_epi8(0x20));
		m.open = avx2_equal(v, '{');
		m.close = avx2_equal(v, '}');
		if (find_is_over(&m, &n, at, end, &behind))
			return behind;
	}
	return NULL;
}

const struct find_set find_avx2 = { "avx2", avx2_text_end, avx2_nest_end };

#else

typedef int find_x86_has_nothing_here;

#endif
