/* SPDX-License-Identifier: Apache-2.0 */
/* What joins the GPU's work to what is known of it: annotations, stacks, graphs, waits,
 * and the hooks' own records. */
#include "tests/unit/cuda_image.h"

static void image_note(struct spool_image *m, const char *name, uint64_t begin,
		       uint64_t end)
{
	image_op(m, name, begin, end)->r.kind = REC_ANNOTATION;
}

static void launch(struct spool_image *m, uint32_t id, uint64_t begin, uint64_t gpu,
		   uint64_t gpu_end)
{
	cuda_call(m, "launch", id, begin, begin + 500);
	cuda_kernel(m, "k", id, 7, gpu, gpu_end, 0);
}

/* The n-th event of a category. */
static struct slice of_cat(const struct spool_image *m, const char *cat, unsigned n)
{
	const char *at = m->text;

	do
		at = strstr(at + 1, cat);
	while (at && n--);
	ck_assert_msg(at != NULL, "no %s", cat);
	while (at[-1] != '\n')
		at--;
	return image_slice(at);
}

/* Kernels without a gap between them: what follows lies on the same row. */
START_TEST(annotations_that_touch_share_a_row)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	image_note(m, "one", 2000, 3000);
	image_note(m, "two", 4000, 5000);
	launch(m, 1, 2500, 40000, 41000);
	launch(m, 2, 4500, 41000, 42000);
	image_write(m);
	ck_assert_uint_eq(image_times(m, "gpu_user_annotation"), 2);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_uint_eq(of_cat(m, "gpu_user_annotation", i).tid, 7);
	image_free(m);
}
END_TEST

START_TEST(annotations_are_seen_on_the_gpu)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);
	struct slice outer, inner;

	image_note(m, "ProfilerStep#3", 1500, 60000);
	image_note(m, "outer", 2000, 30000);
	image_note(m, "inner", 5000, 9000);
	launch(m, 1, 3000, 40000, 41000);
	launch(m, 2, 6000, 41000, 42000);
	launch(m, 3, 10000, 42000, 43000);
	launch(m, 4, 35000, 45000, 46000);
	image_write(m);
	outer = of_cat(m, "gpu_user_annotation", 0);
	inner = of_cat(m, "gpu_user_annotation", 1);
	ck_assert_uint_eq(image_times(m, "gpu_user_annotation"), 2);
	ck_assert_uint_eq(outer.begin, 39999);
	ck_assert_uint_eq(outer.end, 43001);
	ck_assert_uint_eq(outer.tid, 7);
	/* Inside the outer one, and clear of the kernels on both sides. */
	ck_assert_uint_eq(inner.begin, 41001);
	ck_assert_uint_eq(inner.end, 42000);
	ck_assert_uint_eq(inner.tid, 7);
	m->config.dialect = DIALECT_TB043;
	image_write(m);
	ck_assert(!image_has(m, "gpu_user_annotation"));
	image_free(m);
}
END_TEST

/* Two threads use a stream in turns: the second one's annotation cannot nest. */
START_TEST(crossing_annotations_have_a_row_of_their_own)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	image_note(m, "one", 2000, 30000);
	launch(m, 1, 3000, 40000, 41000);
	launch(m, 2, 9000, 42000, 43000);
	image_thread(m, 5000, 2, "other");
	image_note(m, "two", 2000, 30000);
	cuda_call(m, "launch", 3, 4000, 4500)->tid = 5000;
	cuda_call(m, "launch", 4, 9500, 9900)->tid = 5000;
	cuda_kernel(m, "k", 3, 7, 41500, 41900, 0);
	cuda_kernel(m, "k", 4, 7, 44000, 45000, 0);
	image_write(m);
	ck_assert_uint_eq(of_cat(m, "gpu_user_annotation", 0).tid, 7);
	ck_assert_uint_eq(of_cat(m, "gpu_user_annotation", 1).tid, 10000007);
	ck_assert_uint_eq(of_cat(m, "gpu_user_annotation", 1).end, 45000);
	image_free(m);
}
END_TEST

/* Three threads: the second begins with a call, and the third has nothing else. The
 * first one's operator lasts longer than all of that. */
