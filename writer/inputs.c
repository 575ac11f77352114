/* SPDX-License-Identifier: Apache-2.0 */
/* An operator's arguments as torch writes them: "Concrete Inputs", "Input type",
 * "Input Strides" and "Input Dims", one entry for each argument in each. */
#include "writer/inputs.h"
#include "base/hash.h"
#include "writer/pile.h"
#include "writer/scalar.h"

#define SLOTS     2048 /* a power of two */
#define SLOT_TEXT 744
#define TEXT_MOST (1u << 20)
#define LIST_MOST 30 /* torch shows no longer tensor lists */

struct slot {
	uint64_t hash;
	const uint8_t *blob; /* in the spool; compared before the text is used */
	uint32_t blob_len, text_len;
	char text[SLOT_TEXT];
};

struct inputs {
	struct slot slot[SLOTS];
	char text[TEXT_MOST]; /* a text too long for the cache, or not in it yet */
};

/* The four arrays come from four looks at the same description. */
enum look { CONCRETE, TYPE, STRIDES, DIMS };

/* Every look reads the numbers, for the description has no index; one look shows them. */
static void put_numbers(struct text *t, struct scalar_walk *w, int64_t n, bool shown)
{
	if (shown)
		text_put(t, "[", 1);
	for (int64_t i = 0; i < n && !w->bad; i++) {
		int64_t value = scalar_number(w);

		if (!shown)
			continue;
		if (i)
			text_put(t, ", ", 2);
		scalar_put_number(t, value);
	}
	if (shown)
		text_put(t, "]", 1);
}

static void put_type(struct text *t, unsigned dtype)
{
	const char *name = scalar_type(dtype)->name;

	text_put(t, "\"", 1);
	text_put(t, name, strlen(name));
	text_put(t, "\"", 1);
}

static void put_tensor(struct text *t, struct scalar_walk *w, enum input_tag tag,
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
		text_put(t, "[]", 2);
	if (look == TYPE)
		put_type(t, dtype);
	else if (look == CONCRETE)
		text_put(t, "\"\"", 2);
}

/* What torch writes for an argument that it does not describe. */
static void put_nothing(struct text *t, enum look look)
{
	text_put(t, look <= TYPE ? "\"\"" : "[]", 2);
}

/* Writes what one look shows of the tensors in a list, behind its tag. Returns how many;
 * clears `whole` when one of them has no value (torch then describes none). */
static unsigned tensors_inside(struct text *t, struct scalar_walk *w, enum look look,
			       bool *whole)
{
	unsigned n = 0, tag;

	while (!w->bad && (tag = scalar_byte(w)) != IN_END) {
		if (tag == IN_TENSOR || tag == IN_SPARSE) {
			if (n++)
				text_put(t, ", ", 2);
			put_tensor(t, w, tag, look);
		} else if (tag == IN_UNDEFINED || tag == IN_OTHER) {
			*whole = false;
		} else {
			w->bad = true;
		}
	}
	return n;
}

static void put_tensors(struct text *t, struct scalar_walk *w, enum look look)
{
	struct text before = *t;
	bool whole = true;
	unsigned n;

	text_put(t, "[", 1);
	n = tensors_inside(t, w, look, &whole);
	text_put(t, "]", 1);
	if (whole && look >= STRIDES && n <= LIST_MOST)
		return;
	t->at = before.at;
	if (whole && look == TYPE)
		text_put(t, "\"TensorList\"", 12);
	else
		put_nothing(t, look);
}

static void put_argument(struct text *t, struct scalar_walk *w, unsigned tag,
			 enum look look)
{
	struct text before;

	if (tag == IN_TENSOR || tag == IN_SPARSE) {
		put_tensor(t, w, tag, look);
	} else if (tag == IN_TENSORS) {
		put_tensors(t, w, look);
	} else if (tag == IN_OTHER || tag == IN_UNDEFINED) {
		put_nothing(t, look);
	} else {
		/* Every look reads the value; only CONCRETE shows it. */
		before = *t;
		text_put(t, "\"", 1);
		if (tag == IN_SCALARS)
			scalar_put_list(t, w);
		else
			scalar_put_value(t, w, tag);
		text_put(t, "\"", 1);
		if (look == CONCRETE)
			return;
		t->at = before.at;
		if (look == TYPE && tag == IN_SCALARS)
			text_put(t, "\"ScalarList\"", 12);
		else if (look == TYPE)
			text_put(t, "\"Scalar\"", 8);
		else
			text_put(t, "[]", 2);
	}
}

/* Puts the four arrays into in->text. Returns the length; 0: there is nothing to
 * write. */
static size_t format_inputs(struct inputs *in, const uint8_t *blob, size_t len)
{
	static const char *const key[] = { "\"Concrete Inputs\":[", "\"Input type\":[",
					   "\"Input Strides\":[", "\"Input Dims\":[" };
	struct text t = { in->text, in->text + TEXT_MOST };
	unsigned tag;

	if (!len || blob[0] == IN_END)
		return 0;
	for (enum look look = CONCRETE; look <= DIMS; look++) {
		struct scalar_walk w = { blob, blob + len, false };
		bool first = true;

		text_put(&t, key[look], strlen(key[look]));
		while (w.at < w.end && (tag = scalar_byte(&w)) != IN_END) {
			if (!first)
				text_put(&t, ", ", 2);
			first = false;
			put_argument(&t, &w, tag, look);
		}
		if (w.bad)
			return 0;
		text_put(&t, "],", 2);
	}
	return t.at < t.end ? (size_t)(t.at - in->text) : 0;
}

struct inputs *inputs_new(void)
{
	return pile_map(sizeof(struct inputs));
}

void inputs_free(struct inputs *in)
{
	pile_unmap(in, sizeof(*in));
}

/* The cache is keyed by the bytes of the description: a training loop calls the same
 * operators with the same shapes. */
void inputs_write(struct inputs *in, struct json *j, const uint8_t *blob, size_t len)
{
	uint64_t hash = hash_bytes(blob, len);
	struct slot *s = &in->slot[hash & (SLOTS - 1)];
	size_t n;

	if (s->hash == hash && s->blob && s->blob_len == len &&
	    !memcmp(s->blob, blob, len)) {
		json_raw(j, s->text, s->text_len);
		return;
	}
	n = format_inputs(in, blob, len);
	json_raw(j, in->text, n);
	if (n > SLOT_TEXT)
		return;
	s->hash = hash;
	s->blob = blob;
	s->blob_len = (uint32_t)len;
	s->text_len = (uint32_t)n;
	memcpy(s->text, in->text, n);
}
