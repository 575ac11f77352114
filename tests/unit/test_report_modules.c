/* SPDX-License-Identifier: Apache-2.0 */
/* Modules and functions of Python, with the plugin's definitions: they are compared with
 * the plugin's own in tests/e2e/test_report_views.py. */
#include "report/figures/functions.h"
#include "report/figures/modules.h"
#include "report/figures/phases.h"
#include "tests/unit/operators_trace.h"

static struct modules modules;
static struct functions functions;

static void module(const char *name, double ts, double dur)
{
	char full[128];

	snprintf(full, sizeof(full), "nn.Module: %s", name);
	slice(1, "python_function", full, ts, dur, "");
}

static void function(const char *name, double ts, double dur)
{
	slice(1, "python_function", name, ts, dur, "");
}

static void read_modules(int64_t from, int64_t to)
{
	read_model();
	ck_assert(modules_make(&modules, &model, from, to));
}

static void read_functions(int64_t from, int64_t to)
{
	read_model();
	ck_assert(functions_make(&functions, &model, from, to));
}

static void finish_all(void)
{
	modules_free(&modules);
	functions_free(&functions);
	finish();
}

/* What a row is, in us: its place in the tree, and its numbers. */
static void module_is(size_t i, const char *name, unsigned depth, unsigned count,
		      unsigned operators, double host, double own)
{
	const struct module_figures *r = &modules.row[i];

	ck_assert_uint_lt(i, modules.n);
	ck_assert_str_eq(texts_get(&model.texts, r->name), name);
	ck_assert_uint_eq(r->depth, depth);
	ck_assert_uint_eq(r->count, count);
	ck_assert_uint_eq(r->operators, operators);
	ck_assert_int_eq(r->host, (int64_t)(host * 1000));
	ck_assert_int_eq(r->self_host, (int64_t)(own * 1000));
}

START_TEST(modules_are_a_tree_in_the_order_of_first_calls)
{
	for (unsigned i = 0; i < 2; i++) {
		double at = 1000 * i;

		module("Net_0", at, 100);
		function("net.py(3): forward", at + 1, 98);
		module("Linear_0", at + 10, 20);
		op("aten::linear", at + 12, 10);
		op("aten::addmm", at + 13, 5);
		module("ReLU_0", at + 40, 10);
		op("aten::relu", at + 41, 3);
		op("aten::sum", at + 60, 8);
	}
	read_modules(INT64_MIN, INT64_MAX);
	ck_assert_uint_eq(modules.n, 3);
	module_is(0, "Net_0", 0, 2, 2, 200, 2 * (100 - 20 - 10 - 8));
	module_is(1, "Linear_0", 1, 2, 2, 40, 2 * (20 - 10));
	module_is(2, "ReLU_0", 1, 2, 2, 20, 2 * (10 - 3));
	ck_assert_uint_eq(modules.row[1].parent, 0);
}
END_TEST

START_TEST(a_module_in_two_places_has_two_rows)
{
	module("A_0", 0, 100);
	module("Act_0", 10, 10);
	module("B_0", 20, 50);
	module("Act_0", 30, 20);
	module("A_0", 200, 100);
	module("Act_0", 210, 10);
	read_modules(INT64_MIN, INT64_MAX);
	ck_assert_uint_eq(modules.n, 4);
	module_is(0, "A_0", 0, 2, 0, 200, 200 - 10 - 50 - 10);
	module_is(1, "Act_0", 1, 2, 0, 20, 20);
	module_is(2, "B_0", 1, 1, 0, 50, 30);
	module_is(3, "Act_0", 2, 1, 0, 20, 20);
}
END_TEST

