/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU part at its edges: last digits, first nanoseconds, who owns what. */
#define IMAGE_SIZE (4u << 20)
#include "tests/unit/cuda_image.h"

#define MS 1000000ull

static void image_note(struct spool_image *m, const char *name, uint64_t begin,
		       uint64_t end)
{
	image_op(m, name, begin, end)->r.kind = REC_ANNOTATION;
}

static struct rec_sync *wait_of(struct spool_image *m, uint32_t id, uint32_t type,
				uint64_t begin, uint64_t end)
{
	struct rec_sync *s = cuda_record(m, REC_SYNC, sizeof(*s), NULL, begin, end);

	s->correlation = id;
	s->context = 1;
	s->stream = 7;
	s->type = type;
	s->event = UINT32_MAX;
	return s;
}

/* ---- numbers ---- */

static const struct {
	uint32_t blocks, sms;
	const char *want;
} reals[] = {
	{ 1, 2, "0.5" },
	{ 1, 3, "0.333333333" },
	{ 2, 3, "0.666666667" },
	{ 66, 132, "0.5" },
	{ 132, 132, "1.0" },
	{ 1, 1000000000, "0.000000001" },
	{ 2499999999u, 2500000000u, "1.0" }, /* 0.9999999996 */
	{ 2499999998u, 2500000000u, "0.999999999" }, /* 0.9999999992 */
	{ 4000000000u, 1, "4000000000.0" },
	{ 10, 100, "0.1" },
};

START_TEST(the_last_digit_is_rounded)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	cuda_device(m, 0, "NVIDIA H100")->sms = reals[_i].sms;
	cuda_kernel(m, "k", 1, 7, 5000, 6000, 0)->grid[0] = reals[_i].blocks;
	image_write(m);
	ck_assert_str_eq(cuda_arg(m, "k", 0, "blocks per SM"), reals[_i].want);
	image_free(m);
}
END_TEST

START_TEST(priorities_have_a_sign)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	cuda_kernel(m, "k", 1, 7, 5000, 6000, 0)->g.priority = -1;
	image_write(m);
	ck_assert_str_eq(cuda_arg(m, "k", 0, "priority"), "-1");
	image_free(m);
}
END_TEST

/* More shapes than their texts have room for: each kernel has its own. */
START_TEST(each_kernel_has_its_own_shape)
{
	struct spool_image *m = cuda_image(1000, 10 * MS, 10);
	const char *at;

	for (unsigned i = 0; i < 1500; i++)
		cuda_kernel(m, "k", 1, 7, 5000 + 1000 * i, 5500 + 1000 * i, 0)->grid[0] =
			1 + i;
	image_write(m);
	at = m->text;
	for (unsigned i = 0; i < 1500; i++) {
		at = strstr(at, "\"grid\":[");
		ck_assert_ptr_nonnull(at);
		at += 8;
		ck_assert_uint_eq(strtoul(at, NULL, 10), 1 + i);
	}
	image_free(m);
}
END_TEST

/* It says that there is more behind it than its length has. */
START_TEST(a_record_ends_where_it_says)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	cuda_kernel(m, "short", 1, 7, 5000, 6000, 0)->g.r.flags = GPU_LATENCY;
	cuda_kernel(m, "next", 2, 7, 7000, 8000, 0);
	image_write(m);
	ck_assert_str_eq(cuda_arg(m, "short", 0, "queued"), "0");
	ck_assert_ptr_null(cuda_arg(m, "short", 0, "submitted"));
	image_free(m);
}
END_TEST

/* Kinds that a newer CUPTI knows, the first of them and the last. */
START_TEST(kinds_that_nobody_knows)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);
	static const uint8_t kinds[] = { 8, 11, 200, 255 };

	for (unsigned i = 0; i < 4; i++) {
		struct rec_copy *c =
			cuda_copy(m, 1, 7, 2000 + 2000 * i, 3000 + 2000 * i, 0);
		struct rec_block *b =
			cuda_record(m, REC_BLOCK, sizeof(*b), NULL, 50000 + i, 0);

		c->kind = kinds[i] == 8 ? 11 : kinds[i];
		c->from = c->to = kinds[i];
		b->memory = kinds[i];
		b->operation = 1;
	}
	image_write(m);
	ck_assert_uint_eq(image_times(m, "Memcpy <unknown> (Unknown -> Unknown)"), 4);
	ck_assert_uint_eq(image_times(m, "\"memory\":\"Unknown\""), 4);
	image_free(m);
}
END_TEST

/* ---- who owns what ---- */

/* A call that begins just where an operator ends is its caller's. */
START_TEST(a_call_behind_an_operator_is_its_callers)
{
	struct spool_image *m = cuda_image(1000, 100000, 0);

	image_op(m, "outer", 2000, 9000);
	image_op(m, "inner", 3000, 4000);
	cuda_call(m, "behind", 1, 4000, 4100);
	cuda_kernel(m, "k", 1, 7, 20000, 21000, 0);
	image_write(m);
	ck_assert_int_eq(cuda_number(m, "k", 0, "External id"),
			 cuda_number(m, "outer", 0, "External id"));
	image_free(m);
}
END_TEST

