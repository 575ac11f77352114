/* SPDX-License-Identifier: Apache-2.0 */
/* A file at its edges: nothing in it, names that share a slot, times and numbers that no
 * reader would take. */
#include "agent/core/record_gpu.h"
#include "tests/unit/spool_image.h"
#include "writer/trace.h"

#include <errno.h>

/* Its owner may say that it is longer than when its header was found sound. */
START_TEST(no_chunk_goes_on_behind_its_spool)
{
	_Alignas(64) static uint8_t bytes[2 * CHUNK_SMALL];
	struct spool_view v = { .base = bytes, .size = CHUNK_SMALL };
	struct chunk *c = (struct chunk *)bytes;
	uint64_t at, end;

	c->size = 2 * CHUNK_SMALL;
	atomic_store(&c->kind, CHUNK_DATA);
	atomic_store(&c->used, CHUNK_SMALL);
	ck_assert(read_chunk(&v, 0, CHUNK_DATA, &at, &end));
	ck_assert_uint_eq(at, sizeof(*c));
	ck_assert_uint_eq(end, CHUNK_SMALL);
	atomic_store(&c->used, CHUNK_SMALL + 1);
	ck_assert(!read_chunk(&v, 0, CHUNK_DATA, &at, &end));
}
END_TEST

/* The second one of a window cannot be read. */
static int fail_second(uint64_t offset, void *arg)
{
	uint64_t *last = arg;

	*last = offset;
	return offset == 2 * CHUNK_SMALL ? -EIO : 0;
}

START_TEST(a_chunk_that_cannot_be_read_ends_its_window)
{
	struct read_index ix = { 0 };
	uint64_t last = 0;

	for (uint64_t i = 4; i-- > 1;) {
		ck_assert_int_eq(index_add(&ix, 7, i * CHUNK_SMALL), 0);
		ck_assert_int_eq(index_add(&ix, 8, (i + 4) * CHUNK_SMALL), 0);
	}
	ck_assert_int_eq(index_sort(&ix), 0);
	ck_assert_int_eq(index_chunks(&ix, 7, fail_second, &last), -EIO);
	ck_assert_uint_eq(last, 2 * CHUNK_SMALL);
	ck_assert_int_eq(index_chunks(&ix, 8, fail_second, &last), 0);
	ck_assert_uint_eq(last, 7 * CHUNK_SMALL);
	index_free(&ix);
}
END_TEST

START_TEST(how_large_a_process_was_is_no_file)
{
	struct spool_image *m = image_new(1000, 100000);

	image_thread(m, 7, 1, "main");
	image_counters(m, 2000, 1 << 20);
	image_write(m);
	ck_assert_str_eq(m->result.path, "");
	image_op(m, "a", 3000, 4000);
	image_write(m);
	ck_assert_str_ne(m->result.path, "");
	image_free(m);
}
END_TEST

/* A mean of each kind, for its events and those that were dropped; what was timed whole
 * as it is. */
START_TEST(each_kind_costs_what_its_samples_did)
{
	struct spool_image *m = image_new(1000, 100000);
	uint64_t ops, frees;

	image_thread(m, 7, 1, "main");
	image_op(m, "a", 2000, 3000);
	m->info->cost[COST_OP].samples = 10;
	m->info->cost[COST_OP].ticks = 1000;
	image_write(m);
	ops = m->result.overhead_ns;
	ck_assert_uint_gt(m->result.torch_ns, ops / 2);
	ck_assert_uint_lt(m->result.torch_ns, ops);
	m->info->drops[REC_OP] = 1;
	image_write(m);
	ck_assert_uint_eq(m->result.overhead_ns, 2 * ops);
	m->info->drops[REC_OP] = 0;
	m->info->rare_ns = 777;
	image_write(m);
	ck_assert_uint_eq(m->result.overhead_ns, ops + 777);
	m->info->cost[COST_FREE].samples = 1;
	m->info->cost[COST_FREE].ticks = 100;
	m->info->drops[REC_FREE] = 1;
	image_write(m);
	frees = m->result.overhead_ns - ops - 777;
	ck_assert_uint_ge(frees, 100);
	m->info->cost[COST_CALL].samples = 2;
	m->info->cost[COST_CALL].ticks = 5000;
	image_write(m);
	ck_assert_uint_eq(m->result.overhead_ns, ops + 777 + frees + 5000);
	image_free(m);
}
END_TEST

/* Each operator has been timed by the program's own threads; the GPU's work has not. */
START_TEST(the_gpu_costs_the_program_nothing)
{
	struct spool_image *m = image_new(1000, 100000);
	uint64_t one;

	m->info->cost[COST_OP].samples = 1;
	m->info->cost[COST_OP].ticks = 10;
	image_thread(m, 7, 1, "main");
	image_op(m, "a", 2000, 3000);
	image_write(m);
	one = m->result.overhead_ns;
	ck_assert_uint_gt(one, 0);
	for (unsigned i = 0; i < 5; i++)
		image_record(m, REC_KERNEL, sizeof(struct rec_kernel), 0, 4000 + i,
			     4500 + i);
	image_write(m);
	ck_assert_uint_eq(m->result.overhead_ns, one);
	image_op(m, "b", 5000, 6000);
	image_write(m);
	ck_assert_uint_eq(m->result.overhead_ns, 2 * one);
	image_free(m);
}
END_TEST

