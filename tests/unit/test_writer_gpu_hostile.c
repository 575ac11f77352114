/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU part: numbers that cannot be, what is missing, clocks that were set. */
#define IMAGE_SIZE (4u << 20)
#include "tests/unit/cuda_image.h"
#include "writer/gpu/args.h"

#define MS 1000000ull

static void add_moment(struct spool_image *m, uint64_t ticks, int64_t skew,
		       uint64_t error)
{
	int64_t old = cuda_skew;
	struct rec_moment *moment;

	cuda_skew = skew;
	moment = cuda_record(m, REC_MOMENT, sizeof(*moment), NULL, 0, ticks);
	moment->r.begin = ticks;
	moment->error = error;
	cuda_skew = old;
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

/* ---- devices ---- */

/* As many contexts as there is room for; the one behind them is of no device known. */
START_TEST(contexts_without_end)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	for (unsigned i = 0; i < 65; i++) {
		struct rec_kernel *k =
			cuda_kernel(m, "k", 1, 7, 5000 + 100 * i, 5050 + 100 * i, 0);

		k->g.device = 1;
		k->g.context = 100 + i;
	}
	wait_of(m, 2, 3, 60000, 61000)->context = 163;
	wait_of(m, 3, 3, 70000, 71000)->context = 164;
	image_write(m);
	/* Rows are in the order of their devices. */
	ck_assert_int_eq(cuda_number(m, "Stream Sync", 0, "context"), 164);
	ck_assert_int_eq(cuda_number(m, "Stream Sync", 0, "device"), 0);
	ck_assert_int_eq(cuda_number(m, "Stream Sync", 1, "context"), 163);
	ck_assert_int_eq(cuda_number(m, "Stream Sync", 1, "device"), 1);
	image_free(m);
}
END_TEST

START_TEST(devices_without_end)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	cuda_device(m, 64, "too many");
	cuda_device(m, 4000000000u, "far too many");
	cuda_device(m, 0, "the first");
	image_op(m, "op", 2000, 3000);
	image_write(m);
	ck_assert(image_has(m, "the first"));
	ck_assert(!image_has(m, "too many"));
	ck_assert_uint_eq(image_times(m, "\"totalGlobalMem\""), 1);
	ck_assert(!image_has(m,
			     "\"name\": \"unknown\"")); /* they make no room for others */
	image_free(m);
}
END_TEST

/* What overlaps more often than there are rows is cut, and is there. */
START_TEST(a_crowd_on_one_stream_is_all_there)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	for (unsigned i = 0; i < 40; i++)
		cuda_kernel(m, "k", 1, 7, 5000 + 10 * i, 50000 - 10 * i, 0);
	image_write(m);
	ck_assert_uint_eq(image_times(m, "\"name\":\"k\""), 40);
	ck_assert(image_has(m, "stream 7 (overlap 15)"));
	ck_assert(!image_has(m, "(overlap 16)"));
	image_free(m);
}
END_TEST

START_TEST(half_a_version_is_none)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	cuda_device(m, 0, "NVIDIA H100");
	strcpy(m->head->facts,
	       "cuda = {\"cupti\": 27, \"runtime\": 13000, \"driver\": 12}\n");
	image_op(m, "op", 2000, 3000);
	image_write(m);
	ck_assert(image_has(m, "\"cupti_version\": 27,"));
	ck_assert(image_has(m, "\"cuda_runtime_version\": 13000,"));
	ck_assert(!image_has(m, "cuda_driver_version"));
	image_free(m);
}
END_TEST

/* ---- what is missing ---- */

START_TEST(what_is_missing_is_counted_once)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	m->info->cuda[CUDA_UNMATCHED] = 5; /* seen by who read the buffers: the same */
	m->info->cuda[CUDA_DROPPED] = 3;
	cuda_kernel(m, "k", 1, 7, 5000, 6000, 0);
	image_write(m);
	ck_assert(image_has(m, "\"GPU work without its call\": 1"));
	ck_assert(image_has(m, "\"dropped by CUPTI\": 3"));
	image_free(m);
}
END_TEST

/* No room for the name, or a place where there is none. */
START_TEST(what_has_no_name_is_counted)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);
	uint32_t name;

	name = cuda_kernel(m, "k", 1, 7, 5000, 6000, 0)->g.r.name;
	cuda_kernel(m, "k", 2, 7, 7000, 8000, 0)->g.r.name = 0;
	cuda_kernel(m, "k", 3, 7, 9000, 9500, 0)->g.r.name = name;
	cuda_kernel(m, "", 4, 7, 9600, 9700, 0);
	cuda_call(m, "cudaLaunchKernel", 2, 2000, 2100)->r.name = UINT32_MAX;
	cuda_device(m, 0, "GPU")->r.name = 0;
	image_write(m);
	ck_assert_uint_eq(m->result.cuda[CUDA_UNNAMED], 4);
	ck_assert(image_has(m, "\"without a name\": 4"));
	image_free(m);
}
END_TEST

static const struct {
	enum cycle_cuda state;
	const char *facts;
	unsigned want;
} fetched[] = {
	{ CUDA_PENDING, "cuda = {\"state\": \"recording\"}\n", 1 },
	{ CUDA_SETTLED, "cuda = {\"state\": \"recording\"}\n", 0 },
	{ CUDA_PENDING, "cuda = {\"state\": \"aside\"}\n", 0 },
	{ CUDA_PENDING, "", 0 },
};