/* Killed in the window: what the last call was called by ends behind it. */
START_TEST(an_operator_that_was_killed_ends_behind_its_call)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);
	struct slice call, op;

	m->info->end = 0;
	image_op(m, "op", 4000, 0);
	cuda_call(m, "launch", 1, 5000, 9000);
	image_write(m);
	call = image_find(m, "launch", 0);
	op = image_find(m, "op", 0);
	ck_assert_uint_eq(call.begin, 5000);
	ck_assert_uint_eq(call.end, 9000);
	ck_assert_uint_eq(op.end, 9001);
	image_free(m);
}
END_TEST

/* CUPTI's numbers and the hooks' are two series. */
START_TEST(hooks_and_cupti_count_apart)
{
	struct spool_image *m = cuda_image(1000, 100000, 0);
	struct rec_call *hooked;

	image_op(m, "op", 2000, 9000);
	hooked = image_record(m, REC_CALL, sizeof(*hooked),
			      image_name(m, "hooked", 6, ""), 3000, 3100);
	hooked->correlation = 5;
	hooked->r.flags = CALL_LAUNCHES;
	cuda_call(m, "seen", 5, 15000, 15100);
	cuda_kernel(m, "k", 5, 7, 20000, 21000, 0);
	image_write(m);
	ck_assert_ptr_null(cuda_arg(m, "k", 0, "External id"));
	ck_assert_uint_eq(image_times(m, "\"ph\":\"s\",\"id\":5,"), 1);
	ck_assert(image_has(
		m, "\"ph\":\"s\",\"id\":5,\"pid\":4242,\"tid\":4242,\"ts\":15.000"));
	image_free(m);
}
END_TEST

START_TEST(an_annotation_is_on_each_of_its_streams)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	image_note(m, "note", 2000, 30000);
	for (unsigned i = 0; i < 3; i++) {
		cuda_call(m, "launch", 1 + i, 3000 + 1000 * i, 3500 + 1000 * i);
		cuda_kernel(m, "k", 1 + i, 7 + i / 2, 40000 + 2000 * i, 41000 + 2000 * i,
			    0);
	}
	image_write(m);
	ck_assert_uint_eq(image_times(m, "\"cat\":\"gpu_user_annotation\""), 2);
	image_free(m);
}
END_TEST

static uint32_t deep_stack(struct spool_image *m)
{
	return image_call_stack(m, image_module(m, "lib"), 1, 5);
}

START_TEST(stacks_are_as_deep_as_asked)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);
	struct rec_stack *s = image_record(m, REC_STACK, sizeof(*s),
					   image_name(m, "launch", 6, ""), 1900, 0);

	s->stack = deep_stack(m);
	cuda_call(m, "launch", 1, 2000, 2100);
	m->config.stack_depth = 2;
	image_write(m);
	ck_assert_str_eq(cuda_arg(m, "launch", 0, "Call stack"),
			 "\"?? (lib+0x1);?? (lib+0x11)\"");
	m->config.stack_depth = 0;
	image_write(m);
	ck_assert_str_eq(
		cuda_arg(m, "launch", 0, "Call stack"),
		"\"?? (lib+0x1);?? (lib+0x11);?? (lib+0x21);?? (lib+0x31);?? (lib+0x41)\"");
	image_free(m);
}
END_TEST

/* Whoever launched what was not seen, it was not this thread. */
START_TEST(a_stack_is_of_one_thread)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);
	struct rec_stack *s = image_record(m, REC_STACK, sizeof(*s),
					   image_name(m, "launch", 6, ""), 1900, 0);

	s->stack = deep_stack(m);
	cuda_call(m, "launch", 1, 2000, 2100)->tid = 5000;
	image_write(m);
	ck_assert_ptr_nonnull(image_event(m, "launch", 0));
	ck_assert_ptr_null(cuda_arg(m, "launch", 0, "Call stack"));
	image_free(m);
}
END_TEST

/* A stack is of one call, though the next one of that name comes at once. */
START_TEST(a_stack_is_of_one_call)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);
	struct rec_stack *s = image_record(m, REC_STACK, sizeof(*s),
					   image_name(m, "launch", 6, ""), 1900, 0);

	s->stack = deep_stack(m);
	cuda_call(m, "launch", 1, 2000, 2100);
	cuda_call(m, "launch", 2, 2200, 2300);
	image_write(m);
	ck_assert_ptr_nonnull(cuda_arg(m, "launch", 0, "Call stack"));
	ck_assert_ptr_null(cuda_arg(m, "launch", 1, "Call stack"));
	image_free(m);
}
END_TEST

/* ---- waits ---- */