/* More of them than there are places for. */
START_TEST(each_has_its_own_name)
{
	struct spool_image *m = image_new(1000, 100000);
	char name[32];

	image_thread(m, 7, 1, "main");
	for (unsigned i = 0; i < 1500; i++) {
		fmt(name, sizeof(name), "name %u", i);
		image_op(m, name, 2000 + 20 * i, 2010 + 20 * i);
	}
	image_write(m);
	for (unsigned i = 0; i < 1500; i++) {
		fmt(name, sizeof(name), "name %u", i);
		ck_assert_uint_eq(image_find(m, name, 0).begin, 2000 + 20 * i);
	}
	image_free(m);
}
END_TEST

/* A reader looks for the last closing bracket of the file: that of its events. */
START_TEST(a_path_has_no_bracket)
{
	struct spool_image *m = image_new(1000, 100000);
	const char *last;

	fmt(m->config.logdir, sizeof(m->config.logdir), "%s/lo]g", m->dir);
	image_thread(m, 7, 1, "main");
	image_op(m, "a", 2000, 3000);
	image_write(m);
	last = strrchr(m->text, ']');
	ck_assert(!strncmp(last, "],\n\"traceName\": ", 16));
	ck_assert_ptr_nonnull(strstr(last, "/lo\\u005dg/"));
	image_free(m);
}
END_TEST

START_TEST(a_rank_is_a_number)
{
	static const char *const said[][2] = {
		{ "007", "7" }, { "0", "0" }, { "000", "0" }, { "100", "100" }
	};
	char want[64];

	for (unsigned i = 0; i < 4; i++) {
		struct spool_image *m = image_new(1000, 100000);

		fmt(m->head->facts, sizeof(m->head->facts), "rank = \"%s\"\n",
		    said[i][0]);
		image_thread(m, 7, 1, "main");
		image_op(m, "a", 2000, 3000);
		image_write(m);
		fmt(want, sizeof(want), ", \"rank\": %s, \"world_size\": 1}", said[i][1]);
		ck_assert_msg(strstr(m->text, want) != NULL, "%s", want);
		image_free(m);
	}
}
END_TEST

START_TEST(nothing_was_before_the_file)
{
	static struct trace t = { .base_ns = 1000 };

	ck_assert_uint_eq(slice_ts(&t, 999), 0);
	ck_assert_uint_eq(slice_ts(&t, INT64_MIN), 0);
	ck_assert_uint_eq(slice_ts(&t, 1001), 1);
}
END_TEST

/* A table of a clock that cannot be: time stands, it does not go astray. */
START_TEST(a_damaged_clock_stands)
{
	static const double rates[] = { 1e12, 1e9, -5, -1e12 };

	for (unsigned i = 0; i < 4; i++) {
		struct rows_clock c = { .line = { 0, 0, 0, rates[i] },
					.block = UINT64_MAX };

		for (uint64_t ticks = 0; ticks < 1 << 22; ticks += 99991)
			ck_assert_int_eq(rows_ns(&c, ticks), 0);
	}
}
END_TEST

/* No field of a record is read from behind its end. */
START_TEST(short_records_end_their_chunk)
{
	struct spool_image *m = image_new(1000, 100000);
	struct spool_view v;

	ck_assert_int_eq(spool_view_init(&v, m->base, IMAGE_SIZE), 0);
	for (unsigned kind = 0; kind < REC_KINDS; kind++) {
		struct record *r = image_record(m, kind, sizeof(*r), 0, 2000, 3000);
		uint64_t from = (uint64_t)((uint8_t *)r - m->base), at = from;
		bool is_all = kind == REC_NONE || kind == REC_FREE || kind == REC_C_CALL;

		ck_assert_msg((read_step(&v, &at, from + 1024) != NULL) == is_all,
			      "kind %u", kind);
		ck_assert_uint_eq(at, is_all ? from + sizeof(*r) : from);
	}
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("edges");

	tcase_add_test(tc, no_chunk_goes_on_behind_its_spool);
	tcase_add_test(tc, a_chunk_that_cannot_be_read_ends_its_window);
	tcase_add_test(tc, how_large_a_process_was_is_no_file);
	tcase_add_test(tc, the_gpu_costs_the_program_nothing);
	tcase_add_test(tc, each_kind_costs_what_its_samples_did);
	tcase_add_test(tc, each_has_its_own_name);
	tcase_add_test(tc, a_path_has_no_bracket);
	tcase_add_test(tc, a_rank_is_a_number);
	tcase_add_test(tc, nothing_was_before_the_file);
	tcase_add_test(tc, a_damaged_clock_stands);
	tcase_add_test(tc, short_records_end_their_chunk);
	return unit_run(tc, "writer edges");
}