START_TEST(work_is_of_the_module_whose_operator_launched_it)
{
	module("Net_0", 0, 100);
	module("Linear_0", 10, 20);
	slice(1, "cpu_op", "aten::mm", 12, 5, "\"External id\":3");
	slice(1, "cpu_op", "aten::sum", 50, 5, "\"External id\":4");
	slice(7, "kernel", "gemm", 20, 30, "\"External id\":3,\"correlation\":1");
	slice(7, "kernel", "reduce", 60, 7, "\"External id\":4,\"correlation\":2");
	read_modules(INT64_MIN, INT64_MAX);
	ck_assert_int_eq(modules.row[0].device, 37000);
	ck_assert_int_eq(modules.row[0].self_device, 7000);
	ck_assert_int_eq(modules.row[1].device, 30000);
	ck_assert_int_eq(modules.row[1].self_device, 30000);
}
END_TEST

START_TEST(modules_outside_of_the_steps_do_not_count)
{
	module("Net_0", 0, 100);
	module("Net_0", 200, 50);
	read_modules(150000, 300000);
	ck_assert_uint_eq(modules.n, 1);
	module_is(0, "Net_0", 0, 1, 0, 50, 50);
}
END_TEST

/* ---- functions ---- */

static const struct function_figures *function_of(const char *name)
{
	for (size_t i = 0; i < functions.n; i++)
		if (!strcmp(texts_get(&model.texts, functions.row[i].name), name))
			return &functions.row[i];
	ck_abort_msg("no function %s", name);
	return NULL;
}

START_TEST(a_functions_own_time_has_its_operators_and_no_functions)
{
	const struct function_figures *f;

	function("train.py(7): step", 0, 100);
	op("aten::mm", 10, 20);
	op("aten::add", 12, 3);
	function("torch/nn/functional.py(12): relu", 40, 30);
	op("aten::relu", 45, 10);
	function("<built-in method clamp of type object at 0x7f12>", 44, 15);
	read_functions(INT64_MIN, INT64_MAX);
	ck_assert(!functions.lines);
	f = function_of("step");
	ck_assert_int_eq(f->own, 70000);
	ck_assert_int_eq(f->operators, 20000);
	ck_assert_int_eq(f->total, 100000);
	ck_assert_int_eq(f->whose, WHOSE_PROGRAM);
	ck_assert_str_eq(texts_get(&model.texts, f->place), "train.py:7");
	f = function_of("relu");
	ck_assert_int_eq(f->own, 15000);
	ck_assert_int_eq(f->operators, 0);
	ck_assert_int_eq(f->whose, WHOSE_TORCH);
	f = function_of("clamp of type");
	ck_assert_int_eq(f->own, 15000);
	ck_assert_int_eq(f->operators, 10000);
	ck_assert_int_eq(f->whose, WHOSE_BUILTIN);
	ck_assert_uint_eq(f->place, TEXT_NONE);
	ck_assert_int_eq(functions.own, 100000);
}
END_TEST

START_TEST(a_function_that_calls_itself_is_in_its_total_once)
{
	function("a.py(1): f", 0, 100);
	function("a.py(1): f", 10, 50);
	function("a.py(1): f", 200, 10);
	read_functions(INT64_MIN, INT64_MAX);
	ck_assert_uint_eq(functions.row[0].count, 3);
	ck_assert_uint_eq(functions.row[0].outermost, 2);
	ck_assert_int_eq(functions.row[0].total, 110000);
	ck_assert_int_eq(functions.row[0].own, 110000);
}
END_TEST

START_TEST(a_function_that_began_before_the_steps_counts_inside_them)
{
	function("a.py(1): loop", 0, 1000);
	function("a.py(5): step", 100, 50);
	read_functions(100000, 300000);
	ck_assert_int_eq(function_of("loop")->own, 150000);
	ck_assert_int_eq(function_of("loop")->total, 200000);
}
END_TEST

