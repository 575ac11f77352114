/* SPDX-License-Identifier: Apache-2.0 */
/*
 * described - input descriptions (record_inputs.h) from a line of words.
 *
 * A word is an argument: its first letter says what, numbers with commas follow.
 *   f2,3  a tensor of floats (b of bytes, w of 32-bit numbers, x of pairs of 4 bits)
 *   s2,3  a sparse one          ?  one without value     l2,3  a list with one of floats
 *   [1,2  a list of numbers     {1,0  one of truths      i7    a number
 *   T F   truths                d  a double              -     None
 *
 * Threads  one.
 * Memory   static; until the next call.
 * Errors   a failed Check assertion.
 * Units    elements.
 */
#ifndef TESTS_DESCRIBED_H
#define TESTS_DESCRIBED_H

#include "agent/core/record_inputs.h"
#include "tests/unit/unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint8_t described[4096];
static size_t described_n;

static inline void described_byte(unsigned byte)
{
	ck_assert_uint_lt(described_n, sizeof(described));
	described[described_n++] = (uint8_t)byte;
}

static inline void described_number(long long n)
{
	described_byte(0xfb);
	for (unsigned i = 0; i < 64; i += 8)
		described_byte((unsigned)((uint64_t)n >> i & 0xff));
}

static inline void described_tensor(char kind, const long long *dims, size_t n)
{
	static const uint8_t dtypes[] = { ['f'] = 6, ['s'] = 6, ['x'] = 45, ['w'] = 3 };

	described_byte(kind == 's' ? IN_SPARSE : IN_TENSOR);
	described_byte(kind == 'b' ? 0 : dtypes[(unsigned char)kind]);
	described_byte((unsigned)n);
	for (size_t i = 0; i < n; i++)
		described_number(dims[i]);
	for (size_t i = 0; i < n && kind != 's'; i++)
		described_number(1);
}

static inline void described_list(char kind, const long long *numbers, size_t n)
{
	described_byte(kind == 'l' ? IN_TENSORS : IN_SCALARS);
	if (kind == 'l')
		described_tensor('f', numbers, n);
	for (size_t i = 0; i < n && kind != 'l'; i++) {
		described_byte(kind == '[' ? IN_INT : numbers[i] ? IN_TRUE : IN_FALSE);
		if (kind == '[')
			described_number(numbers[i]);
	}
	described_byte(IN_END);
}

static inline void described_plain(char kind, const long long *numbers)
{
	static const uint8_t tags[] = {
		['i'] = IN_INT,    ['T'] = IN_TRUE,  ['F'] = IN_FALSE,
		['d'] = IN_DOUBLE, ['-'] = IN_OTHER, ['?'] = IN_UNDEFINED
	};

	described_byte(tags[(unsigned char)kind]);
	if (kind == 'i')
		described_number(numbers[0]);
	for (unsigned i = 0; i < 8 && kind == 'd'; i++)
		described_byte(0x3f);
}

static inline void described_as(const char *text)
{
	long long numbers[16];

	described_n = 0;
	while (*text) {
		char kind = *text++, *end;
		size_t n = 0;

		while (*text && *text != ' ') {
			ck_assert_uint_lt(n, 16);
			numbers[n++] = strtoll(text, &end, 10);
			ck_assert_ptr_ne(end, text);
			text = end + (*end == ',');
		}
		text += *text == ' ';
		if (strchr("fbwxs", kind))
			described_tensor(kind, numbers, n);
		else if (strchr("[{l", kind))
			described_list(kind, numbers, n);
		else
			described_plain(kind, numbers);
	}
	described_byte(IN_END);
}

#endif
