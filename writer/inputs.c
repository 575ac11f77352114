/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/inputs.h"
#include "agent/core/record.h"
#include "writer/pile.h"
#include "writer/scalar.h"

#define SLOTS     2048 /* a power of two */
#define SLOT_TEXT 744
#define TEXT_MOST (1u << 20)
#define LIST_MOST 30 /* torch shows no longer tensor lists */

struct slot {
	uint64_t hash;
	const uint8_t *blob; /* in the spool: compared before the text is used */
	uint32_t blob_len, text_len;
	char text[SLOT_TEXT];
};

struct inputs {
	struct slot slot[SLOTS];
	char text[TEXT_MOST]; /* what is too long for the cache, or not in it yet */
};

static const char *const types[] = {
	"unsigned char",
	"signed char",
	"short int",
	"int",
	"long int",
	"c10::Half",
	"float",
	"double",
	"c10::complex<c10::Half>",
	"c10::complex<float>",
	"c10::complex<double>",
	"bool",
	"c10::qint8",
	"c10::quint8",
	"c10::qint32",
	"c10::BFloat16",
	"c10::quint4x2",
	"c10::quint2x4",
	"c10::bits1x8",
	"c10::bits2x4",
	"c10::bits4x2",
	"c10::bits8",
	"c10::bits16",
	"c10::Float8_e5m2",
	"c10::Float8_e4m3fn",
	"c10::Float8_e5m2fnuz",
	"c10::Float8_e4m3fnuz",
	"short unsigned int",
	"unsigned int",
	"long unsigned int",
	"c10::dummy_uint1_7_t<1>",
	"c10::dummy_uint1_7_t<2>",
	"c10::dummy_uint1_7_t<3>",
	"c10::dummy_uint1_7_t<4>",
	"c10::dummy_uint1_7_t<5>",
	"c10::dummy_uint1_7_t<6>",
	"c10::dummy_uint1_7_t<7>",
	"c10::dummy_int1_7_t<1>",
	"c10::dummy_int1_7_t<2>",
	"c10::dummy_int1_7_t<3>",
	"c10::dummy_int1_7_t<4>",
	"c10::dummy_int1_7_t<5>",
	"c10::dummy_int1_7_t<6>",
	"c10::dummy_int1_7_t<7>",
	"c10::Float8_e8m0fnu",
	"c10::Float4_e2m1fn_x2",
};

/* The four arrays are four looks at the same stream. */
enum look { CONCRETE, TYPE, STRIDES, DIMS };

static void put_numbers(struct scalar_text *t, struct scalar_walk *w, int64_t n,
			bool shown)
{
	if (shown)
		scalar_put(t, "[", 1);
	for (int64_t i = 0; i < n && !w->bad; i++) {
		int64_t value = scalar_number(w);

		if (!shown)
			continue;
		if (i)
			scalar_put(t, ", ", 2);
		scalar_put_number(t, value);
	}
	if (shown)
		scalar_put(t, "]", 1);
}

static void put_type(struct scalar_text *t, unsigned dtype)
{
	const char *name = dtype < sizeof(types) / sizeof(*types) ? types[dtype] : "";

	scalar_put(t, "\"", 1);
	scalar_put(t, name, strlen(name));
	scalar_put(t, "\"", 1);
}

static void tensor(struct scalar_text *t, struct scalar_walk *w, enum input_tag tag,
		   enum look look)
{
	unsigned dtype = scalar_byte(w);
	int64_t ndim = scalar_number(w);

	if (ndim < 0 || ndim > w->end - w->at) {
		w->bad = true;
		return;
	}
	put_numbers(t, w, ndim, look == DIMS);
	if (tag == IN_TENSOR)
		put_numbers(t, w, ndim, look == STRIDES);
	else if (look == STRIDES)
		scalar_put(t, "[]", 2);
	if (look == TYPE)
		put_type(t, dtype);
	else if (look == CONCRETE)
		scalar_put(t, "\"\"", 2);
}

/* What torch writes for an argument that it does not describe. */
static void nothing(struct scalar_text *t, enum look look)
{
	scalar_put(t, look <= TYPE ? "\"\"" : "[]", 2);
}

/* One look at the tensors of a list, behind its tag. Returns how many; `whole` is
 * cleared when one of them has no value (torch then describes none). */
