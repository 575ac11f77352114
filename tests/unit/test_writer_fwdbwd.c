/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/spool_image.h"
#include "writer/fwdbwd.h"

static struct rec_op *numbered(struct spool_image *m, const char *name, uint64_t begin,
			       uint64_t end, int64_t seq, uint32_t fwd_thread)
{
	struct rec_op *op = image_op(m, name, begin, end);

	op->seq = seq;
	op->fwd_thread = fwd_thread;
	op->scope = fwd_thread ? 1 : 0;
	return op;
}

/* ts of the flow's start ('s') or end ('f'), or 0. */
static uint64_t flow(const struct spool_image *m, char ph, unsigned n)
{
	char want[32];
	const char *at = m->text;

	fmt(want, sizeof(want), "\n{\"ph\":\"%c\",\"id\":", ph);
	do
		at = at ? strstr(at + 1, want) : NULL;
	while (n--);
	return at ? image_ns(strstr(at, "\"ts\":") + 5) : 0;
}

static bool line_has(const char *line, const char *text)
{
	const char *end = strchr(line, '\n'), *at = strstr(line, text);

	return at && at < end;
}

START_TEST(a_flow_joins_the_latest_forward_and_the_first_backward)
{
	struct spool_image *m = image_new(1000, 100000);

	image_thread(m, 7, 1, "main");
	numbered(m, "aten::linear", 2000, 9000, 5, 0);
	numbered(m, "aten::addmm", 3000, 8000, 5, 0);
	numbered(m, "aten::relu", 9100, 9200, 6, 0);
	image_thread(m, 8, 2, "autograd");
	numbered(m, "AddmmBackward0", 3000, 30000, 5, 1);
	numbered(m, "AddmmBackward0", 40000, 50000, 5, 1);
	numbered(m, "OtherBackward0", 51000, 52000, 99, 1);
	image_write(m);
	ck_assert_uint_eq(flow(m, 's', 0), 3000);
	ck_assert_uint_eq(flow(m, 'f', 0), 3000);
	ck_assert_uint_eq(flow(m, 's', 1), 0);
	ck_assert_uint_eq(flow(m, 'f', 1), 0);
	image_free(m);
}
END_TEST

START_TEST(sequence_numbers_count_for_each_thread)
{
	struct spool_image *m = image_new(1000, 100000);

	image_thread(m, 7, 1, "main");
	numbered(m, "a", 2000, 3000, 5, 0);
	image_thread(m, 8, 2, "other");
	numbered(m, "b", 4000, 5000, 5, 0);
	numbered(m, "bBackward", 6000, 7000, 5, 2);
	image_write(m);
	ck_assert_uint_eq(flow(m, 's', 0), 4000);
	ck_assert_uint_eq(flow(m, 's', 1), 0);
	image_free(m);
}
END_TEST

START_TEST(a_thread_that_learnt_its_number_late_is_found)
{
	struct spool_image *m = image_new(1000, 100000);

	image_thread(m, 7, 0, "main");
	numbered(m, "a", 2000, 3000, 5, 0);
	image_thread(m, 7, 3, "main");
	numbered(m, "b", 4000, 5000, 6, 0);
	numbered(m, "aBackward", 6000, 7000, 5, 3);
	image_write(m);
	ck_assert_uint_eq(flow(m, 's', 0), 2000);
	ck_assert_uint_eq(flow(m, 'f', 0), 6000);
	image_free(m);
}
END_TEST

/* Nor has it the number of the thread that comes next. */
START_TEST(a_thread_without_a_number_has_no_other_ones)
{
	struct spool_image *m = image_new(1000, 100000);

	image_thread(m, 5, 0, "loader");
	numbered(m, "aten::stack", 2000, 3000, 5, 0);
	image_thread(m, 7, 1, "main");
	numbered(m, "aten::relu", 2000, 3000, 6, 0);
	image_thread(m, 8, 2, "autograd");
	numbered(m, "StackBackward0", 40000, 50000, 5, 1);
	image_write(m);
	ck_assert_uint_eq(flow(m, 's', 0), 0);
	ck_assert_uint_eq(flow(m, 'f', 0), 0);
	image_free(m);
}
END_TEST

