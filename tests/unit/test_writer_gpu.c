/* SPDX-License-Identifier: Apache-2.0 */
/* A window with one of everything that a GPU does, as the golden files show it. */
#include "agent/core/record_inputs.h"
#include "agent/core/spool_view.h"
#include "tests/unit/cuda_image.h"
#include "tests/unit/spool_recover.h"

#include <unistd.h>

static uint8_t *put_params(uint8_t *at)
{
	/* tensor, 2 tuples, rank, name, no splits, start, stride, world size */
	static const uint8_t inputs[] = {
		IN_TENSOR, 6,          1,      0xf9,       0,       2,      1,
		IN_OTHER,  IN_OTHER,   IN_INT, 3,          IN_TEXT, 9,      'a',
		'l',       'l',        'r',    'e',        'd',     'u',    'c',
		'e',       IN_SCALARS, IN_END, IN_SCALARS, IN_END,  IN_INT, 0,
		IN_INT,    1,          IN_INT, 8,          IN_FALSE
	};

	memcpy(at, inputs, sizeof(inputs));
	return at + sizeof(inputs);
}

static void put_collective(struct spool_image *m)
{
	struct rec_collective *c;
	struct rec_kernel *k;
	struct rec_op *op;

	op = image_op(m, "nccl:all_reduce", 30000, 39000);
	op->r.kind = REC_ANNOTATION;
	op->scope = 7;
	op = image_record(m, REC_OP, sizeof(*op) + 48,
			  image_name(m, "record_param_comms", 18, ""), 31000, 38000);
	op->seq = -1;
	op->r.flags = OP_INPUTS;
	put_params((uint8_t *)(op + 1));
	c = image_record(m, REC_COLLECTIVE, sizeof(*c),
			 image_name(m, "ncclAllReduce", 13, ""), 32000, 33000);
	c->count = 512;
	c->comm = 77;
	c->type = 7;
	c->rank = 3;
	c->size = 8;
	c->peer = -1;
	cuda_call(m, "cudaLaunchKernelExC", 20, 34000, 36000);
	k = cuda_kernel(m, "_Z21ncclDevKernel_Sum_f32P4work", 20, 20, 37000, 60000, 0);
	k->dynamic_shared = 90000;
}

static void put_graph_and_waits(struct spool_image *m)
{
	struct rec_kernel *k;
	struct gpu_graph *node;
	struct rec_event *e;
	struct rec_sync *s;

	cuda_call(m, "cudaGraphLaunch", 30, 41000, 42000);
	for (unsigned i = 0; i < 2; i++) {
		k = cuda_kernel(m, "in_graph", 30, 7, 42000 + 500 * i, 43000 + 500 * i,
				sizeof(*node));
		k->g.r.flags = GPU_GRAPH;
		node = (struct gpu_graph *)(k + 1);
		node->node = 100 + i;
		node->graph = 5;
	}
	cuda_call(m, "cudaEventRecord", 31, 43000, 43200)->r.flags = 0;
	e = cuda_record(m, REC_EVENT, sizeof(*e), NULL, 43600, 43601);
	*e = (struct rec_event){ e->r, 31, 1, 7, 9, 4 };
	cuda_call(m, "cudaStreamWaitEvent", 32, 43700, 43800)->r.flags = 0;
	s = cuda_record(m, REC_SYNC, sizeof(*s), NULL, 43710, 43790);
	*s = (struct rec_sync){ s->r, 32, 1, 20, 2, 9, 0, 4 };
	cuda_call(m, "cudaStreamSynchronize", 33, 44000, 45500)->r.flags = 0;
	s = cuda_record(m, REC_SYNC, sizeof(*s), NULL, 44010, 45490);
	*s = (struct rec_sync){ s->r, 33, 1, 7, 3, UINT32_MAX, 0, 0 };
	cuda_call(m, "cudaDeviceSynchronize", 34, 46000, 46500)->r.flags = 0;
	s = cuda_record(m, REC_SYNC, sizeof(*s), NULL, 46010, 46490);
	*s = (struct rec_sync){ s->r, 34, 1, UINT32_MAX, 4, UINT32_MAX, 0, 0 };
	cuda_call(m, "cuGraphLaunch", 35, 46600, 46700)->r.flags |= CALL_DRIVER;
	{
		struct rec_graph *g =
			cuda_record(m, REC_GRAPH, sizeof(*g), NULL, 46800, 46900);

		cuda_where(&g->g, 35, 7);
		g->graph = 6;
	}
}

