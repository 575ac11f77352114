/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of a number, and numbers that are seldom. */
#include "report/scan/digits.h"
#include "report/parse.h"

/* NULL says that no digit is there, which JSON does not allow. */
static const char *skip_some(const char *at)
{
	const char *from = at;

	while (digits_is(*at))
		at++;
	return at > from ? at : NULL;
}

const char *digits_skip(const char *at)
{
	at = skip_some(at + (*at == '-'));
	if (at && *at == '.')
		at = skip_some(at + 1);
	if (at && (*at | 32) == 'e') {
		at++;
		at = skip_some(at + (*at == '+' || *at == '-'));
	}
	return at;
}

/* The number as the parser would have it. */
static struct parse as_parsed(const char *at, const char *end)
{
	return (struct parse){ .text = at, .len = (size_t)(end - at) };
}

const char *digits_odd(const char *at, int64_t *to, bool us, bool positive)
{
	const char *end = digits_skip(at);
	struct parse number;

	if (!end)
		return NULL;
	number = as_parsed(at, end);
	*to = us         ? number_us(&number)
	      : positive ? (int64_t)number_u64(&number)
			 : number_i64(&number);
	return end;
}

/* 15 digits, and a power of ten up to 15, are exact as doubles: so is their quotient, as
 * far as a double can be. */
const char *digits_double(const char *at, double *to)
{
	static const double powers[] = { 1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
					 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
	bool minus = *at == '-';
	const char *end = digits_skip(at), *point = NULL, *p = at + minus;
	struct parse number;
	int64_t n = 0;

	if (!end)
		return NULL;
	for (; p < end && (digits_is(*p) || *p == '.') && p - at < 16; p++) {
		if (*p == '.')
			point = p + 1;
		else
			n = n * 10 + (*p - '0');
	}
	if (p == end) {
		*to = (double)n / powers[point ? end - point : 0];
		*to = minus ? -*to : *to;
		return end;
	}
	number = as_parsed(at, end);
	*to = number_double(&number);
	return end;
}
