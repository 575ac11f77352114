/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cupti/client/copies.h"
#include "tests/unit/cupti_records.h"
#include "tests/unit/said.h"

#include <errno.h>

/* Edges of what becomes of records, with the test as the consumer. */

/* ---- round.c ---- */

static int dropped_error(void *context, uint32_t stream, size_t *dropped)
{
	(void)context;
	(void)stream;
	*dropped = 7;
	return CUPTI_UNKNOWN;
}

START_TEST(an_error_is_no_number)
{
	records_start("13.0");
	cupti.ActivityGetNumDroppedRecords = dropped_error;
	round_drops();
	ck_assert_uint_eq(bench_count(info, CUDA_DROPPED), 0);
}
END_TEST

static void refuse_one(void)
{
	uint8_t *mem;
	size_t size, most;

	do
		buffers_requested(&mem, &size, &most);
	while (mem);
}

START_TEST(an_error_tells_of_no_refused_buffer)
{
	records_start("13.0");
	refuse_one();
	ck_assert_uint_eq(buffers_refused(), 1);
	cupti.ActivityGetNumDroppedRecords = dropped_error;
	round_drops();
	ck_assert_uint_eq(buffers_refused(), 1);
}
END_TEST

/* A buffer with `n` kernels and their calls in it comes back. */
static void comes_back(bool last_resort, unsigned n)
{
	uint8_t *mem;
	size_t size, most;

	do
		buffers_requested(&mem, &size, &most);
	while (last_resort && mem && size > 16384);
	ck_assert_ptr_nonnull(mem);
	for (unsigned i = 0; i < n; i++) {
		add_call(100 + i);
		add_work(CONCURRENT_KERNEL, 1, 100 + i);
	}
	store(buffer, layout_read(buffer, 4), 4);
	memcpy(mem, buffer, filled);
	buffers_completed(NULL, 0, mem, size, filled);
	filled = 0;
	round_drain();
}

START_TEST(each_record_that_is_discarded_counts)
{
	records_start("12.4");
	comes_back(true, 3);
	ck_assert_uint_eq(bench_count(info, CUDA_DISCARDED), 6);
	ck_assert_uint_eq(bench_records(info, REC_CALL), 0);
}
END_TEST

START_TEST(what_was_refused_is_not_decoded)
{
	records_start("13.0");
	atomic_store(&session.refused, true);
	comes_back(false, 3);
	ck_assert_uint_eq(bench_records(info, REC_CALL), 0);
	atomic_store(&session.refused, false);
	comes_back(false, 3);
	ck_assert_uint_eq(bench_records(info, REC_CALL), 3);
}
END_TEST

/* ---- lib/session.c, subscription.c, say.c, facts.c ---- */

/* As the consumer does. */
static void count_gap(bool last)
{
	uint64_t from, to;

	if (session_gap(last, &from, &to))
		windows_gap(from, to);
}

/* It ends and begins again before anybody has counted it. */
START_TEST(a_gap_goes_on)
{
	int64_t from;

	records_start("13.0");
	from = sys_clock_ns(CLOCK_REALTIME);
	ck_assert(retreat_step("somebody"));
	while (sys_clock_ns(CLOCK_REALTIME) < from + 20000000)
		;
	subscription_return();
	ck_assert(cupti_active());
	ck_assert(retreat_step("somebody"));
	count_gap(true);
	ck_assert_uint_eq(bench_count(info, CUDA_GAPS), 1);
	ck_assert_uint_gt(bench_count(info, CUDA_GAP_NS), 19000000);
}
END_TEST

/* The newest line counts. */
static const char *last_facts(void)
{
	const char *at = spool.head->facts, *found = "";

	for (; (at = strstr(at, "cuda = ")); at++)
		found = at;
	return found;
}

