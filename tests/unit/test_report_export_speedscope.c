/* SPDX-License-Identifier: Apache-2.0 */
/* speedscope's JSON, and traces that nobody wrote in good faith. */
#include "tests/unit/export_trace.h"

#define SCOPE(by) exported(EXPORT_SPEEDSCOPE, EXPORT_##by)

START_TEST(a_frame_has_its_place)
{
	static const struct {
		const char *frame, *json;
	} rows[] = {
		{ "a/b.py(12): f",
		  "{\"name\": \"f\", \"file\": \"a/b.py\", \"line\": 12}" },
		{ "a (1).py(12): <module>",
		  "{\"name\": \"<module>\", \"file\": \"a (1).py\", \"line\": 12}" },
		{ "at::f(int) (x/y.cc:7)",
		  "{\"name\": \"at::f(int)\", \"file\": \"x/y.cc\", \"line\": 7}" },
		{ "?? (libx.so+0x12)", "{\"name\": \"?? (libx.so+0x12)\"}" },
		{ "aten::mm", "{\"name\": \"aten::mm\"}" },
		{ "(12): f", "{\"name\": \"(12): f\"}" },
		{ "a(12", "{\"name\": \"a(12\"}" },
		{ "f (:7)", "{\"name\": \"f (:7)\"}" },
		{ "(x:7)", "{\"name\": \"(x:7)\"}" },
		{ "f(x:7) ", "{\"name\": \"f(x:7) \"}" },
		{ "f (x:99999999999)", "{\"name\": \"f (x:99999999999)\"}" },
	};

	op(rows[_i].frame, 0, 5);
	says(SCOPE(CPU), rows[_i].json);
}
END_TEST

START_TEST(samples_and_weights_go_together)
{
	op("a", 0, 10);
	op("b;c", 2, 3.25);
	says(SCOPE(CPU),
	     "\"unit\": \"microseconds\", \"startValue\": 0, \"endValue\": 10.000, "
	     "\"samples\": [\n[0],\n[0,1]], \"weights\": [6.750,3.250]}");
	says(said, "{\"name\": \"b;c\"}");
}
END_TEST

START_TEST(bytes_have_no_fraction)
{
	memory(5, 64, 100);
	says(SCOPE(LIVE), "\"unit\": \"bytes\", \"startValue\": 0, \"endValue\": 100, "
			  "\"samples\": [\n[0,1]], \"weights\": [100]}");
}
END_TEST

/* A process of ours is named, and each trace is a profile with its own weights. */
START_TEST(each_trace_is_a_profile)
{
	static struct export x;
	char path[] = "/tmp/report_export.XXXXXX";
	FILE *out = open_memstream(&said, &said_len);
	FILE *trace = fdopen(mkstemp(path), "w");

	fputs("{\"proflaunch\":{\"process\":{\"pid\":7,\"name\":\"python3\"},"
	      "\"facts\":{\"script\":\"train.py\"},\"window\":{\"number\":2}},\"traceEvents\":["
	      "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,"
	      "\"dur\":2}]}",
	      trace);
	fclose(trace);
	export_begin(&x, EXPORT_SPEEDSCOPE, EXPORT_CPU, out);
	for (int i = 0; i < 2; i++)
		ck_assert(export_add(&x, path, &found, why, sizeof(why)));
	ck_assert(export_end(&x, true));
	fclose(out);
	fclose(file);
	unlink(path);
	for (const char *at = said, *end = said + said_len, *next; at < end; at = next) {
		next = strstr(at, "\"name\": \"python3 train.py (pid 7), window 2\"");
		if (!next)
			break;
		says(next, "\"weights\": [2.000]}");
		next++;
	}
	ck_assert_ptr_nonnull(strstr(strstr(said, "window 2") + 1, "window 2"));
}
END_TEST

/* ---- hostile traces ---- */

/* Deeper than any stack may be: the rest is counted where it is cut. */
START_TEST(deep_stacks_are_cut)
{
	fputs("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"o\",\"pid\":1,\"tid\":1,\"ts\":0,"
	      "\"dur\":9,\"args\":{\"Call stack\":\"",
	      file);
	for (int i = 0; i < 100000; i++)
		fprintf(file, "%d;", i);
	fputs("\"}},\n", file);
	exported(EXPORT_FOLDED, EXPORT_CPU);
	ck_assert_ptr_nonnull(strstr(said, "99999;99998;"));
	ck_assert_ptr_null(strstr(said, ";98000"));
	ck_assert_uint_lt(said_len, 8000);
	says(said, " 9\n");
}
END_TEST

/* Each of many slices inside each other has another stack of Python. */
START_TEST(deep_nesting_ends)
{
	char stack[64];

	for (int i = 0; i < 20000; i++) {
		snprintf(stack, sizeof(stack), "\"Call stack\":\"f%d\"", i % 2);
		op_with("o", i, 100000 - 2 * i, stack);
	}
	exported(EXPORT_FOLDED, EXPORT_CPU);
	ck_assert_uint_lt(said_len, 1000000);
	exported(EXPORT_STACKS, EXPORT_CPU);
	ck_assert_uint_lt(said_len, 300000);
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

static void export_in_all_ways(const char *path)
{
	for (unsigned format = EXPORT_STACKS; format <= EXPORT_SPEEDSCOPE; format++)
		for (unsigned by = EXPORT_CPU; by <= EXPORT_LIVE; by++)
			if (format != EXPORT_STACKS || by <= EXPORT_CUDA)
				export_file(path, (enum export_format)format,
					    (enum export_by)by);
}

static void write_to(const char *path, const char *bytes, size_t len)
{
	FILE *out = fopen(path, "w");

	ck_assert_uint_eq(fwrite(bytes, 1, len, out), len);
	fclose(out);
}

/* A good trace, cut anywhere, or with other digits and letters in it. */
START_TEST(damage_is_refused_or_read)
{
	char path[] = "/tmp/report_export.XXXXXX", *good = malloc(1 << 20), *bad;
	FILE *in = fopen("tests/fuzz/trace.json", "r");
	size_t len;

	ck_assert_ptr_nonnull(in);
	len = fread(good, 1, 1 << 20, in);
	fclose(in);
	fclose(file);
	close(mkstemp(path));
	bad = malloc(len);
	for (int i = 0; i < 150; i++) {
		memcpy(bad, good, len);
		for (size_t n = below(40); n; n--) {
			size_t at = below(len);

			if (bad[at] >= '0' && bad[at] <= '9')
				bad[at] = (char)('0' + below(10));
			else if (i % 3 == 0)
				bad[at] = (char)below(256);
		}
		write_to(path, bad, i % 2 ? len : below(len));
		export_in_all_ways(path);
	}
	unlink(path);
	free(good);
	free(bad);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_export_speedscope");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_loop_test(tc, a_frame_has_its_place, 0, 11);
	tcase_add_test(tc, samples_and_weights_go_together);
	tcase_add_test(tc, bytes_have_no_fraction);
	tcase_add_test(tc, each_trace_is_a_profile);
	tcase_add_test(tc, deep_stacks_are_cut);
	tcase_add_test(tc, deep_nesting_ends);
	tcase_add_test(tc, damage_is_refused_or_read);
	return unit_run(tc, "report_export_speedscope");
}
