/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/record_inputs.h"
#include "tests/unit/spool_image.h"
#include "writer/inputs.h"

/* A description, and what torch 2.13 writes for it (concrete, type, strides, dims). */
struct told {
	const char *what;
	size_t len;
	uint8_t blob[80];
	const char *want;
};

#define F64(a, b, c, d, e, f, g, h) a, b, c, d, e, f, g, h
#define TENTH                       F64(0x9a, 0x99, 0x99, 0x99, 0x99, 0x99, 0xb9, 0x3f)
#define ONE                         F64(0, 0, 0, 0, 0, 0, 0xf0, 0x3f)
#define MINUS_ZERO                  F64(0, 0, 0, 0, 0, 0, 0, 0x80)
#define INFINITE                    F64(0, 0, 0, 0, 0, 0, 0xf0, 0x7f)
#define E10                         F64(0, 0, 0, 0x20, 0x5f, 0xa0, 0x02, 0x42) /* 1e10 */

#define SCALAR(text)                                                      \
	"\"Concrete Inputs\":[\"" text "\"],\"Input type\":[\"Scalar\"]," \
	"\"Input Strides\":[[]],\"Input Dims\":[[]],"
#define NOTHING \
	"\"Concrete Inputs\":[\"\"],\"Input type\":[\"\"],\"Input Strides\":[[]],\"Input Dims\":[[]],"

