/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace may say: steps, sites, numbers and texts at their edges. */
#include "tests/unit/report_trace.h"

#include <zlib.h>

#define HEAP_HEAD(mode)                                                     \
	"\"heap\":{\"mode\":\"" mode "\",\"since\":\"window\",\"steps\":"   \
	"[1,2,3,4,5,6,7,8],\"peak\":{\"ts\":1.5,\"bytes\":900,\"step\":4}," \
	"\"end\":{\"bytes\":800,\"blocks\":4},\"total\":{\"allocs\":9},"
#define SITE(held)                                                        \
	"\"sites\":[{\"stack\":null,\"op\":null,\"allocs\":9,\"live\":1," \
	"\"call\":\"malloc\",\"steps\":[" held "]}],\"other\":{}}"

/* 20 MB before the six that are judged, then 2 B a step: they are no leak. */
START_TEST(growth_counts_from_the_first_step_judged)
{
	ours(HEAP_HEAD("all") SITE(
		"1,20000000,20000002,20000004,20000006,20000008,20000010,20000012"));
	look();
	ck_assert_int_eq(judged(6, 65536), 0);
	ck_assert_int_eq(judged(6, 1), 1);
	says(said, "leak in the heap: 2 B a step over 6 steps, 19.1 MiB held");
}
END_TEST

/* ---- the heap ---- */

START_TEST(sites_with_one_name_are_added)
{
	ours(HEAP_HEAD("all") "\"sites\":["
			      "{\"op\":\"o\",\"allocs\":3,\"bytes\":30,\"frees\":1,"
			      "\"freed\":10,\"live\":20,\"blocks\":2,\"peak\":25,"
			      "\"call\":\"malloc\"},"
			      "{\"op\":\"o\",\"allocs\":4,\"bytes\":40,\"frees\":2,"
			      "\"freed\":30,\"live\":10,\"blocks\":2,\"peak\":15,"
			      "\"call\":\"malloc\"}],\"other\":{}}");
	look();
	for (int i = 0; i < 2; i++) {
		const struct memory_row *r =
			i ? row(&view.spaces[0].by_op, "o")
			  : row(&view.spaces[0].by_site, "(no stack: malloc) < [o]");

		ck_assert_int_eq(r->allocs, 7);
		ck_assert_int_eq(r->bytes, 70);
		ck_assert_int_eq(r->frees, 3);
		ck_assert_int_eq(r->freed, 40);
		ck_assert_int_eq(r->end, 30);
		ck_assert_int_eq(r->end_blocks, 4);
		ck_assert_int_eq(r->peak, 40);
	}
}
END_TEST

/* Of eight steps three are asked for. */
START_TEST(steps_that_are_asked_for_keep_their_numbers)
{
	const struct memory_space *s;
	const struct memory_row *r;

	ours(HEAP_HEAD("all") SITE("10,20,30,40,50,60,70,80"));
	look_from(3, 5);
	s = &view.spaces[0];
	r = row(&s->by_site, "(no stack: malloc)");
	ck_assert_uint_eq(s->steps_n, 3);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(s->numbers[i], 3 + i);
		ck_assert_int_eq(r->steps[i], 30 + 10 * i);
	}
}
END_TEST

#define N "4000000000"

/* Numbers of stacks and frames that no list has; steps of the rest that are too few. */
START_TEST(hostile_numbers_lead_nowhere)
{
	ours(HEAP_HEAD("all") "\"frames\":[\"f\",\"g\"],\"stacks\":[[0,1],[" N ",2,1]],"
			      "\"sites\":[{\"stack\":" N ",\"allocs\":1,\"live\":1},"
			      "{\"stack\":2,\"allocs\":1,\"live\":2},"
			      "{\"stack\":1,\"allocs\":1,\"live\":-" N N N ","
			      "\"bytes\":" N N N "}],"
			      "\"other\":{\"allocs\":1,\"live\":1,\"steps\":[1,2]}}");
	look();
	ck_assert_int_eq(row(&view.spaces[0].by_site, "? < ? < g")->end,
			 -(INT64_C(1) << 48));
	ck_assert_int_eq(row(&view.spaces[0].by_site, "? < ? < g")->bytes, INT64_C(1)
										   << 48);
	ck_assert_int_eq(row(&view.spaces[0].by_site, "(no stack: ?)")->end, 3);
	ck_assert_int_eq(sites_at_step(model.heap, &model.heap->other, 7), 0);
	printed();
	as_json();
}
END_TEST

