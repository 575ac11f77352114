/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/scalar.h"
#include "agent/core/record.h"
#include "writer/json.h"

#include <math.h>

#define WHOLE_END 0x1p63 /* IValue prints whole numbers that an int64 holds as "1." */

unsigned scalar_byte(struct scalar_walk *w)
{
	if (w->at >= w->end) {
		w->bad = true;
		return IN_END;
	}
	return *w->at++;
}

static uint64_t bytes(struct scalar_walk *w, size_t n)
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

int64_t scalar_number(struct scalar_walk *w)
{
	unsigned first = scalar_byte(w);

	if (first < 0xf8)
		return (int64_t)first;
	if (first > 0xfb)
		w->bad = true;
	return w->bad ? 0 : (int64_t)bytes(w, (size_t)1 << (first - 0xf8));
}

void scalar_put(struct scalar_text *t, const char *text, size_t len)
{
	if ((size_t)(t->end - t->at) <= len) {
		t->at = t->end;
		return;
	}
	memcpy(t->at, text, len);
	t->at += len;
}

void scalar_put_number(struct scalar_text *t, int64_t n)
{
	if (t->end - t->at <= JSON_DIGITS)
		t->at = t->end;
	else
		t->at = json_put_number(t->at, n);
}

static double next_double(struct scalar_walk *w)
{
	uint64_t word = bytes(w, 8);
	double d;

	memcpy(&d, &word, 8);
	return d;
}

static void put_double(struct scalar_text *t, double d)
{
	if (d >= -WHOLE_END && d < WHOLE_END && d == (double)(int64_t)d) {
		scalar_put_number(t, (int64_t)d);
		scalar_put(t, ".", 1);
	} else if (t->end - t->at <= JSON_DIGITS) {
		t->at = t->end;
	} else {
		t->at = json_put_double(t->at, d);
	}
}

static void put_complex(struct scalar_text *t, struct scalar_walk *w)
{
	double real = next_double(w), imag = next_double(w);

	put_double(t, real);
	scalar_put(t, imag >= 0 ? "+" : "-", 1);
	put_double(t, fabs(imag));
	scalar_put(t, "j", 1);
}

static void put_text(struct scalar_text *t, struct scalar_walk *w)
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

void scalar_put_value(struct scalar_text *t, struct scalar_walk *w, unsigned tag)
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
		scalar_put(t, "True", 4);
		break;
	case IN_FALSE:
		scalar_put(t, "False", 5);
		break;
	case IN_SYM: /* 0: it has no number */
		if ((n = scalar_number(w)))
			scalar_put_number(t, n);
		break;
	case IN_TEXT:
		put_text(t, w);
		break;
	case IN_OTHER:
	case IN_UNDEFINED:
		scalar_put(t, "None", 4);
		break;
	default:
		w->bad = true;
	}
}

void scalar_put_list(struct scalar_text *t, struct scalar_walk *w)
{
	bool first = true;
	unsigned tag;

	scalar_put(t, "[", 1);
	while (!w->bad && (tag = scalar_byte(w)) != IN_END) {
		if (!first)
			scalar_put(t, ", ", 2);
		first = false;
		scalar_put_value(t, w, tag);
	}
	scalar_put(t, "]", 1);
}