START_TEST(a_call_is_of_no_other_threads_operator)
{
	struct spool_image *m = cuda_image(1000, 100000, 0);

	image_op(m, "outer", 2000, 90000);
	cuda_call(m, "mine", 1, 3000, 3100);
	cuda_call(m, "early", 2, 5000, 5100)->tid = 5000;
	cuda_call(m, "late", 3, 7000, 7100)->tid = 5000;
	cuda_call(m, "alone", 4, 4000, 4100)->tid = 6000;
	cuda_call(m, "again", 5, 8000, 8100)->tid = 6000;
	image_thread(m, 5000, 2, "second");
	image_op(m, "its own", 6000, 9000);
	image_write(m);
	ck_assert_ptr_nonnull(cuda_arg(m, "mine", 0, "External id"));
	ck_assert_ptr_null(cuda_arg(m, "alone", 0, "External id"));
	ck_assert_ptr_null(cuda_arg(m, "again", 0, "External id"));
	ck_assert_ptr_null(cuda_arg(m, "early", 0, "External id"));
	ck_assert_int_eq(cuda_number(m, "late", 0, "External id"),
			 cuda_number(m, "its own", 0, "External id"));
	ck_assert_uint_eq(image_find(m, "alone", 0).begin, 4000);
	ck_assert_uint_eq(image_find(m, "early", 0).begin, 5000);
	image_free(m);
}
END_TEST

START_TEST(a_graph_has_one_arrow)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);
	struct rec_graph *g;

	cuda_call(m, "cudaGraphLaunch", 1, 2000, 3000);
	for (unsigned i = 0; i < 5; i++)
		cuda_kernel(m, "k", 1, 7, 9000 - i * 1000, 9500 - i * 1000, 0);
	cuda_call(m, "cudaGraphLaunch", 2, 4000, 4500);
	g = cuda_record(m, REC_GRAPH, sizeof(*g), NULL, 20000, 30000);
	cuda_where(&g->g, 2, 7);
	g->g.device = 255;
	g->graph = 12;
	image_write(m);
	ck_assert_uint_eq(image_times(m, "\"ph\":\"s\",\"id\":1,"), 1);
	ck_assert_uint_eq(image_times(m, "\"ph\":\"f\",\"id\":1,"), 1);
	ck_assert(image_has(m, "\"id\":1,\"pid\":0,\"tid\":7,\"ts\":5.000,"));
	ck_assert_int_eq(cuda_number(m, "CUDA graph 12", 0, "pid"), 0);
	ck_assert_int_eq(cuda_number(m, "CUDA graph 12", 0, "graph id"), 12);
	image_free(m);
}
END_TEST

/* What is captured has no GPU work of its own. */
START_TEST(captured_launches_are_not_missed)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	cuda_call(m, "launch", 1, 1200, 1300); /* in a capture that began before */
	cuda_call(m, "cuStreamEndCapture", 2, 1400, 1500)->r.flags = CALL_DRIVER;
	cuda_call(m, "launch", 3, 2000, 2100);
	cuda_call(m, "cudaStreamBeginCapture", 4, 3000, 3100)->r.flags = 0;
	cuda_call(m, "cudaStreamBeginCapture", 5, 3200, 3300)->r.flags = 0;
	cuda_call(m, "launch", 6, 4000, 4100)->tid = 77;
	cuda_call(m, "cudaStreamEndCapture", 7, 5000, 5100)->r.flags = 0;
	cuda_call(m, "launch", 8, 5200, 5300);
	cuda_call(m, "cudaStreamEndCapture", 9, 6000, 6100)->r.flags = 0;
	cuda_call(m, "launch", 10, 7000, 7100);
	cuda_call(m, "cudaStreamBeginCapture", 11, 8000, 8100)->r.flags = 0;
	cuda_call(m, "launch", 12, 9000, 9100);
	m->info->cuda[CUDA_MISSING] = 6;
	image_write(m);
	ck_assert_uint_eq(m->result.cuda[CUDA_MISSING], 2);
	image_free(m);
}
END_TEST

