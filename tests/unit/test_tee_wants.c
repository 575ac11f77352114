/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tee_bench.h"

/* Which records are the client's, and what they look like to it. */

/* ---- client/translate.c ---- */

static uint8_t *a_call(uint64_t start, uint64_t end)
{
	static uint8_t r[64];

	memset(r, 0xee, sizeof(r));
	memcpy(r, &(uint32_t){ KIND_RUNTIME }, 4);
	memcpy(r + LAYOUT_AT_RUNTIME_start, &start, 8);
	memcpy(r + LAYOUT_AT_RUNTIME_end, &end, 8);
	return r;
}

START_TEST(lines_go_on_before_and_behind)
{
	const struct translate_clocks c = {
		{ { 1000, 50000 }, { 2000, 52000 }, { 3000, 53000 } }, 3
	};
	uint8_t *r = a_call(500, 2500);

	translate_record(r, 40, &c, false);
	ck_assert_uint_eq(LAYOUT_GET(r, RUNTIME, start), 49000);
	ck_assert_uint_eq(LAYOUT_GET(r, RUNTIME, end), 52500);
	r = a_call(1500, 4000);
	translate_record(r, 20, &c, false); /* it ends in the middle of the second one */
	ck_assert_uint_eq(LAYOUT_GET(r, RUNTIME, start), 51000);
	ck_assert_uint_eq(LAYOUT_GET(r, RUNTIME, end), 4000);
}
END_TEST

/* Nothing is known of a thread that has ended: its own number is better than none. */
START_TEST(a_thread_that_has_ended_keeps_its_number)
{
	uint8_t *r = a_call(1000, 2000);
	const uint32_t nobody = 0x7ffffffe;

	memcpy(r + LAYOUT_AT_RUNTIME_threadId, &nobody, sizeof(nobody));
	translate_record(r, 40, &(struct translate_clocks){ 0 }, true);
	ck_assert_uint_eq(LAYOUT_GET(r, RUNTIME, threadId), nobody);
}
END_TEST

static uint64_t at_ns;

static int standing_clock(uint64_t *ns)
{
	*ns = at_ns;
	return 0;
}

static uint64_t its_clock(void)
{
	return at_ns * 2;
}

START_TEST(the_newest_moments_are_kept)
{
	struct translate_clocks c;
	uint8_t *r;

	cupti.GetTimestamp = standing_clock;
	at_ns = 1000000000;
	translate_clock(its_clock);
	for (unsigned i = 0; i < 2000; i++) {
		at_ns += _i ? 5000000 : 50000000; /* however often somebody asks */
		translate_sample();
	}
	ck_assert(translate_clocks(&c));
	ck_assert_uint_eq(c.n, SHAPE_MOMENTS);
	ck_assert_uint_eq(c.at[SHAPE_MOMENTS - 1].ns, at_ns);
	r = a_call(at_ns - 1000, at_ns + 1000);
	translate_record(r, 40, &c, false);
	ck_assert_uint_eq(LAYOUT_GET(r, RUNTIME, start), 2 * (at_ns - 1000));
	ck_assert_uint_eq(LAYOUT_GET(r, RUNTIME, end), 2 * (at_ns + 1000));
}
END_TEST

/* ---- client/wants.c ---- */

static const uint8_t *record_of(uint32_t kind, uint64_t begin, uint32_t cbid)
{
	static uint8_t r[256];
	const struct shape *s = translate_of(kind);

	memset(r, 0, sizeof(r));
	memcpy(r, &kind, 4);
	if (s->thread)
		memcpy(r + 4, &cbid, 4);
	if (s->time[0])
		memcpy(r + s->time[0], &begin, 8);
	if (s->correlation)
		memcpy(r + s->correlation, &(uint32_t){ 5 }, 4);
	return r;
}

START_TEST(what_runs_when_it_is_switched_off_is_its_own)
{
	wants_kind(KIND_CONCURRENT_KERNEL, true, 1000);
	wants_kind(KIND_CONCURRENT_KERNEL, false, 2000);
	ck_assert(wants_wanted(record_of(KIND_CONCURRENT_KERNEL, 3000, 0)));
	wants_learn(record_of(KIND_RUNTIME, 1500, 7)); /* call 5 came before the end */
	ck_assert(wants_wanted(record_of(KIND_CONCURRENT_KERNEL, 3000, 0)));
}
END_TEST

START_TEST(what_was_switched_on_long_ago_is_on)
{
	wants_kind(KIND_MEMSET, true, 1000);
	for (unsigned i = 0; i < 20; i++) {
		wants_kind(KIND_RUNTIME, true, 2000 + i * 1000);
		ck_assert(wants_wanted(record_of(KIND_MEMSET, 1500, 0)));
		wants_kind(KIND_RUNTIME, false, 2500 + i * 1000);
		ck_assert(wants_wanted(record_of(KIND_MEMSET, 1500, 0)));
	}
	ck_assert(wants_wanted(record_of(KIND_MEMSET, 90000, 0)));
}
END_TEST

static const uint8_t *record_with(uint32_t kind, uint64_t begin, uint32_t id)
{
	uint8_t *r = (uint8_t *)record_of(kind, begin, 0);

	memcpy(r + translate_of(kind)->correlation, &id, sizeof(id));
	return r;
}

START_TEST(ids_of_calls_wrap)
{
	wants_kind(KIND_CONCURRENT_KERNEL, true, 1000);
	wants_learn(record_with(KIND_RUNTIME, 900, UINT32_MAX - 1));
	wants_learn(record_with(KIND_RUNTIME, 1100, 2));
	ck_assert(wants_wanted(record_with(KIND_CONCURRENT_KERNEL, 1500, 3)));
	ck_assert(
		!wants_wanted(record_with(KIND_CONCURRENT_KERNEL, 1500, UINT32_MAX - 2)));
}
END_TEST

START_TEST(events_and_waits_went_together_once)
{
	session.version = _i ? 27 : 26;
	wants_kind(KIND_SYNCHRONIZATION, true, 1000);
	ck_assert_int_eq(wants_wanted(record_of(KIND_CUDA_EVENT, 2000, 0)), !_i);
	ck_assert(wants_wanted(record_of(KIND_SYNCHRONIZATION, 2000, 0)));
}
END_TEST

START_TEST(a_kind_that_is_not_known_changes_nothing)
{
	wants_call(DOMAIN_DRIVER, 1, true, 1000);
	for (uint32_t kind = KIND_MOST; kind < KIND_MOST + 16; kind++)
		wants_kind(kind, true, 1000);
	for (uint32_t cbid = 0; cbid < CALLS_MOST; cbid++)
		ck_assert_int_eq(wants_wanted(record_of(KIND_DRIVER, 2000, cbid)),
				 cbid == 1);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("tee, when");

	tcase_add_checked_fixture(tc, enter, NULL);
	tcase_add_test(tc, lines_go_on_before_and_behind);
	tcase_add_test(tc, a_thread_that_has_ended_keeps_its_number);
	tcase_add_loop_test(tc, the_newest_moments_are_kept, 0, 2);
	tcase_add_test(tc, what_runs_when_it_is_switched_off_is_its_own);
	tcase_add_test(tc, what_was_switched_on_long_ago_is_on);
	tcase_add_test(tc, ids_of_calls_wrap);
	tcase_add_loop_test(tc, events_and_waits_went_together_once, 0, 2);
	tcase_add_test(tc, a_kind_that_is_not_known_changes_nothing);
	return unit_run(tc, "tee, when");
}