static void put_copies(struct spool_image *m)
{
	struct rec_copy *c;
	struct gpu_peer *p;

	cuda_call(m, "cudaMemcpyAsync", 10, 5000, 5500);
	cuda_copy(m, 10, 7, 6000, 7000, 0);
	cuda_call(m, "cudaMemsetAsync", 11, 5600, 5700);
	cuda_set(m, 11, 7, 7500, 7500);
	cuda_call(m, "cudaMemcpyPeerAsync", 12, 5800, 5900);
	c = cuda_copy(m, 12, 14, 8000, 9000, sizeof(*p));
	c->g.r.flags = GPU_PEER;
	c->kind = 10;
	c->from = 3;
	c->g.device = 1;
	p = (struct gpu_peer *)(c + 1);
	*p = (struct gpu_peer){ 0, 1, 1, 2 };
}

static struct spool_image *one_of_each(void)
{
	struct spool_image *m = cuda_image(1000, 50000, 100);
	struct rec_overhead *o;
	struct gpu_latency *l;
	struct rec_kernel *k;
	struct rec_stack *s;
	struct rec_block *b;
	struct rec_call *call;
	struct rec_op *op;

	strcpy(m->head->facts, "cuda = {\"cupti\": 24, \"runtime\": 12060, "
			       "\"driver\": 12080}\n");
	strcpy(m->config.metadata, "cupti_version = mine\n");
	m->config.record_shapes = 1;
	m->info->cuda[CUDA_DROPPED] = 3;
	m->info->cuda_state = CUDA_SETTLED;
	cuda_device(m, 0, "NVIDIA H100");
	image_step(m, 2, 1000, 49000);
	op = image_op(m, "forward", 2000, 20000);
	op->r.kind = REC_ANNOTATION;
	op->scope = 7;
	image_op(m, "aten::copy_", 4500, 10000);
	put_copies(m);
	image_op(m, "aten::mm", 11000, 19000);
	s = image_record(m, REC_STACK, sizeof(*s),
			 image_name(m, "cudaLaunchKernel", 16, ""), 11900, 0);
	s->stack = image_call_stack(m, image_module(m, "/lib/lib\"mine\".so"), 0x12, 2);
	cuda_call(m, "cudaLaunchKernel", 13, 12000, 14000);
	cuda_call(m, "cuLaunchKernel", 13, 12500, 13500)->r.flags |= CALL_DRIVER;
	k = cuda_kernel(m, "_Z4sgemPKfS0_Pf", 13, 7, 15000, 25000, sizeof(*l));
	k->g.r.flags = GPU_LATENCY;
	l = (struct gpu_latency *)(k + 1);
	l->queued = 1700000000000012600ull;
	l->submitted = 1700000000000013000ull;
	k->g.priority = -5;
	k->g.channel_type = 1;
	k->channel = 3;
	/* Another kernel of the same stream at the same time. */
	cuda_call(m, "cuLaunchKernelEx", 14, 14500, 14900)->r.flags |= CALL_DRIVER;
	cuda_kernel(m, "overlaps", 14, 7, 20000, 26000, 0);
	put_collective(m);
	put_graph_and_waits(m);
	o = cuda_record(m, REC_OVERHEAD, sizeof(*o), NULL, 26000, 26500);
	o->kind = 1 << 16;
	b = cuda_record(m, REC_BLOCK, sizeof(*b), NULL, 27000, 0);
	*b = (struct rec_block){ b->r, 4096, 2097152, 0, 1, 7,       4242,
				 1,    3,    0,       1, 0, 4194304, 2097152 };
	/* Nobody saw its call; and a thread that has calls only. */
	cuda_kernel(m, "stray", 99, 7, 27500, 28000, 0);
	call = cuda_call(m, "cudaMalloc", 40, 30000, 31000);
	call->tid = 4100;
	call->r.flags = 0;
	return m;
}

