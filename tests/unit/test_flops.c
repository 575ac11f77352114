/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas by input descriptions, also by ones that make no sense, and which operators of
 * a window have numbers. tests/e2e/test_flops.py compares them with torch's own. */
#include "tests/unit/described.h"
#include "tests/unit/spool_image.h"
#include "writer/flops.h"

#define HUGE "4611686018427387904" /* 2^62 */

static int64_t flops_by(const char *name, const char *inputs)
{
	const char *dot = strchr(name, '.');
	size_t len = dot ? (size_t)(dot - name) : strlen(name);
	const struct flops_row *row =
		flops_find(name, len, dot ? dot + 1 : "", dot ? strlen(dot + 1) : 0);

	ck_assert_msg(row != NULL, "%s", name);
	described_as(inputs);
	return flops_of(row, described, described_n);
}

static const struct {
	const char *name, *inputs;
	int64_t flops; /* -1: not computed */
} rows[] = {
	{ "aten::mm", "f4,8 f8,6", 384 },
	{ "aten::mm", "s4,8 f8,6", 384 },
	{ "aten::mm", "f3,0 f0,3", 0 },
	{ "aten::mm", "f0,4 f4,0", 0 },
	{ "aten::mm", "f f", 0 },
	{ "aten::mm", "f4,8", -1 },
	{ "aten::mm", "f4,8 -", -1 },
	{ "aten::mm", "? f8,6", -1 },
	{ "aten::mm", "", -1 },
	{ "aten::mm", "f-4,8 f8,6", -1 },
	{ "aten::mm", "f-4,-8 f8,6", -1 },
	{ "aten::mm", "f" HUGE ",8 f8,6", -1 },
	{ "aten::mm", "f" HUGE ",1 f1,6", -1 },
	{ "aten::mm", "f4,4 x4,6", 384 },
	{ "aten::addmm", "f6 f4,8 f8,6 i1 i1", 384 },
	{ "aten::addmm", "l6 f4,8 f8,6 d d", 384 },
	{ "aten::bmm", "f3,4,8 f3,8,6", 1152 },
	{ "aten::bmm", "f0,4,8 f0,8,6", 0 },
	{ "aten::baddbmm", "f3,4,6 f3,4,8 f3,8,6", 1152 },
	{ "aten::mul", "f4,8 d", 32 },
	{ "aten::mul", "f d", 1 },
	{ "aten::mul", "f2,3,4,5,6,7,8 d", 40320 },
	{ "aten::mul", "f3,0 d", 0 },
	{ "aten::add", "f4,8 f8 i1", 32 },
	{ "aten::add", "i4 f8 i1", -1 },
	{ "aten::add", "f" HUGE ",2 i1", -1 },

	{ "aten::conv2d", "f2,4,9,9 f6,2,3,3 - [2,2 [1,1 [1,1 i2", 10800 },
	{ "aten::conv2d", "f2,4,9,9 f6,4,3,3 - [1,1 [0,0 [2,2 i1", 21600 },
	{ "aten::conv2d", "f4,9,9 f6,4,3,3 - [1,1 [0,0 [1,1 i1", -1 },
	{ "aten::conv2d", "f2,4,9,9 f6,4,3 - [1,1 [0,0 [1,1 i1", -1 },
	{ "aten::conv2d", "f2,4,9,9 f6,4,3,3 - [1,1 - [1,1 i1", -1 },
	{ "aten::conv2d", "f2,4,9,9 f6,4,3,3 - [1 [0,0 [1,1 i1", -1 },
	{ "aten::conv2d", "f2,4,9,9 f6,4,3,3 - [1,1 [0,0 [1,1 i0", -1 },
	{ "aten::conv2d", "f2,4,9,9 f6,4,3,3 - [1,1 [0,0 [1,1 i-1", -1 },
	{ "aten::conv2d", "f2,4,9,9 f6,4,3,3 - [1,1 [0,0 [1,1 -", -1 },
	{ "aten::conv2d", "f2,4,9,9 f6,4,3,3 - [0,1 [0,0 [1,1 i1", -1 },
	{ "aten::conv2d", "f2,4,9,9 f6,4,3,3 - [-1,1 [0,0 [1,1 i1", -1 },
	{ "aten::conv2d", "f2,4,2,9 f6,4,3,3 - [1,1 [0,0 [1,1 i1", -1 },
	{ "aten::conv2d", "f2,4,9,9 f6,4,0,3 - [1,1 [0,0 [1,1 i1", -1 },
	{ "aten::conv2d", "f2,4,9,9 f6,4,3,3 - [1,1 [" HUGE ",0 [1,1 i1", -1 },
	{ "aten::conv2d", "f2,4,9,9 f6,4,3,3 - [1,1 [0,0 [" HUGE ",1 i1", -1 },
	{ "aten::conv2d", "f2,4,9,9 f6,4,3,3 - [1,1 [0,0 [1,1", -1 },

	{ "aten::linear", "f2,3,8 f6,8 f6", 576 },
	{ "aten::mv", "f4,3 f3", 24 },
	{ "aten::addmm_", "f4,6 f4,8 f8,6 i1 i1", 384 },
	{ "aten::_int_mm", "b32,32 b32,32", 65536 },
	{ "aten::_scaled_mm", "x4,4 x4,6 f f", 384 },
	{ "aten::_weight_int8pack_mm", "f4,8 b6,8 f6", 384 },
	{ "aten::_weight_int4pack_mm_for_cpu", "f4,8 b6,4 i8 f", 384 },
	{ "aten::_weight_int4pack_mm", "f4,64 w1,1,32,4 i32 f", 8192 },
	{ "aten::_weight_int4pack_mm", "f4,64 f1,1,32,4 i32 f", -1 },
	{ "aten::_grouped_mm", "f5,4,8 f5,8,6 -", 1920 },
	{ "aten::_grouped_mm", "f10,8 f5,8,6 b5", 960 },
	{ "aten::_grouped_mm", "f5,4,8 f8,6 b5", 384 },
	{ "aten::_grouped_mm", "f4,8 f8,6 b5", 384 },
	{ "aten::_grouped_mm", "f8 f8,6 b5", -1 },
	{ "mkldnn::_linear_pointwise", "f4,8 f6,8 -", 384 },
	{ "mkldnn::_linear_pointwise.binary", "f4,8 f4,6 f6,8 -", 384 },
	{ "quantized::linear", "b4,8 - d i0", -1 },

	{ "aten::convolution", "f2,4,9 f6,4,3 - [1 [0 [1 F [0 i1", 2016 },
	{ "aten::convolution", "f2,4,9,9 f6,2,3,3 - [2,2 [1,1 [1,1 F [0,0 i2", 10800 },
	{ "aten::convolution", "f2,4,9,9 f6,2,3,3 - [2 [1 [1 F [0 i2", 10800 },
	{ "aten::convolution", "f2,4,9,9 f4,6,3,3 - [1,1 [0,0 [1,1 T [0,0 i1", 69984 },
	{ "aten::convolution", "f2,4,9,9 f4,6,3,3 - [1,1 [0,0 [1,1 - [0,0 i1", -1 },
	{ "aten::convolution", "f2,4,9,9 f4,6,3 - [1,1 [0,0 [1,1 F [0,0 i1", -1 },
	{ "aten::convolution", "f4,9 f4,6 - [1 [0 [1 F [0 i1", -1 },
	{ "aten::convolution", "f1,1,1,1,1,1 f1,1,1,1,1,1 - [1 [0 [1 F [0 i1", -1 },
	{ "aten::cudnn_convolution", "f2,4,9,9 f6,2,3,3 [1,1 [2,2 [1,1 i2", 10800 },
	{ "aten::mkldnn_convolution", "f2,4,9,9 f6,2,3,3 - [1,1 [2,2 [1,1 i2", 10800 },
	{ "aten::convolution_backward",
	  "f2,6,5,5 f2,4,9,9 f6,2,3,3 [6 [2,2 [1,1 [1,1 F [0,0 i2 {1,1,1", 21600 },
	{ "aten::convolution_backward",
	  "f2,6,5,5 f2,4,9,9 f6,2,3,3 [6 [2,2 [1,1 [1,1 F [0,0 i2 {0,1,1", 10800 },
	{ "aten::convolution_backward",
	  "f2,6,11,11 f2,4,9,9 f4,6,3,3 - [1,1 [0,0 [1,1 T [0,0 i1 {1,0,0", 69984 },
	{ "aten::convolution_backward",
	  "f2,6,5,5 f2,4,9,9 f6,2,3,3 [6 [2,2 [1,1 [1,1 F [0,0 i2", -1 },
	{ "aten::convolution_backward",
	  "f2,6,5 f2,4,9,9 f6,2,3,3 [6 [2,2 [1,1 [1,1 F [0,0 i2 {1,1,1", -1 },
	{ "aten::convolution_backward",
	  "f2,6,5,5 f2,4,9,9 f6,2,3,3 - [2,2 [1,1 [1,1 F [0,0 i2 [" HUGE "," HUGE ",1",
	  21600 },

	{ "aten::_scaled_dot_product_flash_attention", "f2,2,16,8 f2,2,16,8 f2,2,16,8",
	  32768 },
	{ "aten::_scaled_dot_product_flash_attention", "f2,4,16,8 f2,2,10,8 f2,2,10,4",
	  30720 },
	{ "aten::_scaled_dot_product_flash_attention", "f2,4,16,8 f2,2,10,8 f2,2,11,4",
	  -1 },
	{ "aten::_scaled_dot_product_flash_attention", "f2,4,16,8 f2,2,10,8", -1 },
	{ "aten::_scaled_dot_product_flash_attention", "f4,16,8 f4,16,8 f4,16,8", -1 },
	{ "aten::_scaled_dot_product_flash_attention_backward",
	  "f2,2,16,8 f2,2,16,8 f2,2,16,8 f2,2,16,8", 81920 },
	{ "aten::_flash_attention_forward", "f2,16,2,8 f2,16,2,8 f2,16,2,8 - - i16 i16",
	  32768 },
	{ "aten::_flash_attention_forward", "f2,16,2,8 f2,16,2,8 f2,16,2,8 w3 w3 i16",
	  -1 },
	{ "aten::_efficient_attention_backward",
	  "f2,16,2,8 f2,16,2,8 f2,16,2,8 f2,16,2,8 - f2,16,2,8 -", 81920 },
};