/* What is left of the numbers, once the reader has checked them itself. */
START_TEST(no_number_leads_behind_a_list)
{
	uint32_t frames[3] = { 0, 1, 1 }, pool[] = { 1, 2, 3, UINT32_MAX - 1 };
	struct site rows[] = { { .stack = 1, .steps = 0 },
			       { .stack = 2, .steps = 1 },
			       { .stack = UINT32_MAX - 1, .steps = 900 } };
	struct sites s = { .frames = frames,
			   .frames_n = 2,
			   .stack_pool = pool,
			   .stack_pool_n = 4,
			   .stacks_n = 2,
			   .rows = rows,
			   .rows_n = 3,
			   .steps_n = 2,
			   .pool_n = 2,
			   .other = { .stack = 2, .steps = 1 } };

	sites_check(&s);
	ck_assert_uint_eq(pool[0], 1);
	for (int i = 1; i < 4; i++)
		ck_assert_uint_eq(pool[i], SITE_NONE);
	ck_assert_uint_eq(rows[0].stack, 1);
	ck_assert_uint_eq(rows[0].steps, 0);
	for (int i = 1; i < 3; i++) {
		ck_assert_uint_eq(rows[i].stack, SITE_NONE);
		ck_assert_uint_eq(rows[i].steps, SIZE_MAX);
	}
	ck_assert_uint_eq(s.other.stack, SITE_NONE);
	ck_assert_uint_eq(s.other.steps, SIZE_MAX);
}
END_TEST

/* ---- reading ---- */

/* An event without a time has not that of the one before it. */
START_TEST(an_event_has_its_own_time_or_none)
{
	memory(5, 64, 10);
	fputs("{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"args\":"
	      "{\"Addr\":128,\"Bytes\":7}},",
	      file);
	look();
	ck_assert_uint_eq(model.memory_n, 1);
}
END_TEST

/* What begins together is inside of it. */
START_TEST(memory_at_a_begin_is_of_what_begins)
{
	op("outer", 0, 100);
	op("inner", 10, 50);
	memory(10, 64, 7);
	look();
	ck_assert_uint_eq(model.memory_n, 1);
	ck_assert_int_eq(model.slices[model.memory[0].slice].begin, 10000);
}
END_TEST

/* More series than an event has room for: the first ones count, and the next event. */
START_TEST(a_counter_may_have_any_number_of_series)
{
	fputs("{\"ph\":\"C\",\"name\":\"many\",\"pid\":1,\"ts\":5,\"args\":{", file);
	for (int i = 0; i < 1000; i++)
		fprintf(file, "\"s%d\":%d,", i, i);
	fputs("\"no number\":\"x\"}},{\"ph\":\"C\",\"name\":\"one\",\"pid\":1,\"ts\":6,"
	      "\"args\":{\"s\":1000}},",
	      file);
	look();
	ck_assert_uint_eq(model.counters_n, EVENT_SERIES + 1);
	for (int i = 0; i < EVENT_SERIES; i++) {
		ck_assert_int_eq(model.counters[i].value, i);
		ck_assert_int_eq(model.counters[i].ts, 5000);
	}
	ck_assert_int_eq(model.counters[EVENT_SERIES].value, 1000);
	ck_assert_int_eq(model.counters[EVENT_SERIES].ts, 6000);
}
END_TEST

/* Rows of processes that have a name, and none of their own number. */
START_TEST(a_name_is_nobodys_number)
{
	for (int i = 0; i < 50; i++)
		fprintf(file,
			"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":%d,"
			"\"tid\":%d,\"ts\":1,\"dur\":1},",
			i, i);
	for (int i = 0; i < 2; i++)
		fprintf(file,
			"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":\"Spans\","
			"\"tid\":\"Spans\",\"ts\":%d,\"dur\":1},",
			5 * i);
	look();
	ck_assert_uint_eq(model.threads_n, 51);
}
END_TEST

/* Padding behind the last member, as on a tape, or from a block that was too large. */
START_TEST(what_is_no_member_is_left_alone)
{
	static const char trace[] = "{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"end\"}]}";
	char path[] = "/tmp/report_padded.XXXXXX", zeros[1024] = { 0 }, why[512] = "";
	int fd = mkstemp(path);
	gzFile gz = gzdopen(dup(fd), "wb");

	ck_assert_int_gt(gzputs(gz, trace), 0);
	ck_assert_int_eq(gzclose(gz), Z_OK);
	ck_assert_int_ge(lseek(fd, 0, SEEK_END), 20);
	ck_assert_int_eq(write(fd, zeros, sizeof(zeros)), sizeof(zeros));
	close(fd);
	ck_assert_msg(!model_read(&model, path, 0, why, sizeof(why)), "%s", why);
	ck_assert_uint_eq(model.events, 1);
	unlink(path);
	fclose(file);
}
END_TEST