/* Of who was killed the window still waits for CUPTI, if that was at work. */
START_TEST(what_was_not_fetched_is_counted)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	atomic_store(&m->info->cuda_state, fetched[_i].state);
	strcpy(m->head->facts, fetched[_i].facts);
	cuda_kernel(m, "k", 1, 7, 5000, 6000, 0);
	image_write(m);
	ck_assert_uint_eq(m->result.cuda[CUDA_UNFETCHED], fetched[_i].want);
	image_free(m);
}
END_TEST

START_TEST(a_capture_may_be_older_than_the_window)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	cuda_call(m, "cudaLaunchKernel", 1, 2000, 2100);
	cuda_call(m, "cudaStreamEndCapture", 2, 5000, 5100)->r.flags = 0;
	cuda_call(m, "cudaLaunchKernel", 3, 7000, 7100);
	image_write(m);
	ck_assert(image_has(m, "\"calls without their GPU work\": 1"));
	image_free(m);
}
END_TEST

START_TEST(work_that_has_not_ended_has_no_time)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	cuda_kernel(m, "running", 1, 7, 5000, 0, 0);
	image_op(m, "op", 2000, 3000);
	image_write(m);
	ck_assert(image_has(m, "\"without a time\": 1"));
	ck_assert_ptr_null(image_event(m, "running", 0));
	image_free(m);
}
END_TEST

/* ---- clocks ---- */

/* Between two moments the clock was set by a minute: each side has its own. */
START_TEST(a_clock_that_was_set_bends_nothing)
{
	struct spool_image *m = cuda_image(1000, 20 * MS, 10);

	add_moment(m, 5 * MS, 0, 10);
	add_moment(m, 9 * MS, 60000 * (int64_t)MS, 10);
	cuda_kernel(m, "before", 1, 7, 7 * MS, 7 * MS + 1000, 0);
	cuda_skew = 60000 * (int64_t)MS;
	cuda_kernel(m, "behind", 2, 7, 10 * MS, 10 * MS + 1000, 0);
	cuda_skew = 0;
	image_write(m);
	ck_assert_uint_eq(image_find(m, "before", 0).begin, 7 * MS);
	ck_assert_uint_eq(image_find(m, "behind", 0).begin, 10 * MS);
	image_free(m);
}
END_TEST

/* Somebody else had the processor while it was taken: it makes the others no worse. */
START_TEST(a_bad_moment_is_left_out)
{
	struct spool_image *m = cuda_image(1000, 20 * MS, 10);

	add_moment(m, 10 * MS, 4 * (int64_t)MS, 5 * MS);
	cuda_kernel(m, "k", 1, 7, 10 * MS, 10 * MS + 1000, 0);
	image_write(m);
	ck_assert_uint_eq(image_find(m, "k", 0).begin, 10 * MS);
	ck_assert(image_has(m, "\"clock error ns\": 10,"));
	image_free(m);
}
END_TEST

/* Before the first tick there is. */
START_TEST(a_time_before_all_ticks_is_early)
{
	struct spool_image *m = cuda_image(1000, 20 * MS, 10);

	cuda_call(m, "early", 1, (uint64_t)-1000000000ll, (uint64_t)-900000000ll);
	cuda_kernel(m, "k", 1, 7, 10 * MS, 10 * MS + 1000, 0);
	image_write(m);
	ck_assert_uint_eq(image_find(m, "early", 0).begin, 1000);
	image_free(m);
}
END_TEST

/* The clock runs a little fast: a slice is as long as CUPTI measured it. */
START_TEST(a_slice_keeps_its_length)
{
	struct spool_image *m = cuda_image(1000, 20 * MS, 10);

	add_moment(m, 20 * MS - 1, 2000, 10);
	for (unsigned i = 0; i < 50; i++)
		cuda_kernel(m, "k", 1, 7, MS + i * 300000, MS + i * 300000 + 100000 + i,
			    0);
	image_write(m);
	for (unsigned i = 0; i < 50; i++) {
		struct slice s = image_find(m, "k", i);

		ck_assert_uint_eq(s.end - s.begin, 100000 + i);
	}
	image_free(m);
}
END_TEST

/* CUPTI knows eight kinds of memory today. */
START_TEST(a_kind_of_memory_that_nobody_knows_is_unknown)
{
	ck_assert_str_eq(gpu_memory_name(7), "Managed Static");
	for (unsigned kind = 8; kind < 300; kind++)
		ck_assert_str_eq(gpu_memory_name(kind), "Unknown");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("gpu hostile");

	tcase_add_test(tc, a_kind_of_memory_that_nobody_knows_is_unknown);
	tcase_add_test(tc, contexts_without_end);
	tcase_add_test(tc, devices_without_end);
	tcase_add_test(tc, a_crowd_on_one_stream_is_all_there);
	tcase_add_test(tc, half_a_version_is_none);
	tcase_add_test(tc, what_is_missing_is_counted_once);
	tcase_add_test(tc, what_has_no_name_is_counted);
	tcase_add_loop_test(tc, what_was_not_fetched_is_counted, 0,
			    sizeof(fetched) / sizeof(*fetched));
	tcase_add_test(tc, a_capture_may_be_older_than_the_window);
	tcase_add_test(tc, work_that_has_not_ended_has_no_time);
	tcase_add_test(tc, a_clock_that_was_set_bends_nothing);
	tcase_add_test(tc, a_bad_moment_is_left_out);
	tcase_add_test(tc, a_time_before_all_ticks_is_early);
	tcase_add_test(tc, a_slice_keeps_its_length);
	return unit_run(tc, "writer gpu hostile");
}
