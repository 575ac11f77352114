/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of Python as cProfile's file has them; that Python reads it, and that torch's
 * own traces give what cProfile counts, is in tests/e2e/test_export_pstats.py. */
#include "report/export/marshal.h"
#include "tests/unit/pstats_trace.h"

/* ---- marshal ---- */

static FILE *out;

static void begin_bytes(void)
{
	out = open_memstream(&bytes, &bytes_len);
}

static void bytes_are(const char *want, size_t len)
{
	fclose(out);
	ck_assert_uint_eq(bytes_len, len);
	ck_assert_mem_eq(bytes, want, len);
	free(bytes);
}
#define BYTES_ARE(want) bytes_are(want, sizeof(want) - 1)

/* What Python's marshal.dumps makes of them. */
START_TEST(whole_numbers)
{
	static const struct {
		uint64_t n;
		const char *bytes;
		size_t len;
	} rows[] = {
		{ 0, "i\0\0\0\0", 5 },
		{ 0x01020304, "i\4\3\2\1", 5 },
		{ INT32_MAX, "i\377\377\377\177", 5 },
		{ 1ull << 31, "l\3\0\0\0\0\0\0\0\2\0", 11 },
		{ 1ull << 45, "l\4\0\0\0\0\0\0\0\0\0\1\0", 13 },
		{ UINT64_MAX, "l\5\0\0\0\377\177\377\177\377\177\377\177\17\0", 15 },
	};

	begin_bytes();
	marshal_int(out, rows[_i].n);
	bytes_are(rows[_i].bytes, rows[_i].len);
}
END_TEST

START_TEST(doubles_have_all_their_bits)
{
	begin_bytes();
	marshal_double(out, 0.1);
	marshal_double(out, 0);
	BYTES_ARE("g\x9a\x99\x99\x99\x99\x99\xb9?"
		  "g\0\0\0\0\0\0\0\0");
}
END_TEST

START_TEST(texts_have_their_bytes_counted)
{
	char *many = malloc(70000);

	begin_bytes();
	marshal_text(out, "h\xc3\xa9\xf0\x9f\x98\x80", 7);
	BYTES_ARE("u\7\0\0\0h\xc3\xa9\xf0\x9f\x98\x80");
	begin_bytes();
	marshal_text(out, memset(many, 'x', 70000), 70000);
	fclose(out);
	ck_assert_uint_eq(bytes_len, 70005);
	ck_assert_mem_eq(bytes, "u\x70\x11\1\0x", 6);
	free(bytes);
	free(many);
}
END_TEST

START_TEST(a_tuple_comes_again_by_its_number)
{
	begin_bytes();
	marshal_dict(out);
	marshal_kept(out, 1);
	marshal_int(out, 7);
	marshal_tuple(out, 2);
	marshal_again(out, 0);
	marshal_int(out, 8);
	marshal_dict_end(out);
	BYTES_ARE("{\xa8\1\0\0\0i\7\0\0\0(\2\0\0\0r\0\0\0\0i\10\0\0\0"
		  "0");
}
END_TEST

/* ---- calls ---- */

START_TEST(a_call_has_its_own_time_and_its_caller)
{
	call(1, "a.py(1): f", 0, 100);
	call(1, "b.py(2): g", 10, 30);
	call(1, "<built-in function len>", 15, 5);
	call(1, "b.py(2): g", 60, 10);
	op("aten::mm", 62, 6);
	ck_assert(add_trace());
	ck_assert(found.functions && found.any);
	ck_assert_str_eq(written(),
			 "{('a.py', 1, 'f'): (1, 1, 6e-05, 0.0001, {}), "
			 "('b.py', 2, 'g'): (2, 2, 3.5e-05, 4e-05, "
			 "{('a.py', 1, 'f'): (2, 2, 3.5e-05, 4e-05)}), "
			 "('~', 0, '<built-in function len>'): (1, 1, 5e-06, 5e-06, "
			 "{('b.py', 2, 'g'): (1, 1, 5e-06, 5e-06)})}");
}
END_TEST

