/* SPDX-License-Identifier: Apache-2.0 */
/* The values of numbers in JSON. */
#include "report/parse.h"

#include <stdlib.h>
#include <string.h>

/* The digits before the point; UINT64_MAX where they are too many. */
static uint64_t whole_part(const struct parse *p, size_t *at)
{
	uint64_t n = 0;

	for (*at = *p->text == '-'; *at < p->len; ++*at) {
		unsigned digit = (unsigned)(p->text[*at] - '0');

		if (digit > 9)
			break;
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, digit, &n))
			n = UINT64_MAX;
		if (n == UINT64_MAX)
			break;
	}
	return n;
}

/* Has the number an exponent? Then a double is exact enough. */
static bool has_exponent(const struct parse *p)
{
	return memchr(p->text, 'e', p->len) || memchr(p->text, 'E', p->len);
}

double number_double(const struct parse *p)
{
	char copy[64];
	size_t len = p->len < sizeof(copy) ? p->len : sizeof(copy) - 1;

	memcpy(copy, p->text, len);
	copy[len] = '\0';
	return strtod(copy, NULL);
}

static int64_t clamp_to_i64(double d)
{
	return d > -9.2e18 && d < 9.2e18 ? (int64_t)d : d > 0 ? INT64_MAX : INT64_MIN;
}

uint64_t number_u64(const struct parse *p)
{
	size_t at;

	if (!p->len || *p->text == '-')
		return 0;
	return has_exponent(p) ? (uint64_t)clamp_to_i64(number_double(p))
			       : whole_part(p, &at);
}

/* Gives n the sign that the text has. */
static int64_t signed_number(const struct parse *p, uint64_t n)
{
	if (n > INT64_MAX)
		return *p->text == '-' ? INT64_MIN : INT64_MAX;
	return *p->text == '-' ? -(int64_t)n : (int64_t)n;
}

int64_t number_i64(const struct parse *p)
{
	size_t at;

	if (!p->len)
		return 0;
	return has_exponent(p) ? clamp_to_i64(number_double(p))
			       : signed_number(p, whole_part(p, &at));
}

/* Goes by digits, not by a double: the 19 digits of an absolute time do not fit one. */
int64_t number_us(const struct parse *p)
{
	uint64_t n, part = 0;
	size_t at;

	if (!p->len)
		return 0;
	if (has_exponent(p))
		return clamp_to_i64(number_double(p) * 1e3);
	n = whole_part(p, &at);
	if (n > INT64_MAX / 1000 - 1)
		return signed_number(p, UINT64_MAX);
	for (unsigned i = 1; i <= 3; i++) {
		bool is = at + i < p->len && p->text[at] == '.' &&
			  p->text[at + i] >= '0' && p->text[at + i] <= '9';

		part = part * 10 + (is ? (uint64_t)(p->text[at + i] - '0') : 0);
	}
	return signed_number(p, n * 1000 + part);
}
