/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz - chance, mutation and a clock for the fuzzers.
 *
 * A fuzzer is an ordinary program built with sanitizers: fuzz_NAME SECONDS [SEED]
 * [FILE...]. It prints its seed and how often it tried; a fault ends it with a report.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t fuzz_state;

static inline uint64_t fuzz_random(void)
{
	fuzz_state ^= fuzz_state << 13;
	fuzz_state ^= fuzz_state >> 7;
	fuzz_state ^= fuzz_state << 17;
	return fuzz_state;
}

static inline uint64_t fuzz_below(uint64_t n)
{
	return n ? fuzz_random() % n : 0;
}

/* Changes some bytes: at random, to odd values, or to a copy of others. */
static inline void fuzz_mutate(uint8_t *bytes, size_t len, unsigned times)
{
	static const uint8_t odd[] = {
		0, 1, 0x7f, 0x80, 0xff, '"', '\\', '\n', '=', ','
	};

	while (len && times--) {
		size_t at = fuzz_below(len);

		switch (fuzz_below(4)) {
		case 0:
			bytes[at] ^= (uint8_t)(1u << fuzz_below(8));
			break;
		case 1:
			bytes[at] = odd[fuzz_below(sizeof(odd))];
			break;
		case 2:
			bytes[at] = (uint8_t)fuzz_random();
			break;
		default: {
			size_t from = fuzz_below(len), n = 1 + fuzz_below(16);

			if (at + n <= len && from + n <= len)
				memmove(bytes + at, bytes + from, n);
		}
		}
	}
}

/* Parses the first two arguments; true until the seconds are over. */
static inline bool fuzz_goes_on(int argc, char **argv)
{
	static time_t until;
	static uint64_t tries;

	if (!until) {
		until = time(NULL) + (argc > 1 ? atol(argv[1]) : 10);
		fuzz_state = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
		fuzz_state = fuzz_state ? fuzz_state : 1;
		printf("seed %llu\n", (unsigned long long)fuzz_state);
		fflush(stdout);
	}
	if (time(NULL) < until)
		return ++tries;
	printf("%llu tries\n", (unsigned long long)tries);
	return false;
}

#define fuzz_require(truth)                                                         \
	do {                                                                        \
		if (!(truth)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #truth); \
			abort();                                                    \
		}                                                                   \
	} while (0)

#endif
