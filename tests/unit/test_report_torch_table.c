/* SPDX-License-Identifier: Apache-2.0 */
/* The table in the form of torch 2.13 (profiler_util.py);
 * tests/e2e/test_report_operators.py compares it with those that torch prints. */
#include "report/view/torch_table.h"
#include "tests/unit/operators_trace.h"

static bool fine;

/* The table by name of the model as it is. */
static const char *table_read(void)
{
	FILE *out;

	operators_free(&found);
	ck_assert(
		operators_make(&found, &model, OPERATORS_BY_NAME, INT64_MIN, INT64_MAX));
	free(said);
	out = open_memstream(&said, &said_len);
	fine = torch_table_print(out, &model, &found, &TORCH_TABLE_OPTIONS);
	fclose(out);
	return said;
}

/* The table by name; options of torch's own where `o` is NULL. */
static const char *table_by(enum operators_by by, const struct torch_table_options *o)
{
	FILE *out;

	operators_of(by, INT64_MIN, INT64_MAX);
	free(said);
	out = open_memstream(&said, &said_len);
	fine = torch_table_print(out, &model, &found, o ? o : &TORCH_TABLE_OPTIONS);
	fclose(out);
	return said;
}

static const char *table(const struct torch_table_options *o)
{
	return table_by(OPERATORS_BY_NAME, o);
}

static const char *sorted(const char *sort_by)
{
	struct torch_table_options o = TORCH_TABLE_OPTIONS;

	o.sort_by = sort_by;
	return table(&o);
}

/* Are the words there, one behind the other? */
static bool in_order(const char *all, const char *first, const char *second)
{
	const char *at = strstr(all, first);

	return at && strstr(at, second);
}

#define RULE                                                                             \
	"--------  ------------  ------------  ------------  ------------  ------------" \
	"  ------------  \n"

START_TEST(a_table_of_operators)
{
	op("mine", 0, 1500);
	op("a", 10, 0.0015);
	op("a", 20, 0.002);
	ck_assert_str_eq(
		table(NULL), RULE
		"    Name    Self CPU %      Self CPU   CPU total %     CPU total  "
		"CPU time avg    # of Calls  \n" RULE
		"    mine       100.00%       1.500ms       100.00%       1.500ms  "
		"     1.500ms             1  \n"
		"       a         0.00%       0.004us         0.00%       0.004us  "
		"     0.002us             2  \n" RULE "Self CPU time total: 1.500ms\n");
	ck_assert(fine);
}
END_TEST

START_TEST(nothing_is_printed_of_nothing)
{
	ck_assert_str_eq(table(NULL), "");
	ck_assert(fine);
}
END_TEST