START_TEST(a_wait_names_the_record_before_it)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);
	struct rec_sync *s;
	struct rec_event *e;

	/* The later one is told first. */
	for (unsigned i = 2; i-- > 0;) {
		cuda_call(m, "cudaEventRecord", 10 + i, 20000 + i * 4000,
			  20100 + i * 4000)
			->r.flags = 0;
		e = cuda_record(m, REC_EVENT, sizeof(*e), NULL, 0, 0);
		*e = (struct rec_event){ e->r, 10 + i, 1, 7 + i, 9, 0 };
	}
	cuda_call(m, "cudaStreamWaitEvent", 20, 22000, 22100)->r.flags = 0;
	s = wait_of(m, 20, 1, 22000, 22100);
	s->event = 9;
	image_write(m);
	ck_assert_int_eq(
		cuda_number(m, "Event Sync", 0, "wait_on_cuda_event_record_corr_id"), 10);
	ck_assert_int_eq(cuda_number(m, "Event Sync", 0, "wait_on_stream"), 7);
	image_free(m);
}
END_TEST

/* Nobody saw a call: times of the GPU's own clock tell, a second ahead of ours. */
START_TEST(a_wait_without_its_call_knows_what_was_before_it)
{
	struct spool_image *m;
	struct rec_sync *s;
	struct rec_event *e;

	cuda_skew = 1000 * (int64_t)MS;
	m = cuda_image(1000, 100000, 10);
	for (unsigned i = 0; i < 3; i++) {
		if (i == 1) /* the middle one's call was seen: it is where that is */
			cuda_call(m, "cudaEventRecord", 11, 22000, 22100)->r.flags = 0;
		e = cuda_record(m, REC_EVENT, sizeof(*e), NULL, 20000 + i * 4000,
				20001 + i * 4000);
		*e = (struct rec_event){ e->r, 10 + i, 1, 7 + i, 9, 0 };
	}
	s = wait_of(m, 20, 1, 23000, 23100);
	s->event = 9;
	s = wait_of(m, 21, 1, 21000, 21100);
	s->event = 9;
	image_write(m);
	ck_assert_int_eq(
		cuda_number(m, "Event Sync", 0, "wait_on_cuda_event_record_corr_id"), 10);
	ck_assert_int_eq(
		cuda_number(m, "Event Sync", 1, "wait_on_cuda_event_record_corr_id"), 11);
	cuda_skew = 0;
	image_free(m);
}
END_TEST

/* The event's number was given again: CUPTI's own id of the record tells. */
START_TEST(a_wait_knows_its_records_id)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);
	struct rec_sync *s;
	struct rec_event *e;

	for (unsigned i = 0; i < 3; i++) {
		e = cuda_record(m, REC_EVENT, sizeof(*e), NULL, 20000 + i * 1000,
				20001 + i * 1000);
		*e = (struct rec_event){ e->r, 10 + i, 1, 7 + i, 9, 100 + i };
	}
	s = wait_of(m, 20, 1, 25000, 25100);
	s->event = 9;
	s->event_sync = 101;
	image_write(m);
	ck_assert_int_eq(
		cuda_number(m, "Event Sync", 0, "wait_on_cuda_event_record_corr_id"), 11);
	image_free(m);
}
END_TEST

START_TEST(a_wait_is_over_at_its_end)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	cuda_kernel(m, "k", 1, 7, 5000, 30000, 0);
	wait_of(m, 2, 3, 6000, 20000);
	image_write(m);
	ck_assert_uint_eq(image_find(m, "Stream Sync", 0).begin, 20000);
	ck_assert_uint_eq(image_find(m, "Stream Sync", 0).end, 20000);
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("gpu edges");

	tcase_add_loop_test(tc, the_last_digit_is_rounded, 0,
			    sizeof(reals) / sizeof(*reals));
	tcase_add_test(tc, priorities_have_a_sign);
	tcase_add_test(tc, each_kernel_has_its_own_shape);
	tcase_add_test(tc, a_record_ends_where_it_says);
	tcase_add_test(tc, kinds_that_nobody_knows);
	tcase_add_test(tc, a_call_behind_an_operator_is_its_callers);
	tcase_add_test(tc, an_operator_that_was_killed_ends_behind_its_call);
	tcase_add_test(tc, hooks_and_cupti_count_apart);
	tcase_add_test(tc, an_annotation_is_on_each_of_its_streams);
	tcase_add_test(tc, stacks_are_as_deep_as_asked);
	tcase_add_test(tc, a_stack_is_of_one_thread);
	tcase_add_test(tc, a_stack_is_of_one_call);
	tcase_add_test(tc, a_wait_names_the_record_before_it);
	tcase_add_test(tc, a_wait_without_its_call_knows_what_was_before_it);
	tcase_add_test(tc, a_wait_knows_its_records_id);
	tcase_add_test(tc, a_wait_is_over_at_its_end);
	return unit_run(tc, "writer gpu edges");
}