START_TEST(without_functions_the_lines_that_called_operators_count)
{
	slice(1, "cpu_op", "aten::mm", 0, 10,
	      "\"Call stack\":\"train.py(7): step;train.py(20): <module>\"");
	op("aten::addmm", 2, 5);
	slice(1, "cpu_op", "aten::sum", 20, 4, "\"Call stack\":\"train.py(9): loss\"");
	slice(1, "cpu_op", "aten::relu", 30, 2,
	      "\"Call stack\":\"train.py(7): step;other.py(1): f\"");
	op("aten::nobody", 40, 2);
	read_functions(INT64_MIN, INT64_MAX);
	ck_assert(functions.lines);
	ck_assert_uint_eq(functions.n, 2);
	ck_assert_uint_eq(function_of("step")->count, 2);
	ck_assert_int_eq(function_of("step")->own, 12000);
	ck_assert_int_eq(function_of("loss")->own, 4000);
}
END_TEST

/* ---- phases ---- */

START_TEST(each_slice_has_a_phase)
{
	static const char *const want[] = { "data",      "data",      "forward",
					    "forward",   "backward",  "backward",
					    "optimizer", "optimizer", "other",
					    "forward",   "forward" };
	uint8_t *phase;

	slice(1, "user_annotation", "enumerate(DataLoader)#X.__next__", 0, 10, "");
	op("aten::stack", 2, 5);
	slice(1, "cpu_op", "aten::linear", 20, 10, "\"Sequence number\":3");
	op("aten::addmm", 21, 5);
	slice(1, "cpu_op", "autograd::engine::evaluate_function: X", 40, 10, "");
	op("aten::mm", 41, 5);
	slice(1, "user_annotation", "Optimizer.step#SGD.step", 60, 10, "");
	slice(1, "cpu_op", "aten::add_", 61, 5, "\"Sequence number\":4");
	op("aten::item", 80, 5);
	slice(1, "user_annotation", "## forward ##", 90, 10, "");
	op("aten::eq", 91, 5);
	read_model();
	phase = phases_make(&model);
	ck_assert_ptr_nonnull(phase);
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
		ck_assert_str_eq(phase_names[phase[i]], want[i]);
	free(phase);
}
END_TEST

START_TEST(a_row_has_the_path_of_its_first_call)
{
	slice(1, "python_function", "nn.Module: Net_0", 0, 100,
	      "\"Module path\":\"Net\"");
	slice(1, "python_function", "nn.Module: Linear_0", 10, 20,
	      "\"Module path\":\"layers.0\"");
	slice(1, "python_function", "nn.Module: Linear_0", 40, 20,
	      "\"Module path\":\"layers.1\"");
	slice(1, "python_function", "nn.Module: ReLU_0", 70, 20, "");
	read_modules(INT64_MIN, INT64_MAX);
	ck_assert_uint_eq(modules.n, 3);
	ck_assert_str_eq(texts_get(&model.texts, modules.row[0].path), "Net");
	ck_assert_str_eq(texts_get(&model.texts, modules.row[1].path), "layers.0");
	ck_assert_uint_eq(modules.row[2].path, TEXT_NONE);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_modules");

	tcase_add_checked_fixture(tc, begin, finish_all);
	tcase_add_test(tc, modules_are_a_tree_in_the_order_of_first_calls);
	tcase_add_test(tc, a_module_in_two_places_has_two_rows);
	tcase_add_test(tc, work_is_of_the_module_whose_operator_launched_it);
	tcase_add_test(tc, modules_outside_of_the_steps_do_not_count);
	tcase_add_test(tc, a_functions_own_time_has_its_operators_and_no_functions);
	tcase_add_test(tc, a_function_that_calls_itself_is_in_its_total_once);
	tcase_add_test(tc, a_function_that_began_before_the_steps_counts_inside_them);
	tcase_add_test(tc, without_functions_the_lines_that_called_operators_count);
	tcase_add_test(tc, each_slice_has_a_phase);
	tcase_add_test(tc, a_row_has_the_path_of_its_first_call);
	return unit_run(tc, "report_modules");
}