static unsigned tensors_inside(struct scalar_text *t, struct scalar_walk *w,
			       enum look look, bool *whole)
{
	unsigned n = 0, tag;

	while (!w->bad && (tag = scalar_byte(w)) != IN_END) {
		if (tag == IN_TENSOR || tag == IN_SPARSE) {
			if (n++)
				scalar_put(t, ", ", 2);
			tensor(t, w, tag, look);
		} else if (tag == IN_UNDEFINED || tag == IN_OTHER) {
			*whole = false;
		} else {
			w->bad = true;
		}
	}
	return n;
}

static void tensors(struct scalar_text *t, struct scalar_walk *w, enum look look)
{
	struct scalar_text before = *t;
	bool whole = true;
	unsigned n;

	scalar_put(t, "[", 1);
	n = tensors_inside(t, w, look, &whole);
	scalar_put(t, "]", 1);
	if (whole && look >= STRIDES && n <= LIST_MOST)
		return;
	t->at = before.at;
	if (whole && look == TYPE)
		scalar_put(t, "\"TensorList\"", 12);
	else
		nothing(t, look);
}

static void argument(struct scalar_text *t, struct scalar_walk *w, unsigned tag,
		     enum look look)
{
	struct scalar_text before;

	if (tag == IN_TENSOR || tag == IN_SPARSE) {
		tensor(t, w, tag, look);
	} else if (tag == IN_TENSORS) {
		tensors(t, w, look);
	} else if (tag == IN_OTHER || tag == IN_UNDEFINED) {
		nothing(t, look);
	} else {
		/* Read in every look, shown in one. */
		before = *t;
		scalar_put(t, "\"", 1);
		if (tag == IN_SCALARS)
			scalar_put_list(t, w);
		else
			scalar_put_value(t, w, tag);
		scalar_put(t, "\"", 1);
		if (look == CONCRETE)
			return;
		t->at = before.at;
		if (look == TYPE && tag == IN_SCALARS)
			scalar_put(t, "\"ScalarList\"", 12);
		else if (look == TYPE)
			scalar_put(t, "\"Scalar\"", 8);
		else
			scalar_put(t, "[]", 2);
	}
}

static size_t format(struct inputs *in, const uint8_t *blob, size_t len)
{
	static const char *const key[] = { "\"Concrete Inputs\":[", "\"Input type\":[",
					   "\"Input Strides\":[", "\"Input Dims\":[" };
	struct scalar_text t = { in->text, in->text + TEXT_MOST };
	unsigned tag;

	if (!len || blob[0] == IN_END)
		return 0;
	for (enum look look = CONCRETE; look <= DIMS; look++) {
		struct scalar_walk w = { blob, blob + len, false };
		bool first = true;

		scalar_put(&t, key[look], strlen(key[look]));
		while (w.at < w.end && (tag = scalar_byte(&w)) != IN_END) {
			if (!first)
				scalar_put(&t, ", ", 2);
			first = false;
			argument(&t, &w, tag, look);
		}
		if (w.bad)
			return 0;
		scalar_put(&t, "],", 2);
	}
	return t.at < t.end ? (size_t)(t.at - in->text) : 0;
}

static uint64_t hash_of(const uint8_t *blob, size_t len)
{
	uint64_t h = len * 0x9e3779b97f4a7c15ull, word;

	for (; len >= 8; blob += 8, len -= 8) {
		memcpy(&word, blob, 8);
		h = (h ^ word) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	return h;
}

struct inputs *inputs_new(void)
{
	return pile_map(sizeof(struct inputs));
}

void inputs_free(struct inputs *in)
{
	pile_unmap(in, sizeof(*in));
}

void inputs_write(struct inputs *in, struct json *j, const uint8_t *blob, size_t len)
{
	uint64_t hash = hash_of(blob, len & ~(size_t)7);
	struct slot *s = &in->slot[hash & (SLOTS - 1)];
	size_t n;

	if (s->hash == hash && s->blob && s->blob_len == len &&
	    !memcmp(s->blob, blob, len)) {
		json_raw(j, s->text, s->text_len);
		return;
	}
	n = format(in, blob, len);
	json_raw(j, in->text, n);
	if (n > SLOT_TEXT)
		return;
	s->hash = hash;
	s->blob = blob;
	s->blob_len = (uint32_t)len;
	s->text_len = (uint32_t)n;
	memcpy(s->text, in->text, n);
}
