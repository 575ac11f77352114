/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a collective operation and its kernels. */
#include "agent/core/record_inputs.h"
#include "agent/core/record_stack.h"
#include "tests/unit/cuda_image.h"

static void image_note(struct spool_image *m, const char *name, uint64_t begin,
		       uint64_t end)
{
	image_op(m, name, begin, end)->r.kind = REC_ANNOTATION;
}

static void image_nccl(struct spool_image *m, const char *function, uint64_t count,
		       int32_t peer, uint64_t begin)
{
	struct rec_collective *c = image_record(
		m, REC_COLLECTIVE, sizeof(*c),
		image_name(m, function, strlen(function), ""), begin, begin + 10);

	c->count = count;
	c->type = 9;
	c->rank = 1;
	c->size = 4;
	c->peer = peer;
}

static struct spool_image *comms(const char *const *functions, const uint64_t *counts,
				 size_t n)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);

	image_op(m, "record_param_comms", 2000, 9000);
	image_note(m, "nccl:x", 2100, 8900);
	for (size_t i = 0; i < n; i++)
		image_nccl(m, functions[i], counts[i], (int32_t)i, 3000 + i * 100);
	cuda_call(m, "launch", 1, 5000, 5500);
	cuda_kernel(m, "k", 1, 7, 6000, 7000, 0);
	image_op(m, "record_param_comms", 20000, 21000);
	image_write(m);
	return m;
}

