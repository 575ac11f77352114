/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marshal_read - what marshal.load makes of bytes, as repr() would print it.
 *
 * Threads  one.
 * Memory   bytes and output are the caller's; places of kept tuples.
 * Errors   fail the test: an unknown letter, a number of no tuple, an early end.
 * Units    bytes.
 */
#ifndef TESTS_MARSHAL_READ_H
#define TESTS_MARSHAL_READ_H

#include "tests/unit/unit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct marshal_read {
	const unsigned char *at, *end;
	const unsigned char *kept[1 << 12]; /* where each kept tuple is */
	size_t kept_n;
	FILE *out;
};

static inline uint64_t marshal_read_bytes(struct marshal_read *r, unsigned n)
{
	uint64_t all = 0;

	ck_assert_msg(r->end - r->at >= n, "the bytes end early");
	for (unsigned i = 0; i < n; i++)
		all |= (uint64_t)*r->at++ << 8 * i;
	return all;
}

static inline bool marshal_read_value(struct marshal_read *r);

static inline void marshal_read_tuple(struct marshal_read *r)
{
	uint64_t n = marshal_read_bytes(r, 4);

	putc('(', r->out);
	for (uint64_t i = 0; i < n; i++) {
		fputs(i ? ", " : "", r->out);
		ck_assert(marshal_read_value(r));
	}
	putc(')', r->out);
}

static inline void marshal_read_dict(struct marshal_read *r)
{
	bool first = true;

	putc('{', r->out);
	while (r->at < r->end && *r->at != '0') {
		fputs(first ? "" : ", ", r->out);
		first = false;
		ck_assert(marshal_read_value(r));
		fputs(": ", r->out);
		ck_assert(marshal_read_value(r));
	}
	ck_assert_uint_eq(marshal_read_bytes(r, 1), '0');
	putc('}', r->out);
}

static inline void marshal_read_long(struct marshal_read *r)
{
	uint64_t digits = marshal_read_bytes(r, 4), n = 0;

	for (uint64_t i = 0; i < digits; i++) {
		uint64_t digit = marshal_read_bytes(r, 2);

		ck_assert_uint_lt(digit, 1u << 15);
		ck_assert(digit || i + 1 < digits);
		n |= digit << 15 * i;
	}
	fprintf(r->out, "%" PRIu64, n);
}

static inline void marshal_read_again(struct marshal_read *r)
{
	uint64_t number = marshal_read_bytes(r, 4);
	const unsigned char *back = r->at;

	ck_assert_uint_lt(number, r->kept_n);
	r->at = r->kept[number];
	marshal_read_tuple(r);
	r->at = back;
}

static inline bool marshal_read_value(struct marshal_read *r)
{
	unsigned letter = (unsigned)marshal_read_bytes(r, 1);
	uint64_t bits;
	double x;

	if (letter & 0x80) {
		ck_assert_uint_lt(r->kept_n, 1 << 12);
		r->kept[r->kept_n++] = r->at;
	}
	switch (letter & 0x7f) {
	case '(':
		marshal_read_tuple(r);
		return true;
	case '{':
		marshal_read_dict(r);
		return true;
	case 'i':
		fprintf(r->out, "%" PRId32, (int32_t)marshal_read_bytes(r, 4));
		return true;
	case 'l':
		marshal_read_long(r);
		return true;
	case 'r':
		marshal_read_again(r);
		return true;
	case 'g':
		bits = marshal_read_bytes(r, 8);
		memcpy(&x, &bits, sizeof(x));
		fprintf(r->out, "%.9g", x);
		return true;
	case 'u':
		bits = marshal_read_bytes(r, 4);
		ck_assert_uint_le(bits, (uint64_t)(r->end - r->at));
		fprintf(r->out, "'%.*s'", (int)bits, r->at);
		r->at += bits;
		return true;
	}
	ck_abort_msg("unknown letter %#x", letter);
	return false;
}

/* All of the bytes are one value. */
static inline void marshal_read(const void *bytes, size_t len, FILE *out)
{
	static struct marshal_read r;

	r = (struct marshal_read){ .at = bytes,
				   .end = (const unsigned char *)bytes + len,
				   .out = out };
	ck_assert(marshal_read_value(&r));
	ck_assert_ptr_eq(r.at, r.end);
}

#endif
