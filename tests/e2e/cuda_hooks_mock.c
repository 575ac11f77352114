/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library with every function of one hook table. Each tells what it was given: all
 * registers that carry arguments and 160 bytes of stack, as one number.
 * -DTABLE="agent/cuda/cudart.def"; -DVARIANT: a number that goes into results;
 * -DSHALLOW: only the first argument does.
 */
#include <errno.h>
#include <stdint.h>

#ifndef VARIANT
#define VARIANT 1
#endif

struct two {
	uint64_t first, second;
};

#define WORDS(DO) \
	DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12)
#define STACK(DO) WORDS(DO) DO(13) DO(14) DO(15) DO(16) DO(17) DO(18) DO(19)

static int zero; /* say success */

__attribute__((visibility("default"))) void mock_succeed(int yes);

void mock_succeed(int yes)
{
	zero = yes;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x100000001b3u;
	return hash ^ hash >> 29;
}

static struct two told(const char *name, const uint64_t *word, unsigned n)
{
	uint64_t hash = VARIANT;

	for (; *name; name++)
		hash = mix(hash, (unsigned char)*name);
	for (unsigned i = 0; i < n; i++)
		hash = mix(hash, word[i]);
	errno = (int)(hash % 97);
	return (struct two){ zero ? hash << 32 : hash | 1, mix(hash, 1) };
}

static uint64_t bits(double d)
{
	union {
		double d;
		uint64_t word;
	} u = { d };

	return u.word;
}

/* What lies on the stack depends on the function: COMM hands on 160 bytes, others 64. */
#define DEEP_COMM          20
#define DEEP(kind)         DEEP_##kind
#define DEEP_CALL          8
#define DEEP_SYNC          8
#define DEEP_INIT          8
#define DEEP_LAUNCH        8
#define DEEP_LAUNCH_DRIVER 8
#define DEEP_LAUNCH_CONFIG 8
#define DEEP_GRAPH         8
#define DEEP_CAPTURE       8
#define DEEP_RESET         8
#define DEEP_REGISTER      8
#define DEEP_SAME          8
#define DEEP_NAMED         8
#define DEEP_ENTRY         8
#define DEEP_COLLECTIVE    8
#define DEEP_COMM_END      8

#ifdef SHALLOW /* the first argument only: callers need not give all */
#define SEEN(kind) 1
#else
#define SEEN(kind) (14 + DEEP(kind))
#endif

#define PARAMETER(i) , uint64_t s##i
#define WORD(i)      s##i,

#define HOOK(group, symbol, kind, ...)                                                  \
	__attribute__((visibility("default"))) struct two symbol(                       \
		uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, \
		double g, double h, double i, double j, double k, double l, double m,   \
		double n STACK(PARAMETER));                                             \
	struct two symbol(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,   \
			  uint64_t f, double g, double h, double i, double j, double k, \
			  double l, double m, double n STACK(PARAMETER))                \
	{                                                                               \
		const uint64_t word[] = {                                               \
			a,       b,       c,       d,       e,                          \
			f,       bits(g), bits(h), bits(i), bits(j),                    \
			bits(k), bits(l), bits(m), bits(n), STACK(WORD)                 \
		};                                                                      \
                                                                                        \
		return told(#symbol, word, SEEN(kind));                                 \
	}
#include TABLE