START_TEST(keys_have_torchs_spellings)
{
	static const char *const keys[] = { "cpu_time",
					    "cuda_time",
					    "device_time_total",
					    "self_xpu_time_total",
					    "self_privateuse1_memory_usage",
					    "cpu_memory_usage",
					    "count" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		ck_assert_msg(torch_table_knows(keys[i]), "%s", keys[i]);
	ck_assert(!torch_table_knows("self_cpu_time"));
	ck_assert(!torch_table_knows(""));
	ck_assert(!torch_table_knows(
		"cudacudacudacudacudacudacudacudacudacudacudacudacuda"));
	op("a", 0, 1);
	sorted("self_cpu_time");
	ck_assert(!fine);
}
END_TEST

START_TEST(rows_are_sorted_and_ties_stay_in_order)
{
	op("ay", 0, 10);
	op("bee", 20, 10);
	op("sea", 40, 20);
	ck_assert(in_order(sorted("cpu_time_total"), " sea ", " ay "));
	ck_assert(in_order(said, " ay ", " bee "));
}
END_TEST

START_TEST(rows_beyond_the_limit_are_in_the_sums)
{
	struct torch_table_options o = TORCH_TABLE_OPTIONS;

	o.row_limit = 1;
	op("ay", 0, 10);
	op("bee", 20, 30);
	says(table(&o), " ay        25.00%");
	ck_assert_ptr_null(strstr(said, "bee"));
	says(said, "Self CPU time total: 40.000us");
}
END_TEST

#define LONG "0123456789012345678901234567890123456789012345678901"

/* Of 52 characters, too, as torch does; and characters count, not bytes. */
START_TEST(long_names_are_cut)
{
	op(LONG, 0, 10);
	op("\\u00e9" LONG, 20, 10);
	says(table(NULL), "\n" LONG "...        50.00%");
	says(said, "\n\u00e9012345678901234567890123456789012345678901234567890...  ");
}
END_TEST

START_TEST(a_terminal_obeys_nothing_in_it)
{
	op("a\\u001b[2J", 0, 10);
	says(table(NULL), " a?[2J ");
}
END_TEST

START_TEST(device_columns_are_there_with_device_time)
{
	slice(1, "cpu_op", "a", 0, 10, "\"External id\":1");
	slice(7, "kernel", "k", 20, 30, "\"External id\":1");
	says(table(NULL), "     Self CUDA   Self CUDA %    CUDA total  CUDA time avg  ");
	says(said, "\nSelf CUDA time total: 30.000us\n");
	says(said,
	     "      30.000us       100.00%      30.000us      30.000us             1");
}
END_TEST

/* A GPU's memory has columns where the GPU was recorded, too. */
START_TEST(memory_columns_are_there_if_memory_was_recorded)
{
	rewind(file);
	fputs("{\"profile_memory\":1,\"traceEvents\":[", file);
	op("a", 0, 10);
	memory(1, 1, -3 * 1048576);
	memory_of(1, 1, 0, 2, 1, 1536, 0);
	memory_of(1, 1, 0, 2, 1, 0, 0);
	if (_i)
		slice(1, "cuda_runtime", "cudaMalloc", 20, 1, "");
	says(table(NULL), "       CPU Mem  Self CPU Mem");
	says(said, "      -3.00 MB      -3.00 MB");
	ck_assert_int_eq(!!strstr(said, "      CUDA Mem  Self CUDA Mem"), _i);
	ck_assert_int_eq(!!strstr(said, "       1.50 KB       1.50 KB"), _i);
}
END_TEST

START_TEST(shapes_are_there_by_shape)
{
	slice(1, "cpu_op", "a", 0, 10, "\"Input Dims\":[[1,2],[]]");
	op("b", 20, 10);
	says(table_by(OPERATORS_BY_SHAPE, NULL), "    Input Shapes  \n");
	says(said, "             1      [[1, 2], []]  \n");
	says(said, "             1                []  \n");
}
END_TEST

START_TEST(no_shapes_at_all_are_no_column)
{
	op("b", 20, 10);
	table_by(OPERATORS_BY_SHAPE, NULL);
	ck_assert_ptr_null(strstr(said, "Input Shapes"));
}
END_TEST

START_TEST(a_share_of_nothing_is_no_number)
{
	op("a", 0, 0);
	says(table(NULL), "           NaN       0.000us           NaN       0.000us");
}
END_TEST

/* What torch 2.13 prints of two such events: the heads of the last two columns are the
 * wrong way round. */
START_TEST(flops_stand_where_torch_puts_them)
{
	static const char frames[] = "x.py(3): f\nlong/name/of/a/file.py(4): g";
	uint32_t group[2] = { TEXT_NONE, TEXT_NONE };
	FILE *out;

	slice(1, "cpu_op", "a", 0, 1.5, "\"flops\":2500");
	slice(1, "cpu_op", "b", 2, 0.5, "\"flops\":70,\"flops_source\":\"proflaunch\"");
	read_model();
	model.says_flops = true;
	group[0] = texts_add(&model.texts, frames, strlen(frames));
	ck_assert(operators_make_grouped(&found, &model, group, INT64_MIN, INT64_MAX));
	out = open_memstream(&said, &said_len);
	ck_assert(torch_table_print(out, &model, &found, &TORCH_TABLE_OPTIONS));
	fclose(out);
	ck_assert_str_eq(
		said, "-----  ------------  ------------  ------------  ------------  -"
		      "-----------  ------------  --------------------------------  ---"
		      "---------  \n"
		      " Name    Self CPU %      Self CPU   CPU total %     CPU total  C"
		      "PU time avg    # of Calls  Source Location                   Tot"
		      "al KFLOPs  \n"
		      "-----  ------------  ------------  ------------  ------------  -"
		      "-----------  ------------  --------------------------------  ---"
		      "---------  \n"
		      "    a        75.00%       1.500us        75.00%       1.500us   "
		      "    1.500us             1     2.500                            x"
		      ".py(3): f  \n"
		      "                                                                "
		      "                                                             lon"
		      "g/name/of/a/file.py(4): g  \n"
		      "                                                                "
		      "                                                                "
		      "           \n"
		      "    b        25.00%       0.500us        25.00%       0.500us   "
		      "    0.500us             1  --                                   "
		      "           \n"
		      "                                                                "
		      "                                                                "
		      "           \n"
		      "-----  ------------  ------------  ------------  ------------  -"
		      "-----------  ------------  --------------------------------  ---"
		      "---------  \n"
		      "Self CPU time total: 2.000us\n");
	ck_assert(found.flops);
}
END_TEST

START_TEST(flops_have_the_least_ones_unit)
{
	slice(1, "cpu_op", "a", 0, 1, "\"flops\":1000000");
	slice(1, "cpu_op", "b", 2, 1, "\"flops\":-5");
	slice(1, "cpu_op", "c", 4, 1, "\"flops\":9000000000000000000");
	read_model();
	ck_assert(!strstr(table_read(), "FLOPs"));
	model.says_flops = true;
	ck_assert(strstr(table_read(), "Total MFLOPs"));
	ck_assert(strstr(said, "       1.000  \n"));
	ck_assert(strstr(said, "          --  \n"));
	ck_assert(strstr(said, "9000000000000.000  \n"));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_torch_table");

	tcase_add_checked_fixture(tc, begin, finish);
	tcase_add_test(tc, a_table_of_operators);
	tcase_add_test(tc, nothing_is_printed_of_nothing);
	tcase_add_test(tc, keys_have_torchs_spellings);
	tcase_add_test(tc, rows_are_sorted_and_ties_stay_in_order);
	tcase_add_test(tc, rows_beyond_the_limit_are_in_the_sums);
	tcase_add_test(tc, long_names_are_cut);
	tcase_add_test(tc, a_terminal_obeys_nothing_in_it);
	tcase_add_test(tc, device_columns_are_there_with_device_time);
	tcase_add_loop_test(tc, memory_columns_are_there_if_memory_was_recorded, 0, 2);
	tcase_add_test(tc, shapes_are_there_by_shape);
	tcase_add_test(tc, no_shapes_at_all_are_no_column);
	tcase_add_test(tc, a_share_of_nothing_is_no_number);
	tcase_add_test(tc, flops_stand_where_torch_puts_them);
	tcase_add_test(tc, flops_have_the_least_ones_unit);
	return unit_run(tc, "report_torch_table");
}