START_TEST(copies_of_no_time_have_no_bandwidth)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	cuda_copy(m, 1, 7, 5000, 5000, 0);
	cuda_copy(m, 2, 7, 6000, 8048, 0)->kind = 200;
	image_write(m);
	ck_assert_ptr_null(cuda_arg(m, "Memcpy HtoD (Pinned -> Device)", 0,
				    "memory bandwidth (GB/s)"));
	ck_assert_str_eq(cuda_arg(m, "Memcpy <unknown> (Pinned -> Device)", 0,
				  "memory bandwidth (GB/s)"),
			 "2.0");
	image_free(m);
}
END_TEST

START_TEST(waits_begin_where_the_work_ends)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);
	struct rec_event *e;
	struct rec_sync *s;

	launch(m, 1, 2000, 5000, 9000);
	cuda_call(m, "cudaStreamSynchronize", 2, 3000, 10000)->r.flags = 0;
	s = cuda_record(m, REC_SYNC, sizeof(*s), NULL, 3100, 9900);
	*s = (struct rec_sync){ s->r, 2, 1, 7, 3, UINT32_MAX, 0, 0 };
	/* The same event twice: without a time the call tells which was before. */
	for (unsigned i = 0; i < 3; i++) {
		cuda_call(m, "cudaEventRecord", 10 + i, 20000 + i * 2000,
			  20100 + i * 2000)
			->r.flags = 0;
		e = cuda_record(m, REC_EVENT, sizeof(*e), NULL, 0, 0);
		*e = (struct rec_event){ e->r, 10 + i, 1, 7 + i, 9, 0 };
	}
	cuda_call(m, "cudaEventSynchronize", 20, 23000, 23500)->r.flags = 0;
	s = cuda_record(m, REC_SYNC, sizeof(*s), NULL, 23100, 23400);
	*s = (struct rec_sync){ s->r, 20, 1, UINT32_MAX, 1, 9, 0, 0 };
	image_write(m);
	ck_assert_uint_eq(image_find(m, "Stream Sync", 0).begin, 9000);
	ck_assert_uint_eq(image_find(m, "Stream Sync", 0).tid, 1000007);
	ck_assert_int_eq(
		cuda_number(m, "Event Sync", 0, "wait_on_cuda_event_record_corr_id"), 11);
	ck_assert_int_eq(cuda_number(m, "Event Sync", 0, "wait_on_stream"), 8);
	ck_assert_int_eq(cuda_number(m, "Event Sync", 0, "stream"), -1);
	/* torch draws no arrow to that one. */
	ck_assert(!image_has(m, "\"id\":20,"));
	ck_assert(!image_has(m, "cudaEvent\","));
	image_free(m);
}
END_TEST

START_TEST(hooks_speak_in_ticks)
{
	struct spool_image *m = image_new(1000, 100000);
	struct rec_kernel *k;
	struct rec_call *c;
	struct rec_moment *moment;

	cuda_chunk = NULL;
	cuda_skew = 77777;
	moment = cuda_record(m, REC_MOMENT, sizeof(*moment), NULL, 0, 5000);
	moment->r.begin = 5000;
	moment->error = 500;
	image_thread(m, 4242, 1, "python3");
	image_op(m, "op", 2000, 9000);
	c = image_record(m, REC_CALL, sizeof(*c), image_name(m, "hooked", 6, ""), 3000,
			 3500);
	c->correlation = 1;
	c->r.flags = CALL_LAUNCHES; /* it lies in the thread's chunk: that says it */
	k = image_record(m, REC_KERNEL, sizeof(*k), image_name(m, "guess", 5, ""), 4000,
			 6000);
	k->g.r.flags = GPU_ESTIMATE;
	k->g.correlation = 1;
	/* CUPTI counts for itself. */
	cuda_call(m, "traced", 1, 10000, 10500);
	cuda_kernel(m, "real", 1, 7, 12000, 13000, 0);
	image_write(m);
	cuda_skew = 0;
	ck_assert_uint_eq(image_find(m, "hooked", 0).begin, 3000);
	ck_assert_uint_eq(image_find(m, "guess", 0).begin, 4000);
	ck_assert_uint_eq(image_find(m, "guess", 0).end, 6000);
	ck_assert_str_eq(cuda_arg(m, "guess", 0, "estimate"), "true");
	ck_assert_int_eq(cuda_number(m, "guess", 0, "External id"), 1);
	ck_assert_uint_eq(image_find(m, "traced", 0).begin, 10000);
	ck_assert_ptr_null(cuda_arg(m, "real", 0, "External id"));
	image_free(m);
}
END_TEST