START_TEST(each_formula)
{
	ck_assert_msg(flops_by(rows[_i].name, rows[_i].inputs) == rows[_i].flops,
		      "%s %s: %ld", rows[_i].name, rows[_i].inputs,
		      (long)flops_by(rows[_i].name, rows[_i].inputs));
}
END_TEST

START_TEST(no_cut_description_is_read_beyond_its_end)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct flops_row *row =
			flops_find(rows[i].name, strlen(rows[i].name), "", 0);

		described_as(rows[i].inputs);
		for (size_t n = 0; row && n < described_n; n++) {
			uint8_t *cut = malloc(n + 1);

			memcpy(cut + 1, described, n);
			flops_of(row, cut + 1, n);
			free(cut);
		}
	}
}
END_TEST

/* Sanitizers see what reads or wraps where it must not. */
START_TEST(no_damaged_description_does_harm)
{
	uint64_t x = 88172645463325252ull;

	for (size_t i = 0; i < 2000 * sizeof(rows) / sizeof(*rows); i++) {
		const char *name = rows[i % (sizeof(rows) / sizeof(*rows))].name;
		const struct flops_row *row = flops_find(name, strlen(name), "", 0);

		described_as(rows[i % (sizeof(rows) / sizeof(*rows))].inputs);
		for (unsigned n = 0; n < 3; n++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			described[(x >> 16) % described_n] = (uint8_t)x;
		}
		ck_assert(!row || flops_of(row, described, described_n) >= -1);
	}
}
END_TEST

