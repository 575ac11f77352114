/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and texts of an input description, as c10::IValue prints them: "1." for a
 * double that is whole, "True", "None". */
#include "writer/scalar.h"
#include "writer/json.h"

#include <math.h>

#define WHOLE_END 0x1p63 /* IValue prints whole numbers that an int64 holds as "1." */

/* In the order of c10::ScalarType. `name` is caffe2::TypeMeta's, which torch writes in
 * "Input type"; `word` is c10::toString's, which it writes as a collective's "dtype". */
static const struct scalar_type types[] = {
	{ "Byte", "unsigned char" },
	{ "Char", "signed char" },
	{ "Short", "short int" },
	{ "Int", "int" },
	{ "Long", "long int" },
	{ "Half", "c10::Half" },
	{ "Float", "float" },
	{ "Double", "double" },
	{ "ComplexHalf", "c10::complex<c10::Half>" },
	{ "ComplexFloat", "c10::complex<float>" },
	{ "ComplexDouble", "c10::complex<double>" },
	{ "Bool", "bool" },
	{ "QInt8", "c10::qint8" },
	{ "QUInt8", "c10::quint8" },
	{ "QInt32", "c10::qint32" },
	{ "BFloat16", "c10::BFloat16" },
	{ "QUInt4x2", "c10::quint4x2" },
	{ "QUInt2x4", "c10::quint2x4" },
	{ "Bits1x8", "c10::bits1x8" },
	{ "Bits2x4", "c10::bits2x4" },
	{ "Bits4x2", "c10::bits4x2" },
	{ "Bits8", "c10::bits8" },
	{ "Bits16", "c10::bits16" },
	{ "Float8_e5m2", "c10::Float8_e5m2" },
	{ "Float8_e4m3fn", "c10::Float8_e4m3fn" },
	{ "Float8_e5m2fnuz", "c10::Float8_e5m2fnuz" },
	{ "Float8_e4m3fnuz", "c10::Float8_e4m3fnuz" },
	{ "UInt16", "short unsigned int" },
	{ "UInt32", "unsigned int" },
	{ "UInt64", "long unsigned int" },
	{ "", "c10::dummy_uint1_7_t<1>" },
	{ "", "c10::dummy_uint1_7_t<2>" },
	{ "", "c10::dummy_uint1_7_t<3>" },
	{ "", "c10::dummy_uint1_7_t<4>" },
	{ "", "c10::dummy_uint1_7_t<5>" },
	{ "", "c10::dummy_uint1_7_t<6>" },
	{ "", "c10::dummy_uint1_7_t<7>" },
	{ "", "c10::dummy_int1_7_t<1>" },
	{ "", "c10::dummy_int1_7_t<2>" },
	{ "", "c10::dummy_int1_7_t<3>" },
	{ "", "c10::dummy_int1_7_t<4>" },
	{ "", "c10::dummy_int1_7_t<5>" },
	{ "", "c10::dummy_int1_7_t<6>" },
	{ "", "c10::dummy_int1_7_t<7>" },
	{ "", "c10::Float8_e8m0fnu" },
	{ "", "c10::Float4_e2m1fn_x2" },
};

const struct scalar_type *scalar_type(unsigned dtype)
{
	static const struct scalar_type none;

	return dtype < sizeof(types) / sizeof(*types) ? &types[dtype] : &none;
}

unsigned scalar_byte(struct scalar_walk *w)
{
	if (w->at >= w->end) {
		w->bad = true;
		return IN_END;
	}
	return *w->at++;
}

/* The next `n` bytes, at most eight, in the machine's order; 0 and `bad` where the
 * description ends first. */
static uint64_t next_bytes(struct scalar_walk *w, size_t n)
{
	uint64_t value = 0;

	if ((size_t)(w->end - w->at) < n) {
		w->bad = true;
		w->at = w->end;
		return 0;
	}
	memcpy(&value, w->at, n);
	w->at += n;
	return value;
}

/* One byte for small numbers; 0xf8 to 0xfb say that 1, 2, 4 or 8 bytes follow. */
int64_t scalar_number(struct scalar_walk *w)
{
	unsigned first = scalar_byte(w);

	if (first < 0xf8)
		return (int64_t)first;
	if (first > 0xfb)
		w->bad = true;
	return w->bad ? 0 : (int64_t)next_bytes(w, (size_t)1 << (first - 0xf8));
}

void scalar_put_number(struct text *t, int64_t n)
{
	if (t->end - t->at <= JSON_DIGITS)
		t->at = t->end;
	else
		t->at = json_put_number(t->at, n);
}

static double next_double(struct scalar_walk *w)
{
	uint64_t word = next_bytes(w, 8);
	double d;

	memcpy(&d, &word, 8);
	return d;
}

static void put_double(struct text *t, double d)
{
	if (d >= -WHOLE_END && d < WHOLE_END && d == (double)(int64_t)d) {
		scalar_put_number(t, (int64_t)d);
		text_put(t, ".", 1);
	} else if (t->end - t->at <= JSON_DIGITS) {
		t->at = t->end;
	} else {
		t->at = json_put_double(t->at, d);
	}
}

static void put_complex(struct text *t, struct scalar_walk *w)
{
	double real = next_double(w), imag = next_double(w);

	put_double(t, real);
	text_put(t, imag >= 0 ? "+" : "-", 1);
	put_double(t, fabs(imag));
	text_put(t, "j", 1);
}

static void put_text(struct text *t, struct scalar_walk *w)
{
	int64_t len = scalar_number(w);

	if (len < 0 || len > w->end - w->at) {
		w->bad = true;
		return;
	}
	if (t->end - t->at <= 6 * len)
		t->at = t->end;
	else
		t->at = json_put_escaped(t->at, (const char *)w->at, (size_t)len);
	w->at += len;
}

void scalar_put_value(struct text *t, struct scalar_walk *w, unsigned tag)
{
	int64_t n;

	switch (tag) {
	case IN_INT:
		scalar_put_number(t, scalar_number(w));
		break;
	case IN_DOUBLE:
		put_double(t, next_double(w));
		break;
	case IN_COMPLEX:
		put_complex(t, w);
		break;
	case IN_TRUE:
		text_put(t, "True", 4);
		break;
	case IN_FALSE:
		text_put(t, "False", 5);
		break;
	case IN_SYM: /* 0 means that the symbol has no number */
		if ((n = scalar_number(w)))
			scalar_put_number(t, n);
		break;
	case IN_TEXT:
		put_text(t, w);
		break;
	case IN_OTHER:
	case IN_UNDEFINED:
		text_put(t, "None", 4);
		break;
	default:
		w->bad = true;
	}
}

void scalar_put_list(struct text *t, struct scalar_walk *w)
{
	bool first = true;
	unsigned tag;

	text_put(t, "[", 1);
	while (!w->bad && (tag = scalar_byte(w)) != IN_END) {
		if (!first)
			text_put(t, ", ", 2);
		first = false;
		scalar_put_value(t, w, tag);
	}
	text_put(t, "]", 1);
}