/* One that is looked at again and again while it lasts is as long as it is. */
START_TEST(a_gap_counts_once)
{
	int64_t from, until;

	records_start("13.0");
	from = sys_clock_ns(CLOCK_REALTIME);
	ck_assert(retreat_step("somebody"));
	for (int i = 0; i < 10; i++) {
		until = sys_clock_ns(CLOCK_REALTIME) + 2000000;
		while (sys_clock_ns(CLOCK_REALTIME) < until)
			;
		count_gap(true);
	}
	strcpy(session.why, "somebody has it");
	facts_tell();
	ck_assert_ptr_nonnull(strstr(last_facts(), "\"why\": \"somebody has it\""));
	subscription_return();
	ck_assert_ptr_nonnull(strstr(last_facts(), "\"state\": \"recording\""));
	ck_assert_ptr_null(strstr(last_facts(), "\"why\""));
	count_gap(false);
	ck_assert_uint_ge(bench_count(info, CUDA_GAP_NS), 20000000);
	ck_assert_uint_le(bench_count(info, CUDA_GAP_NS),
			  (uint64_t)(sys_clock_ns(CLOCK_REALTIME) - from));
	count_gap(true); /* it is over */
	ck_assert_uint_eq(bench_count(info, CUDA_GAPS), 1);
	ck_assert_str_eq(session.why, "");
}
END_TEST

static const uint8_t *odd_scratch;
static size_t odd_stride;

/* Steps as the table says, but for one kind. */
static int odd_steps(uint8_t *scratch, size_t valid, void **record)
{
	uint32_t kind = (uint32_t)layout_read(scratch, 4);
	size_t step = kind == KIND_MEMSET              ? odd_stride
		      : kind == KIND_CONCURRENT_KERNEL ? 208
						       : 40;

	(void)valid;
	odd_scratch = scratch;
	*record = *record ? (uint8_t *)*record + step : scratch;
	return 0;
}

START_TEST(an_answer_that_cannot_be_is_none)
{
	static const struct {
		size_t stride;
		bool fine;
	} rows[] = { { 0, false },         { 4, false },    { 8, true },
		     { 44, false },        { 104, true },   { 4096, true },
		     { 4104, false },      { 8192, false }, { 65536 + 64, false },
		     { (size_t)-8, false } };

	records_start("13.0");
	cupti.ActivityGetNextRecord = odd_steps;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		odd_stride = rows[i].stride;
		ck_assert(layout_start(130000, 13));
		ck_assert_uint_eq(layout_stride[KIND_MEMSET],
				  rows[i].fine ? rows[i].stride : 0);
	}
	ck_assert_ptr_nonnull(odd_scratch);
}
END_TEST

START_TEST(facts_are_json_whatever_is_in_them)
{
	records_start("13.0");
	ck_assert(strstr(spool.head->facts, "\"attached\": \"at start\""));
	strcpy(session.why, "a \"b\\c\"\n\033d");
	facts_tell();
	ck_assert(strstr(spool.head->facts, "\"why\": \"a ?b?c???d\""));
}
END_TEST

START_TEST(a_kind_that_is_missing_is_told_once)
{
	const char *text;

	records_start("13.0");
	said_start();
	for (unsigned i = 0; i < 3; i++)
		say_lacks_kind(KIND_SYNCHRONIZATION, CUPTI_NO_PRIVILEGE);
	say_lacks_kind(KIND_MEMORY2, CUPTI_NO_PRIVILEGE);
	text = said();
	ck_assert_msg(said_lines(text) == 2, "%s", text);
	ck_assert(strstr(text, "cuda_sync: waits are not recorded: cuptiActivityEnable"));
}
END_TEST

START_TEST(each_error_has_its_hint)
{
	records_start("13.0");
	say_give_up("cuptiSubscribe", _i ? CUPTI_NO_PRIVILEGE : CUPTI_NOT_INITIALIZED);
	ck_assert_msg(strstr(session.why, _i ? "NVreg_RestrictProfilingToAdminUsers"
					     : "newer than the driver"),
		      "%s", session.why);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("small");

	tcase_add_test(tc, an_error_is_no_number);
	tcase_add_test(tc, an_error_tells_of_no_refused_buffer);
	tcase_add_test(tc, each_record_that_is_discarded_counts);
	tcase_add_test(tc, what_was_refused_is_not_decoded);
	tcase_add_test(tc, a_gap_goes_on);
	tcase_add_test(tc, a_gap_counts_once);
	tcase_add_test(tc, an_answer_that_cannot_be_is_none);
	tcase_add_test(tc, facts_are_json_whatever_is_in_them);
	tcase_add_test(tc, a_kind_that_is_missing_is_told_once);
	tcase_add_loop_test(tc, each_error_has_its_hint, 0, 2);
	return unit_run(tc, "cupti, small");
}