/* f(g(f)): of f one call is primitive, and of each pair all. Callers have the calls
 * before the primitive ones. */
START_TEST(recursion_counts_as_cprofile_counts_it)
{
	call(1, "a.py(1): f", 0, 100);
	call(1, "a.py(5): g", 10, 80);
	call(1, "a.py(1): f", 20, 60);
	call(1, "a.py(1): f", 30, 40);
	call(1, "a.py(1): f", 40, 20);
	ck_assert(add_trace());
	ck_assert_str_eq(written(), "{('a.py', 1, 'f'): (1, 4, 8e-05, 0.0001, "
				    "{('a.py', 1, 'f'): (2, 1, 4e-05, 4e-05), "
				    "('a.py', 5, 'g'): (1, 1, 2e-05, 6e-05)}), "
				    "('a.py', 5, 'g'): (1, 1, 2e-05, 8e-05, "
				    "{('a.py', 1, 'f'): (1, 1, 2e-05, 8e-05)})}");
}
END_TEST

START_TEST(threads_and_traces_add_up)
{
	for (unsigned i = 0; i < 2; i++) {
		call(1, "a.py(1): f", 0, 100);
		call(2, "a.py(1): f", 50, 100);
		ck_assert(add_trace());
	}
	ck_assert_str_eq(written(), "{('a.py', 1, 'f'): (4, 4, 0.0004, 0.0004, {})}");
}
END_TEST

START_TEST(threads_that_were_asked_for)
{
	static const char *word[] = { "2" }, *none[] = { "7" };

	options = (struct cut_options){ .threads = word, .threads_n = 1 };
	call(1, "a.py(1): f", 0, 100);
	call(2, "a.py(1): g", 50, 100);
	call(2, "a.py(9): h", 60, 10);
	ck_assert(add_trace());
	ck_assert_str_eq(written(), "{('a.py', 1, 'g'): (1, 1, 9e-05, 0.0001, {}), "
				    "('a.py', 9, 'h'): (1, 1, 1e-05, 1e-05, "
				    "{('a.py', 1, 'g'): (1, 1, 1e-05, 1e-05)})}");
	options.threads = none;
	call(1, "a.py(1): f", 0, 100);
	ck_assert(!add_trace());
	says(why, "has no thread 7: it has 1");
}
END_TEST

START_TEST(operators_are_functions_of_c_on_demand)
{
	pstats.operators = true;
	call(1, "a.py(1): f", 0, 100);
	op("aten::linear", 10, 50);
	op("aten::mm", 20, 10);
	ck_assert(add_trace());
	ck_assert_str_eq(written(), "{('a.py', 1, 'f'): (1, 1, 5e-05, 0.0001, {}), "
				    "('~', 0, 'aten::linear'): (1, 1, 4e-05, 5e-05, "
				    "{('a.py', 1, 'f'): (1, 1, 4e-05, 5e-05)}), "
				    "('~', 0, 'aten::mm'): (1, 1, 1e-05, 1e-05, "
				    "{('~', 0, 'aten::linear'): (1, 1, 1e-05, 1e-05)})}");
}
END_TEST

/* Modules alone are no functions. */
START_TEST(what_has_no_functions)
{
	op("aten::mm", 20, 10);
	call(1, "nn.Module: Net_0", 0, 100);
	ck_assert(add_trace());
	ck_assert(!found.functions && !found.any);
}
END_TEST

/* ---- hostile traces ---- */

/* Slices that overlap, in no order, whose ids go in circles: what lies in no other one by
 * its times is no call of it, and no time is below 0. */
