/* SPDX-License-Identifier: Apache-2.0 */
/* A value is a letter and its bytes, the lowest first (CPython's Python/marshal.c). */
#include "report/export/marshal.h"

#include <string.h>

#define KEPT 0x80 /* joins a letter: the value has a number from then on */

/* Python's whole numbers are digits of 15 bits. */
#define DIGIT_BITS 15

static void put_bytes(FILE *out, uint64_t n, unsigned bytes)
{
	for (; bytes--; n >>= 8)
		putc((int)(n & 0xff), out);
}

void marshal_dict(FILE *out)
{
	putc('{', out);
}

void marshal_dict_end(FILE *out)
{
	putc('0', out);
}

void marshal_tuple(FILE *out, uint32_t n)
{
	putc('(', out);
	put_bytes(out, n, 4);
}

void marshal_kept(FILE *out, uint32_t n)
{
	putc('(' | KEPT, out);
	put_bytes(out, n, 4);
}

void marshal_again(FILE *out, uint32_t number)
{
	putc('r', out);
	put_bytes(out, number, 4);
}

void marshal_int(FILE *out, uint64_t n)
{
	unsigned digits = 0;

	if (n <= INT32_MAX) {
		putc('i', out);
		put_bytes(out, n, 4);
		return;
	}
	for (uint64_t rest = n; rest; rest >>= DIGIT_BITS)
		digits++;
	putc('l', out);
	put_bytes(out, digits, 4);
	for (; digits--; n >>= DIGIT_BITS)
		put_bytes(out, n & ((1u << DIGIT_BITS) - 1), 2);
}

void marshal_double(FILE *out, double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	putc('g', out);
	put_bytes(out, bits, 8);
}

void marshal_text(FILE *out, const char *text, size_t len)
{
	if (len > INT32_MAX)
		for (len = INT32_MAX; (text[len] & 0xc0) == 0x80;)
			len--;
	putc('u', out);
	put_bytes(out, len, 4);
	fwrite(text, 1, len, out);
}