/* Other writers' files: the members of such a value are none of the file's own. */
START_TEST(an_object_where_a_number_stands_is_passed_by)
{
	static const char *const keys[] = { "baseTimeNanoseconds", "profile_memory" };
	char path[] = "/tmp/reading-XXXXXX", why[256];

	for (unsigned i = 0; i < 2; i++) {
		int fd = mkstemp(path);

		ck_assert_int_ge(fd, 0);
		dprintf(fd,
			"{\"%s\": {\"a\": [1], \"traceEvents\": []}, \"traceEvents\": "
			"[{\"ph\":\"X\",\"ts\":1,\"dur\":1}]}",
			keys[i]);
		close(fd);
		ck_assert_int_eq(model_read(&model, path, 0, why, sizeof(why)), 0);
		ck_assert_uint_eq(model.events, 1);
		ck_assert_int_eq(model.base_ns, 0);
		ck_assert(!model.says_memory);
		model_free(&model);
		unlink(path);
		memcpy(path, "/tmp/reading-XXXXXX", sizeof(path));
	}
}
END_TEST

START_TEST(shapes_that_cannot_be_are_not_known)
{
	static const struct {
		const char *dims;
		int64_t want;
	} rows[] = { { "[4,8]", 128 },
		     { "[]", 4 },
		     { "[4294967296,4294967296,2]", -1 },
		     { "[4294967296,2147483648]", -1 },
		     { "[-4]", -1 } };
	char args[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(args, sizeof(args),
			 "\"Input Dims\":[%s,[9]],\"Input type\":[\"float\",\"int\"]",
			 rows[i].dims);
		slice(1, "cpu_op", "a", 10 * (double)i, 1, args);
	}
	look();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		ck_assert_int_eq(model.slices[i].input_bytes, rows[i].want);
}
END_TEST

/* What begins like another text is another one; a long one takes no other's place. */
START_TEST(texts_are_told_apart)
{
	struct texts t = { 0 };
	size_t huge = (256 << 10) + 4096;
	char name[64], *one = malloc(huge);
	uint32_t id;

	for (uint32_t i = 0; i < 3000; i++)
		ck_assert_uint_eq(texts_add(&t, name,
					    (size_t)snprintf(name, sizeof(name),
							     "%u is a longer one", i)),
				  i);
	for (uint32_t i = 0; i < 3000; i++)
		ck_assert_uint_eq(
			texts_add(&t, name,
				  (size_t)snprintf(name, sizeof(name), "%u", i)),
			3000 + i);
	memset(one, 'x', huge);
	for (uint32_t i = 0; i < 2000; i++)
		ck_assert_uint_eq(texts_add(&t, one, 2000 - i), 6000 + i);
	for (int i = 0; i < 3; i++) {
		one[0] = (char)('a' + i);
		id = texts_add(&t, one, huge);
		ck_assert_uint_eq(strlen(texts_get(&t, id)), huge);
		for (unsigned k = 0; k < 2000; k++) {
			int n = snprintf(name, sizeof(name), "%d behind %u", i, k);

			ck_assert_str_eq(texts_get(&t, texts_add(&t, name, (size_t)n)),
					 name);
		}
	}
	texts_free(&t);
	free(one);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("reading");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, growth_counts_from_the_first_step_judged);
	tcase_add_test(tc, sites_with_one_name_are_added);
	tcase_add_test(tc, steps_that_are_asked_for_keep_their_numbers);
	tcase_add_test(tc, hostile_numbers_lead_nowhere);
	tcase_add_test(tc, no_number_leads_behind_a_list);
	tcase_add_test(tc, an_event_has_its_own_time_or_none);
	tcase_add_test(tc, memory_at_a_begin_is_of_what_begins);
	tcase_add_test(tc, a_counter_may_have_any_number_of_series);
	tcase_add_test(tc, a_name_is_nobodys_number);
	tcase_add_test(tc, what_is_no_member_is_left_alone);
	tcase_add_test(tc, an_object_where_a_number_stands_is_passed_by);
	tcase_add_test(tc, shapes_that_cannot_be_are_not_known);
	tcase_add_test(tc, texts_are_told_apart);
	return unit_run(tc, "report reading");
}