START_TEST(overlaps_and_circles)
{
	slice(1, "python_function", "a.py(1): f", 50, 100,
	      "\"Python id\":1,\"Python parent id\":2");
	slice(1, "python_function", "a.py(2): g", 0, 100,
	      "\"Python id\":2,\"Python parent id\":1");
	slice(1, "python_function", "a.py(3): h", 60, 300,
	      "\"Python id\":3,\"Python parent id\":3");
	call(1, "a.py(4): out", 0, 400);
	call(1, "a.py(5): none", 399.9, 0);
	ck_assert(add_trace());
	ck_assert_str_eq(written(), "{('a.py', 4, 'out'): (1, 1, 0, 0.0004, {}), "
				    "('a.py', 2, 'g'): (1, 1, 0.0001, 0.0001, "
				    "{('a.py', 4, 'out'): (1, 1, 0.0001, 0.0001)}), "
				    "('a.py', 1, 'f'): (1, 1, 0.0001, 0.0001, "
				    "{('a.py', 4, 'out'): (1, 1, 0.0001, 0.0001)}), "
				    "('a.py', 3, 'h'): (1, 1, 0.0003, 0.0003, "
				    "{('a.py', 4, 'out'): (1, 1, 0.0003, 0.0003)}), "
				    "('a.py', 5, 'none'): (1, 1, 0, 0, "
				    "{('a.py', 4, 'out'): (1, 1, 0, 0)})}");
}
END_TEST

/* What stands out of the call around it by a rounding is not taken off that twice. */
START_TEST(a_call_may_stand_out_by_a_little)
{
	call(1, "a.py(1): f", 0, 100);
	call(1, "a.py(2): g", 40, 60.5);
	ck_assert(add_trace());
	says(written(), "('a.py', 1, 'f'): (1, 1, 4e-05, 0.0001, {})");
}
END_TEST

START_TEST(deep_and_many)
{
	char name[64];

	for (int i = 0; i < 60000; i++) {
		snprintf(name, sizeof(name), "a.py(%d): f%d", i % 1000, i % 1000);
		call(1, name, i, 200000 - 2 * i);
	}
	ck_assert(add_trace());
	written();
	says(said, "('a.py', 999, 'f999'): (1, 60, ");
	says(said, "('a.py', 0, 'f0'): (1, 60, ");
}
END_TEST

static uint64_t state = 88172645463325252ull;

static size_t below(size_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

/* Whatever is read of a broken trace, what is written is whole. */
START_TEST(damage_is_refused_or_read)
{
	char path[] = "/tmp/report_pstats.XXXXXX";
	char *bad;

	for (int i = 0; i < 300; i++) {
		char name[32];

		snprintf(name, sizeof(name), "a%zu.py(%zu): f", below(4), below(9));
		call(1 + (unsigned)below(3), i % 9 ? name : "<f at 0x7f>",
		     (double)below(500), (double)below(100));
	}
	fflush(file);
	close(mkstemp(path));
	bad = malloc(text_len);
	for (int i = 0; i < 200; i++) {
		FILE *to = fopen(path, "w");

		memcpy(bad, text, text_len);
		for (size_t n = below(60); n; n--)
			bad[below(text_len)] = (char)below(256);
		fwrite(bad, 1, i % 2 ? text_len : below(text_len), to);
		fclose(to);
		if (add_file(path) && found.any)
			written();
		callers_free(&pstats.callers);
	}
	unlink(path);
	free(bad);
}
END_TEST

static void add_calls(TCase *tc)
{
	tcase_add_test(tc, a_call_has_its_own_time_and_its_caller);
	tcase_add_test(tc, recursion_counts_as_cprofile_counts_it);
	tcase_add_test(tc, threads_and_traces_add_up);
	tcase_add_test(tc, threads_that_were_asked_for);
	tcase_add_test(tc, operators_are_functions_of_c_on_demand);
	tcase_add_test(tc, what_has_no_functions);
	tcase_add_test(tc, overlaps_and_circles);
	tcase_add_test(tc, a_call_may_stand_out_by_a_little);
	tcase_add_test(tc, deep_and_many);
	tcase_add_test(tc, damage_is_refused_or_read);
}

int main(void)
{
	TCase *tc = tcase_create("report_pstats");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, begin, drop_trace);
	tcase_add_loop_test(tc, whole_numbers, 0, 6);
	tcase_add_test(tc, doubles_have_all_their_bits);
	tcase_add_test(tc, texts_have_their_bytes_counted);
	tcase_add_test(tc, a_tuple_comes_again_by_its_number);
	add_calls(tc);
	return unit_run(tc, "report_pstats");
}