static void keep_path(const struct cycle_info *info, uint64_t state, int err,
		      const struct writer_result *r, void *path)
{
	(void)info;
	(void)state;
	(void)err;
	strcpy(path, r->path);
}

START_TEST(the_agent_and_recover_write_the_same_bytes)
{
	static char path[4096];
	struct spool_image *m = one_of_each();
	char *first;

	config_print(&m->config, m->head->config, sizeof(m->head->config));
	image_write(m);
	first = m->text;
	m->text = NULL;
	ck_assert_int_eq(unlink(m->result.path), 0);
	/* It does not wait for a dead process's GPU. */
	m->info->cuda_state = CUDA_PENDING;
	ck_assert_int_eq(
		image_recover(m, &(struct writer_plan){ .done = keep_path, .arg = path }),
		0);
	ck_assert_str_eq(path, m->result.path);
	spool_image_read(m, path);
	ck_assert_str_eq(first, m->text);
	free(first);
	image_free(m);
}
END_TEST

START_TEST(a_trace_is_the_golden_one)
{
	struct spool_image *m = one_of_each();

	image_write(m);
	ck_assert_uint_eq(m->result.events[REC_KERNEL], 6);
	ck_assert_uint_eq(m->result.events[REC_CALL], 14);
	ck_assert_uint_eq(m->result.cuda[CUDA_UNMATCHED], 1);
	ck_assert_uint_eq(m->result.cuda[CUDA_DROPPED], 3);
	image_golden(m, "one_of_each_gpu.kineto.json");
	image_free(m);
}
END_TEST

START_TEST(the_other_dialect_is_the_golden_one)
{
	struct spool_image *m = one_of_each();

	m->config.dialect = DIALECT_TB043;
	image_write(m);
	image_golden(m, "one_of_each_gpu.tb043.json");
	image_free(m);
}
END_TEST

/* Deterministic noise: every chunk of the GPU part with some bytes changed. */
START_TEST(hostile_chunks_do_no_harm)
{
	uint64_t chance = 0x2545f4914f6cdd1dull;

	for (unsigned i = 0; i < 3000; i++) {
		static struct spool_image *m;
		static uint8_t *good;
		struct spool_view v;

		if (!m) {
			m = one_of_each();
			good = malloc(cuda_chunk->used);
			memcpy(good, cuda_chunk, cuda_chunk->used);
		}
		for (unsigned n = 0; n < 1 + i % 8; n++) {
			size_t at;

			chance ^= chance << 13;
			chance ^= chance >> 7;
			chance ^= chance << 17;
			at = sizeof(struct chunk) +
			     chance % (cuda_chunk->used - sizeof(struct chunk));
			((uint8_t *)cuda_chunk)[at] = (uint8_t)(chance >> 40);
		}
		ck_assert_int_eq(spool_view_init(&v, m->base, IMAGE_SIZE), 0);
		ck_assert_int_eq(writer_cycle(&v, m->info, &m->config, &m->result), 0);
		spool_image_read(m, m->result.path);
		ck_assert_msg(json_valid(m->text, m->len), "try %u", i);
		unlink(m->result.path);
		memcpy(cuda_chunk, good, cuda_chunk->used);
		if (i == 2999)
			image_free(m);
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("gpu");

	tcase_add_test(tc, the_agent_and_recover_write_the_same_bytes);
	tcase_add_test(tc, a_trace_is_the_golden_one);
	tcase_add_test(tc, the_other_dialect_is_the_golden_one);
	tcase_add_test(tc, hostile_chunks_do_no_harm);
	return unit_run(tc, "writer gpu");
}
