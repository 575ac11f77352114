/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digits - numbers of JSON where they lie.
 *
 * What has an exponent, or more digits than fit, is read as the parser reads numbers.
 *
 * Threads  any.
 * Memory   none; behind the number is a byte that is none of a number's.
 * Errors   NULL: it is no number.
 * Units    of digits_us: nanoseconds, of a number in microseconds.
 */
#ifndef REPORT_SCAN_DIGITS_H
#define REPORT_SCAN_DIGITS_H

#include <stdbool.h>
#include <stdint.h>

/* Behind the number. */
const char *digits_skip(const char *at);
const char *digits_double(const char *at, double *to);
/* For numbers that the functions below leave. `us`: microseconds; `positive`: below 0 is
 * 0, and 64 bits count. */
const char *digits_odd(const char *at, int64_t *to, bool us, bool positive);

static inline bool digits_is(char c)
{
	return (unsigned char)(c - '0') < 10;
}

/* Is the number over here, without fraction or exponent? */
static inline bool digits_end(char c)
{
	return c != '.' && (c | 32) != 'e';
}

static inline const char *digits_i64(const char *at, int64_t *to)
{
	bool minus = *at == '-';
	const char *from = at + minus, *p = from;
	int64_t n = 0;

	for (; digits_is(*p); p++)
		n = (int64_t)((uint64_t)n * 10 + (uint64_t)(*p - '0'));
	if (p == from || p - from > 18 || !digits_end(*p))
		return digits_odd(at, to, false, false);
	*to = minus ? -n : n;
	return p;
}

/* An address: it has no sign. */
static inline const char *digits_u64(const char *at, int64_t *to)
{
	const char *p = at;
	uint64_t n = 0;

	for (; digits_is(*p); p++)
		n = n * 10 + (uint64_t)(*p - '0');
	if (p == at || p - at > 18 || !digits_end(*p))
		return digits_odd(at, to, false, true);
	*to = (int64_t)n;
	return p;
}

static inline const char *digits_us(const char *at, int64_t *to)
{
	bool minus = *at == '-';
	const char *from = at + minus, *p = from, *point;
	int64_t n = 0;

	for (; digits_is(*p); p++)
		n = (int64_t)((uint64_t)n * 10 + (uint64_t)(*p - '0'));
	if (p == from || p - from > 15)
		return digits_odd(at, to, true, false);
	point = p;
	if (*p == '.')
		for (p++; digits_is(*p) && p - point < 4; p++)
			n = n * 10 + (*p - '0');
	if (p - point == 1 || digits_is(*p) || (*p | 32) == 'e')
		return digits_odd(at, to, true, false);
	if (p == point)
		n *= 1000;
	else
		for (const char *q = p; q - point < 4; q++)
			n *= 10;
	*to = minus ? -n : n;
	return p;
}

#endif