START_TEST(nccl_says_what_a_collective_is)
{
	static const struct {
		const char *function[2];
		uint64_t count[2];
		size_t n;
		const char *name;
		long in, out;
	} cases[] = {
		{ { "ncclAllReduce" }, { 10 }, 1, "\"allreduce\"", 10, 10 },
		{ { "ncclAllGather" }, { 10 }, 1, "\"_allgather_base\"", 10, 40 },
		{ { "ncclReduceScatter" },
		  { 10 },
		  1,
		  "\"_reduce_scatter_base\"",
		  40,
		  10 },
		{ { "ncclSend" }, { 10 }, 1, "\"send\"", 10, 10 },
		{ { "ncclSend", "ncclRecv" }, { 10, 20 }, 2, "\"all_to_allv\"", 10, 20 },
		{ { "ncclAllReduce", "ncclAllReduce" },
		  { 1, 2 },
		  2,
		  "\"allreduce\"",
		  3,
		  3 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct spool_image *m =
			comms(cases[i].function, cases[i].count, cases[i].n);
		const char *const events[] = { "record_param_comms", "k" };

		for (int e = 0; e < 2; e++) {
			ck_assert_str_eq(cuda_arg(m, events[e], 0, "Collective name"),
					 cases[i].name);
			ck_assert_str_eq(cuda_arg(m, events[e], 0, "dtype"),
					 "\"BFloat16\"");
			ck_assert_msg(
				cuda_number(m, events[e], 0, "In msg nelems") ==
						cases[i].in &&
					cuda_number(m, events[e], 0, "Out msg nelems") ==
						cases[i].out,
				"case %zu", i);
			ck_assert_int_eq(cuda_number(m, events[e], 0, "Group size"), 4);
		}
		ck_assert_int_eq(cuda_number(m, "record_param_comms", 0, "Rank"), 1);
		ck_assert_ptr_null(cuda_arg(m, "k", 0, "Rank"));
		ck_assert_ptr_null(cuda_arg(m, "record_param_comms", 1, "Rank"));
		image_free(m);
	}
}
END_TEST

/* In the order in which they are seen; NULL: no annotation. */
START_TEST(the_backend_is_that_of_the_collectives)
{
	static const struct {
		const char *notes[3];
		bool calls; /* of NCCL itself */
		const char *want;
	} rows[] = {
		{ { NULL }, false, "" },
		{ { "gloo:all_reduce" }, false, "gloo" },
		{ { "mpi:broadcast" }, false, "mpi" },
		{ { "nccl:all_reduce", "gloo:barrier" }, false, "nccl" },
		{ { "gloo:barrier", "nccl:_all_gather_base" }, false, "nccl" },
		{ { "gloo:barrier" }, true, "nccl" },
		{ { "glootenous:x", "gloo", "gloo:" }, false, "" },
		{ { "nccl: what I think of it", "gloo all_reduce" }, false, "" },
	};
	struct spool_image *m = image_new(1000, 100000);
	char want[64];

	image_thread(m, 4242, 1, "python3");
	image_op(m, "gloo:op", 2000, 9000);
	for (unsigned i = 0; i < 3 && rows[_i].notes[i]; i++)
		image_note(m, rows[_i].notes[i], 3000 + i * 100, 3050 + i * 100);
	if (rows[_i].calls)
		image_nccl(m, "ncclAllReduce", 1, 0, 4000);
	image_write(m);
	fmt(want, sizeof(want), "\"distributedInfo\": {\"backend\": \"%s\", ",
	    rows[_i].want);
	ck_assert_msg(strstr(m->text, want) != NULL, "%.600s", m->text);
	image_free(m);
}
END_TEST

/* The first rank is one, too; and what was not told is not known. */
START_TEST(ranks_count_from_0)
{
	static const int ranks[] = { 0, 3, -1 };

	for (unsigned i = 0; i < 3; i++) {
		struct spool_image *m = image_new(1000, 100000);
		struct rec_collective *c;

		image_thread(m, 4242, 1, "python3");
		image_op(m, "record_param_comms", 2000, 9000);
		c = image_record(m, REC_COLLECTIVE, sizeof(*c),
				 image_name(m, "ncclAllReduce", 13, ""), 3000, 3010);
		c->rank = ranks[i];
		c->size = -1;
		c->type = -1;
		image_write(m);
		if (ranks[i] < 0)
			ck_assert_ptr_null(cuda_arg(m, "record_param_comms", 0, "Rank"));
		else
			ck_assert_int_eq(cuda_number(m, "record_param_comms", 0, "Rank"),
					 ranks[i]);
		ck_assert_ptr_null(cuda_arg(m, "record_param_comms", 0, "Group size"));
		ck_assert_ptr_null(cuda_arg(m, "record_param_comms", 0, "dtype"));
		image_free(m);
	}
}
END_TEST

/* torch.profiler gives the kernel to record_param_comms, the old plugin wants it at the
 * nccl:* event, wherever that is. */
START_TEST(nccl_kernels_belong_by_dialect)
{
	const char *function = "ncclAllReduce";
	uint64_t count = 8;
	struct spool_image *m = comms(&function, &count, 1);

	ck_assert_int_eq(cuda_number(m, "k", 0, "External id"),
			 cuda_number(m, "record_param_comms", 0, "External id"));
	m->config.dialect = DIALECT_TB043;
	image_write(m);
	ck_assert_int_eq(cuda_number(m, "k", 0, "External id"),
			 cuda_number(m, "nccl:x", 0, "External id"));
	ck_assert_int_eq(cuda_number(m, "launch", 0, "External id"),
			 cuda_number(m, "nccl:x", 0, "External id"));
	ck_assert_uint_eq(image_times(m, "gpu_user_annotation"), 1);
	image_free(m);
}
END_TEST

START_TEST(recorded_inputs_say_the_rest)
{
	/* As torch 2.6 has them: no name, for strings are not recorded. */
	static const uint8_t inputs[] = {
		IN_TENSORS, IN_TENSOR, 5,      2,      3,          4,          4,
		1,          IN_TENSOR, 5,      1,      8,          1,          IN_END,
		IN_OTHER,   IN_OTHER,  IN_INT, 2,      IN_OTHER,   IN_SCALARS, IN_INT,
		5,          IN_INT,    6,      IN_END, IN_SCALARS, IN_END,     IN_INT,
		0,          IN_INT,    1,      IN_INT, 4,          IN_TRUE
	};
	struct spool_image *m = image_new(1000, 100000);
	size_t stack = _i ? sizeof(struct op_stack) : 0;
	struct rec_op *op;
	uint8_t *at;

	image_thread(m, 4242, 1, "python3");
	op = image_record(m, REC_OP, sizeof(*op) + stack + (sizeof(inputs) + 7) / 8 * 8,
			  image_name(m, "record_param_comms", 18, ""), 2000, 3000);
	op->seq = -1;
	op->r.flags = OP_INPUTS | (stack ? OP_STACK : 0);
	at = (uint8_t *)(op + 1) + stack;
	memcpy(at, inputs, sizeof(inputs));
	image_write(m);
	ck_assert_int_eq(cuda_number(m, "record_param_comms", 0, "In msg nelems"), 20);
	ck_assert_str_eq(cuda_arg(m, "record_param_comms", 0, "dtype"), "\"Half\"");
	ck_assert_int_eq(cuda_number(m, "record_param_comms", 0, "Group size"), 4);
	ck_assert_int_eq(cuda_number(m, "record_param_comms", 0, "Rank"), 2);
	ck_assert_int_eq(cuda_number(m, "record_param_comms", 0, "Global rank stride"),
			 1);
	ck_assert(image_has(m, "\"In split size\":\"[5, 6]\",\"Out split size\":\"[]\""));
	ck_assert(image_has(m, "\"Is asynchronized op\":true"));
	ck_assert_ptr_null(cuda_arg(m, "record_param_comms", 0, "Collective name"));
	/* Cut anywhere: no harm. */
	for (size_t n = 0; n < sizeof(inputs); n++) {
		memset(at + n, 0xff, sizeof(inputs) - n);
		image_write(m);
		memcpy(at, inputs, sizeof(inputs));
	}
	image_free(m);
}
END_TEST

/* 2^62 for each of four ranks: that no number holds is not told. */
START_TEST(counts_do_not_wrap)
{
	const char *function = "ncclAllGather";
	uint64_t count = 1ull << 62;
	struct spool_image *m = comms(&function, &count, 1);

	ck_assert_str_eq(cuda_arg(m, "record_param_comms", 0, "In msg nelems"),
			 "4611686018427387904");
	ck_assert_str_eq(cuda_arg(m, "record_param_comms", 0, "Out msg nelems"),
			 "4611686018427387904");
	image_free(m);
}
END_TEST

/* A call that begins as the operator ends is none of its own. */
START_TEST(what_begins_behind_it_is_not_its_own)
{
	struct spool_image *m = image_new(1000, 100000);

	image_thread(m, 4242, 1, "python3");
	image_op(m, "record_param_comms", 2000, 3000);
	image_nccl(m, "ncclAllReduce", 10, 0, 2500);
	image_nccl(m, "ncclAllReduce", 7, 0, 3000);
	image_write(m);
	ck_assert_int_eq(cuda_number(m, "record_param_comms", 0, "In msg nelems"), 10);
	image_free(m);
}
END_TEST

/* Newer torches put more in front: the first input and the last ones count. */
/* Of an operator of that name that is not torch's. */
START_TEST(six_inputs_are_too_few)
{
	static const uint8_t inputs[] = { IN_INT, 1, IN_INT, 2, IN_INT, 3, IN_INT, 4,
					  IN_INT, 5, IN_INT, 6, IN_END, 0, 0,      0 };
	struct spool_image *m = image_new(1000, 100000);
	struct rec_op *op;

	image_thread(m, 4242, 1, "python3");
	op = image_record(m, REC_OP, sizeof(*op) + sizeof(inputs),
			  image_name(m, "record_param_comms", 18, ""), 2000, 3000);
	op->seq = -1;
	op->r.flags = OP_INPUTS;
	memcpy(op + 1, inputs, sizeof(inputs));
	image_write(m);
	ck_assert_ptr_null(cuda_arg(m, "record_param_comms", 0, "Group size"));
	ck_assert_ptr_null(cuda_arg(m, "record_param_comms", 0, "Global rank start"));
	image_free(m);
}
END_TEST

START_TEST(of_many_inputs_the_edges_count)
{
	uint8_t inputs[128] = { IN_TENSOR, 6, 2, 4, 8, 8, 1 }, *at = inputs + 7;
	static const uint8_t last[] = { IN_INT, 2,        IN_OTHER, IN_OTHER, IN_OTHER,
					IN_INT, 3,        IN_INT,   1,        IN_INT,
					4,      IN_FALSE, IN_END };
	struct spool_image *m = image_new(1000, 100000);
	struct rec_op *op;

	for (unsigned i = 0; i < 20; i++) {
		*at++ = IN_INT;
		*at++ = (uint8_t)(100 + i);
	}
	memcpy(at, last, sizeof(last));
	image_thread(m, 4242, 1, "python3");
	op = image_record(m, REC_OP, sizeof(*op) + sizeof(inputs),
			  image_name(m, "record_param_comms", 18, ""), 2000, 3000);
	op->seq = -1;
	op->r.flags = OP_INPUTS;
	memcpy(op + 1, inputs, sizeof(inputs));
	image_write(m);
	ck_assert_int_eq(cuda_number(m, "record_param_comms", 0, "In msg nelems"), 32);
	ck_assert_str_eq(cuda_arg(m, "record_param_comms", 0, "dtype"), "\"Float\"");
	ck_assert_int_eq(cuda_number(m, "record_param_comms", 0, "Group size"), 4);
	ck_assert_int_eq(cuda_number(m, "record_param_comms", 0, "Rank"), 2);
	ck_assert_int_eq(cuda_number(m, "record_param_comms", 0, "Global rank start"), 3);
	ck_assert(image_has(m, "\"Is asynchronized op\":false"));
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("collective");

	tcase_add_test(tc, nccl_says_what_a_collective_is);
	tcase_add_loop_test(tc, the_backend_is_that_of_the_collectives, 0, 8);
	tcase_add_test(tc, ranks_count_from_0);
	tcase_add_test(tc, nccl_kernels_belong_by_dialect);
	tcase_add_loop_test(tc, recorded_inputs_say_the_rest, 0, 2);
	tcase_add_test(tc, counts_do_not_wrap);
	tcase_add_test(tc, what_begins_behind_it_is_not_its_own);
	tcase_add_test(tc, six_inputs_are_too_few);
	tcase_add_test(tc, of_many_inputs_the_edges_count);
	return unit_run(tc, "writer collective");
}