START_TEST(others_have_no_formula)
{
	static const char *const names[] = {
		"aten::m", "aten::mm2", "aten::relu", "", "aten::mm\0xx", "AddmmBackward0"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		ck_assert_ptr_null(
			flops_find(names[i], i == 4 ? 11 : strlen(names[i]), "out", 3));
	ck_assert_ptr_nonnull(flops_find("aten::mm", 8, "out", 3));
	ck_assert_ptr_null(flops_find("mkldnn::_linear_pointwise.binar", 31, "", 0));
}
END_TEST

/* ---- in a file ---- */

static void add_op(struct spool_image *m, const char *name, uint64_t begin, uint64_t end,
		   const char *inputs)
{
	struct rec_op *op;

	described_as(inputs ? inputs : "");
	op = image_record(m, REC_OP, sizeof(*op) + ((described_n + 7) & ~7ul),
			  image_name(m, name, strlen(name), ""), begin, end);
	op->seq = -1;
	op->r.flags = inputs ? OP_INPUTS : OP_CUT;
	memcpy(op + 1, described, described_n);
}

static struct spool_image *image_of_flops(void)
{
	struct spool_image *m = image_new(1000, 1000000);

	m->config.flops = 1;
	image_thread(m, 7, 1, "main");
	return m;
}

/* Has the nth event of that name such a number? NULL: it has none. */
static void number_is(const struct spool_image *m, const char *name, unsigned n,
		      const char *want)
{
	const char *line = image_event(m, name, n), *at;

	ck_assert_ptr_nonnull(line);
	at = strstr(line, "\"flops\":");
	if (at && at > strchr(line, '\n'))
		at = NULL;
	ck_assert_msg(want ? at && !strncmp(at + 8, want, strlen(want)) : !at,
		      "%s %u: %.300s", name, n, line);
}

#define CONVOLUTION "f2,4,9,9 f6,4,3,3 - [1,1 [0,0 [1,1"
#define ATTENTION   "f2,2,16,8 f2,2,16,8 f2,2,16,8"

START_TEST(work_is_counted_once)
{
	struct spool_image *m = image_of_flops();

	add_op(m, "aten::linear", 2000, 3000, "f4,8 f6,8 -"); /* 384 inside */
	add_op(m, "aten::addmm", 2100, 2900, "f6 f4,8 f8,6");
	add_op(m, "aten::linear", 3100, 4000, "f4,8 f6,8 -"); /* 384 itself */
	add_op(m, "aten::add", 3200, 3300, "f4,6 f6"); /* 24, in it */
	add_op(m, "aten::conv2d", 4100, 5000, CONVOLUTION " i1"); /* 42336 */
	add_op(m, "aten::convolution", 4200, 4900, CONVOLUTION " F [0,0 i1");
	add_op(m, "aten::mm", 4300, 4400, "f2,2 f2,2"); /* 16, in it */
	add_op(m, "aten::conv2d", 5100, 6000, "f4,9,9 f6,4,3,3 - [1,1 [0,0 [1,1 i1");
	add_op(m, "aten::convolution", 5200, 5900, CONVOLUTION " F [0,0 i1"); /* again */
	add_op(m, "aten::_convolution", 5300, 5800, CONVOLUTION " F [0,0 i1");
	image_thread(m, 8, 2, "other");
	add_op(m, "aten::mul", 4200, 4400, "f10 d"); /* 10: another thread */
	image_write(m);
	number_is(m, "aten::linear", 0, NULL);
	number_is(m, "aten::addmm", 0, "384,\"Ev Idx\"");
	number_is(m, "aten::linear", 1, "384,\"flops_source\":\"proflaunch\",");
	number_is(m, "aten::add", 0, "24,");
	number_is(m, "aten::conv2d", 0, "42336,\"Ev Idx\"");
	number_is(m, "aten::convolution", 0, NULL);
	number_is(m, "aten::mm", 0, "16,");
	number_is(m, "aten::conv2d", 1, NULL);
	number_is(m, "aten::convolution", 1, "42336,\"flops_source\"");
	number_is(m, "aten::_convolution", 0, NULL);
	number_is(m, "aten::mul", 0, "10,");
	ck_assert_ptr_nonnull(strstr(m->text, "\"flops\": {\"operators\": 7, "
					      "\"not computed\": 0, \"total\": 85450}"));
	ck_assert_ptr_nonnull(strstr(m->text, "\"with_flops\": 1,"));
	ck_assert_ptr_nonnull(strstr(m->text, "\"record_shapes\": 1,"));
	ck_assert_uint_eq(m->result.flops.total, 85450);
	ck_assert_uint_eq(m->result.flops.window_ns, 999000);
	image_free(m);
}
END_TEST

/* What is not known is counted where nothing inside of it is. */
START_TEST(what_cannot_be_computed_is_counted)
{
	struct spool_image *m = image_of_flops();

	add_op(m, "aten::mm", 2000, 2100, NULL);
	add_op(m, "aten::mm", 2200, 2300, "? f2");
	add_op(m, "quantized::linear", 2400, 2500, "b4,8 -");
	add_op(m, "aten::relu", 2600, 2700, NULL);
	add_op(m, "aten::_scaled_dot_product_flash_attention", 3000, 4000, "? ? ?");
	add_op(m, "aten::_flash_attention_forward", 3100, 3900,
	       "f9,2,8 f9,2,8 f9,2,8 w3 w3");
	add_op(m, "aten::_scaled_dot_product_flash_attention", 5000, 6000, ATTENTION);
	add_op(m, "aten::_flash_attention_forward", 5100, 5900, NULL);
	image_write(m);
	ck_assert_ptr_nonnull(strstr(m->text, "\"flops\": {\"operators\": 1, "
					      "\"not computed\": 4, \"total\": 32768}"));
	image_free(m);
}
END_TEST

START_TEST(the_sum_ends_where_numbers_do)
{
	struct spool_image *m = image_of_flops();

	for (unsigned i = 0; i < 5; i++)
		add_op(m, "aten::mul", 2000 + 100 * i, 2050 + 100 * i, "f" HUGE);
	image_write(m);
	ck_assert_uint_eq(m->result.flops.total, UINT64_MAX);
	image_free(m);
}
END_TEST

START_TEST(without_the_option_there_is_none)
{
	struct spool_image *m = image_new(1000, 1000000);

	m->config.record_shapes = 1;
	image_thread(m, 7, 1, "main");
	add_op(m, "aten::mm", 2000, 3000, "f2,2 f2,2");
	image_write(m);
	number_is(m, "aten::mm", 0, NULL);
	ck_assert_ptr_null(strstr(m->text, "with_flops"));
	ck_assert_ptr_null(strstr(m->text, "\"flops\": {"));
	ck_assert_uint_eq(m->result.flops.operators, 0);
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("flops");

	tcase_add_loop_test(tc, each_formula, 0, sizeof(rows) / sizeof(*rows));
	tcase_add_test(tc, no_cut_description_is_read_beyond_its_end);
	tcase_add_test(tc, no_damaged_description_does_harm);
	tcase_add_test(tc, others_have_no_formula);
	tcase_add_test(tc, work_is_counted_once);
	tcase_add_test(tc, what_cannot_be_computed_is_counted);
	tcase_add_test(tc, the_sum_ends_where_numbers_do);
	tcase_add_test(tc, without_the_option_there_is_none);
	return unit_run(tc, "flops");
}