static const struct told rows[] = {
	{ "no arguments", 8, { IN_END }, "" },
	{ "a tensor",
	  8,
	  { IN_TENSOR, 6, 2, 4, 8, 8, 1 },
	  "\"Concrete Inputs\":[\"\"],\"Input type\":[\"float\"],"
	  "\"Input Strides\":[[8, 1]],\"Input Dims\":[[4, 8]]," },
	{ "a tensor without dimensions",
	  8,
	  { IN_TENSOR, 7, 0 },
	  "\"Concrete Inputs\":[\"\"],\"Input type\":[\"double\"],"
	  "\"Input Strides\":[[]],\"Input Dims\":[[]]," },
	{ "a sparse tensor",
	  8,
	  { IN_SPARSE, 15, 2, 3, 3 },
	  "\"Concrete Inputs\":[\"\"],\"Input type\":[\"c10::BFloat16\"],"
	  "\"Input Strides\":[[]],\"Input Dims\":[[3, 3]]," },
	{ "a large dimension",
	  8,
	  { IN_TENSOR, 4, 1, 0xf9, 0x10, 0x27, 1 },
	  "\"Concrete Inputs\":[\"\"],\"Input type\":[\"long int\"],"
	  "\"Input Strides\":[[1]],\"Input Dims\":[[10000]]," },
	{ "a tensor list",
	  16,
	  { IN_TENSORS, IN_TENSOR, 6, 1, 4, 1, IN_TENSOR, 6, 1, 5, 1, IN_END, IN_INT, 0 },
	  "\"Concrete Inputs\":[\"\", \"0\"],\"Input type\":[\"TensorList\", \"Scalar\"],"
	  "\"Input Strides\":[[[1], [1]], []],\"Input Dims\":[[[4], [5]], []]," },
	{ "a tensor list with a hole",
	  16,
	  { IN_TENSORS, IN_TENSOR, 6, 1, 4, 1, IN_UNDEFINED, IN_END },
	  NOTHING },
	{ "an int", 8, { IN_INT, 3 }, SCALAR("3") },
	{ "a negative int",
	  16,
	  { IN_INT, 0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
	  SCALAR("-1") },
	{ "a byte of 248", 8, { IN_INT, 0xf8, 0xf8 }, SCALAR("248") },
	{ "an int of 32 bits", 8, { IN_INT, 0xfa, 0, 0, 0, 0x80 }, SCALAR("2147483648") },
	{ "a tenth", 16, { IN_DOUBLE, TENTH }, SCALAR("0.10000000000000001") },
	{ "one", 16, { IN_DOUBLE, ONE }, SCALAR("1.") },
	{ "minus zero", 16, { IN_DOUBLE, MINUS_ZERO }, SCALAR("0.") },
	{ "infinite", 16, { IN_DOUBLE, INFINITE }, SCALAR("inf") },
	{ "a large whole number", 16, { IN_DOUBLE, E10 }, SCALAR("10000000000.") },
	{ "a complex",
	  24,
	  { IN_COMPLEX, TENTH, MINUS_ZERO },
	  SCALAR("0.10000000000000001+0.j") },
	{ "true", 8, { IN_TRUE }, SCALAR("True") },
	{ "false", 8, { IN_FALSE }, SCALAR("False") },
	{ "a list",
	  8,
	  { IN_SCALARS, IN_INT, 1, IN_INT, 2, IN_END },
	  "\"Concrete Inputs\":[\"[1, 2]\"],\"Input type\":[\"ScalarList\"],"
	  "\"Input Strides\":[[]],\"Input Dims\":[[]]," },
	{ "an empty list",
	  8,
	  { IN_SCALARS, IN_END },
	  "\"Concrete Inputs\":[\"[]\"],\"Input type\":[\"ScalarList\"],"
	  "\"Input Strides\":[[]],\"Input Dims\":[[]]," },
	{ "a text", 8, { IN_TEXT, 3, 'a', '"', 'b' }, SCALAR("a\\\"b") },
	{ "none", 8, { IN_OTHER }, NOTHING },
	{ "a tensor without value", 8, { IN_UNDEFINED }, NOTHING },
	/* damaged ones say nothing, or what can still be said */
	{ "more dimensions than bytes", 8, { IN_TENSOR, 6, 0xf9, 0xff, 0xff }, "" },
	{ "a number of minus one dimensions",
	  16,
	  { IN_TENSOR, 6, 0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
	  "" },
	{ "a double that breaks off", 8, { IN_DOUBLE, 1, 2, 3, 4, 5, 6, 7 }, "" },
	{ "a list without end",
	  8,
	  { IN_SCALARS, IN_INT, 1, IN_INT, 2, IN_INT, 3, IN_INT },
	  "" },
	{ "a text that breaks off", 8, { IN_TEXT, 0xf7, 'a' }, "" },
	{ "an unknown tag", 8, { IN_TAGS }, "" },
	{ "a list in a list", 8, { IN_SCALARS, IN_SCALARS, IN_END, IN_END }, "" },
	{ "an unknown number coding", 8, { IN_INT, 0xfc }, "" },
	{ "an unknown type",
	  8,
	  { IN_TENSOR, 200, 1, 4, 1 },
	  "\"Concrete Inputs\":[\"\"],\"Input type\":[\"\"],"
	  "\"Input Strides\":[[1]],\"Input Dims\":[[4]]," },
};

static char text[2 << 20];

static int collect(void *arg, const char *from, size_t len)
{
	char **at = arg;

	memcpy(*at, from, len);
	*at += len;
	return 0;
}

static const char *written(struct inputs *in, const uint8_t *blob, size_t len)
{
	static char buf[8192];
	char *at = text;
	struct json j;

	json_init(&j, buf, sizeof(buf), collect, &at);
	inputs_write(in, &j, blob, len);
	json_flush(&j);
	*at = '\0';
	return text;
}

START_TEST(arguments_are_spelt_as_torch_does)
{
	const struct told *row = &rows[_i];
	struct inputs *in = inputs_new();

	ck_assert_msg(!strcmp(written(in, row->blob, row->len), row->want), "%s: %s",
		      row->what, text);
	/* Again, now from the cache. */
	ck_assert_msg(!strcmp(written(in, row->blob, row->len), row->want),
		      "%s again: %s", row->what, text);
	inputs_free(in);
}
END_TEST

START_TEST(long_tensor_lists_are_left_out)
{
	struct inputs *in = inputs_new();
	uint8_t blob[160] = { IN_TENSORS }, shorter[160];
	size_t at = 1;

	for (int i = 0; i < 31; i++) {
		memcpy(blob + at, (uint8_t[]){ IN_TENSOR, 6, 1, 4 }, 4);
		blob[at + 4] = 1;
		at += 5;
	}
	memcpy(shorter, blob, sizeof(blob));
	memset(shorter + at - 5, IN_END, 5); /* thirty */
	ck_assert_str_eq(written(in, blob, sizeof(blob)),
			 "\"Concrete Inputs\":[\"\"],\"Input type\":[\"TensorList\"],"
			 "\"Input Strides\":[[]],\"Input Dims\":[[]],");
	ck_assert_ptr_nonnull(strstr(written(in, shorter, sizeof(shorter)),
				     "\"Input Dims\":[[[4], [4], [4], "));
	inputs_free(in);
}
END_TEST

/* More than there are places for. */
START_TEST(each_has_its_own)
{
	static uint8_t blob[3000][8];
	struct inputs *in = inputs_new();
	char want[256];

	for (unsigned i = 0; i < 3000; i++) {
		memcpy(blob[i], (uint8_t[]){ IN_INT, 0xf9, i & 255, i >> 8 }, 4);
		fmt(want, sizeof(want), SCALAR("%u"), i);
		ck_assert_str_eq(written(in, blob[i], 8), want);
	}
	inputs_free(in);
}
END_TEST

START_TEST(no_description_can_overrun_its_text)
{
	struct inputs *in = inputs_new();
	size_t len = 65536;
	uint8_t *blob = malloc(len);

	memset(blob, IN_OTHER, len);
	/* Its text is longer than what we keep for one: then there is none. */
	ck_assert_str_eq(written(in, blob, len), "");
	free(blob);
	/* Each byte of such a text becomes six. */
	len = 400000;
	blob = malloc(len);
	memset(blob, 1, len);
	memcpy(blob, (uint8_t[]){ IN_TEXT, 0xfa, 0, 0, 0, 0 }, 6);
	memcpy(blob + 2, &(uint32_t){ (uint32_t)len - 7 }, 4);
	blob[len - 1] = IN_END;
	ck_assert_str_eq(written(in, blob, len), "");
	free(blob);
	inputs_free(in);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("inputs");

	tcase_add_loop_test(tc, arguments_are_spelt_as_torch_does, 0,
			    (int)(sizeof(rows) / sizeof(*rows)));
	tcase_add_test(tc, long_tensor_lists_are_left_out);
	tcase_add_test(tc, each_has_its_own);
	tcase_add_test(tc, no_description_can_overrun_its_text);
	return unit_run(tc, "writer inputs");
}