START_TEST(the_outer_node_has_the_inner_numbers_and_no_flow)
{
	struct spool_image *m = image_new(1000, 100000);
	const char *outer;

	image_thread(m, 7, 1, "main");
	numbered(m, "aten::mm", 2000, 3000, 41, 0);
	image_op(m, "autograd::engine::evaluate_function: MmBackward0", 5000, 9000);
	image_op(m, "hook", 5100, 5200);
	numbered(m, "MmBackward0", 6000, 8000, 41, 1);
	image_op(m, "autograd::engine::evaluate_function: Lonely", 9500, 9600);
	numbered(m, "Lonely", 9700, 9800, 42, 1);
	image_write(m);
	outer = image_event(m, "autograd::engine::evaluate_function: MmBackward0", 0);
	ck_assert(line_has(outer, "\"Sequence number\":41,\"Fwd thread id\":1,"));
	ck_assert_uint_eq(flow(m, 'f', 0), 6000);
	ck_assert_uint_eq(flow(m, 'f', 1), 0);
	outer = image_event(m, "autograd::engine::evaluate_function: Lonely", 0);
	ck_assert(!line_has(outer, "Sequence"));
	image_free(m);
}
END_TEST

START_TEST(numbers_that_could_not_be_read_are_left_out)
{
	struct spool_image *m = image_new(1000, 100000);

	image_thread(m, 7, 1, "main");
	numbered(m, "aten::mm", 2000, 3000, 41, 0)->r.flags = OP_NO_SEQ;
	image_write(m);
	ck_assert(!line_has(image_event(m, "aten::mm", 0), "Sequence"));
	image_free(m);
}
END_TEST

START_TEST(every_pair_of_many_is_found)
{
	struct spool_image *m = image_new(1000, 100000000);
	unsigned starts = 0, ends = 0;

	image_thread(m, 7, 1, "main");
	for (unsigned i = 0; i < 3000; i++)
		numbered(m, "f", 2000 + i * 10, 2005 + i * 10, i, 0);
	for (unsigned i = 0; i < 3000; i++)
		numbered(m, "g", 1000000 + i * 10, 1000005 + i * 10, 2999 - i, 1);
	image_write(m);
	for (const char *at = m->text; (at = strstr(at, "\n{\"ph\":\"s\"")); at++)
		starts++;
	for (const char *at = m->text; (at = strstr(at, "\n{\"ph\":\"f\"")); at++)
		ends++;
	ck_assert_uint_eq(starts, 3000);
	ck_assert_uint_eq(ends, 3000);
	image_free(m);
}
END_TEST

/* A spool that grows between the count and the look: what was not counted is left out. */
START_TEST(more_than_were_counted_are_left_out)
{
	struct spool_image *m = image_new(1000, 100000);
	struct spool_view v;
	struct read_index ix;
	struct cycle_read c;
	struct links l;
	unsigned n = 0;

	image_thread(m, 7, 1, "main");
	for (unsigned i = 0; i < 100; i++)
		numbered(m, "g", 2000 + i * 10, 2005 + i * 10, i, 1);
	ck_assert_int_eq(spool_view_init(&v, m->base, IMAGE_SIZE), 0);
	ck_assert_int_eq(index_make(&ix, &v), 0);
	ck_assert_int_eq(read_cycle(&c, &v, &ix, m->info), 0);
	ck_assert_uint_eq(c.backward, 100);
	c.backward = 5;
	ck_assert_int_eq(fwdbwd_find(&l, &c), 0);
	for (size_t i = 0; i < l.slots; i++)
		n += l.pairs[i].backward != 0;
	ck_assert_uint_eq(n, 5);
	fwdbwd_free(&l);
	read_free(&c);
	index_free(&ix);
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("link");

	tcase_add_test(tc, a_flow_joins_the_latest_forward_and_the_first_backward);
	tcase_add_test(tc, sequence_numbers_count_for_each_thread);
	tcase_add_test(tc, a_thread_that_learnt_its_number_late_is_found);
	tcase_add_test(tc, a_thread_without_a_number_has_no_other_ones);
	tcase_add_test(tc, the_outer_node_has_the_inner_numbers_and_no_flow);
	tcase_add_test(tc, numbers_that_could_not_be_read_are_left_out);
	tcase_add_test(tc, every_pair_of_many_is_found);
	tcase_add_test(tc, more_than_were_counted_are_left_out);
	return unit_run(tc, "writer link");
}