static void image_stack(struct spool_image *m, const char *function, const char *module,
			uint64_t ticks)
{
	struct rec_stack *s =
		image_record(m, REC_STACK, sizeof(*s),
			     image_name(m, function, strlen(function), ""), ticks, 0);

	s->stack = image_call_stack(m, image_module(m, module), 1, 1);
}

START_TEST(stacks_find_their_calls)
{
	struct spool_image *m = cuda_image(1000, 100000, 50);

	image_stack(m, "launch", "first", 1900);
	image_stack(m, "launch", "lost", 2900);
	image_stack(m, "copy", "second", 3900);
	image_stack(m, "launch", "third", 4900);
	cuda_call(m, "launch", 1, 2000, 2100);
	cuda_call(m, "copy", 2, 4000, 4100);
	cuda_call(m, "launch", 3, 4870, 5100); /* the clocks are off a little */
	cuda_call(m, "launch", 4, 6000, 6100);
	image_write(m);
	ck_assert_str_eq(cuda_arg(m, "launch", 0, "Call stack"), "\"?? (first+0x1)\"");
	ck_assert_str_eq(cuda_arg(m, "copy", 0, "Call stack"), "\"?? (second+0x1)\"");
	ck_assert_str_eq(cuda_arg(m, "launch", 1, "Call stack"), "\"?? (third+0x1)\"");
	ck_assert_ptr_null(cuda_arg(m, "launch", 2, "Call stack"));
	image_free(m);
}
END_TEST

/* ---- size ---- */

START_TEST(a_launched_kernel_takes_little_room)
{
	struct spool_image *m = cuda_image(1000, 100000000, 10);
	struct rec_kernel *k;
	struct gpu_graph *g;
	char name[171];
	size_t one, two;

	memset(name, 'k', 170);
	name[170] = '\0';
	cuda_device(m, 0, "NVIDIA H100");
	image_op(m, "aten::mm", 2000, 90000000);
	for (unsigned i = 0; i < 2; i++) {
		cuda_call(m, "cudaLaunchKernel", 123456 + i, 50000000 + i * 10000,
			  50005000 + i * 10000);
		k = cuda_kernel(m, name, 123456 + i, 7, 60000000 + i * 10000,
				60005000 + i * 10000, sizeof(*g));
		k->grid[0] = 123456;
		k->dynamic_shared = 98304;
		k->registers = 168;
		k->g.r.flags = GPU_GRAPH;
		k->g.priority = -5;
		k->g.channel_type = 1;
		k->channel = 12;
		g = (struct gpu_graph *)(k + 1);
		g->node = 123456789;
		g->graph = 123;
		image_write(m);
		*(i ? &two : &one) = m->len;
	}
	ck_assert_msg(two - one <= 1250, "%zu bytes", two - one);
	printf("%zu bytes for a launched kernel\n", two - one);
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("links");

	tcase_add_test(tc, annotations_that_touch_share_a_row);
	tcase_add_test(tc, annotations_are_seen_on_the_gpu);
	tcase_add_test(tc, crossing_annotations_have_a_row_of_their_own);
	tcase_add_test(tc, a_call_is_of_no_other_threads_operator);
	tcase_add_test(tc, a_graph_has_one_arrow);
	tcase_add_test(tc, captured_launches_are_not_missed);
	tcase_add_test(tc, copies_of_no_time_have_no_bandwidth);
	tcase_add_test(tc, waits_begin_where_the_work_ends);
	tcase_add_test(tc, hooks_speak_in_ticks);
	tcase_add_test(tc, stacks_find_their_calls);
	tcase_add_test(tc, a_launched_kernel_takes_little_room);
	return unit_run(tc, "writer links");
}
