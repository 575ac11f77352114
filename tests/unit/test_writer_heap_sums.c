/* SPDX-License-Identifier: Apache-2.0 */
/* The writer's sums against a model that is too simple to be wrong, and their bounds. */
#include "agent/core/chunk.h"
#include "agent/core/record_cuda.h"
#include "tests/unit/heap_image.h"

/* ---- a random program, and what is right ---- */

#define THREADS 4
#define STACKS  5
#define OPS     3
#define SITES   (STACKS * (OPS + 1))
#define BLOCKS  300
#define STEPS   6
#define EVENTS  20000
#define STEP_NS 40000 /* twice a step's events */

static uint64_t seed = 1;

static uint64_t chance(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

static const char *const ops[] = { "", "aten::add", "aten::mm", "a loop" };

struct model {
	struct site site[SITES];
	int64_t live, peak;
	struct {
		uint64_t address, bytes;
		unsigned site;
	} block[BLOCKS];
	unsigned op[THREADS]; /* in flight */
};

static void model_alloc(struct model *x, unsigned block, unsigned site, uint64_t bytes)
{
	struct site *s = &x->site[site];

	x->block[block].bytes = bytes;
	x->block[block].site = site;
	s->allocs++;
	s->bytes += (int64_t)bytes;
	s->max = (int64_t)bytes > s->max ? (int64_t)bytes : s->max;
	x->live += (int64_t)bytes;
	if (x->live <= x->peak)
		return;
	x->peak = x->live;
	for (unsigned i = 0; i < SITES; i++)
		x->site[i].peak = x->site[i].bytes - x->site[i].freed;
}

static void model_free(struct model *x, unsigned block)
{
	struct site *s = &x->site[x->block[block].site];

	s->frees++;
	s->freed += (int64_t)x->block[block].bytes;
	x->live -= (int64_t)x->block[block].bytes;
	x->block[block].address = 0;
}

static void model_step(struct model *x, unsigned step)
{
	for (unsigned i = 0; i < SITES; i++)
		x->site[i].steps[step] = x->site[i].bytes - x->site[i].freed;
}

/* A thread enters or leaves an operator, allocates or frees. */
static void event(struct spool_image *m, struct model *x, const uint32_t *stack,
		  unsigned thread, uint64_t ticks)
{
	static struct rec_op *open[THREADS];
	unsigned b = (unsigned)chance(BLOCKS), s;

	if (!chance(20)) {
		if (x->op[thread])
			open[thread]->r.end = ticks;
		x->op[thread] = (unsigned)chance(OPS + 1);
		if (x->op[thread])
			open[thread] = image_op(m, ops[x->op[thread]], ticks, 0);
	} else if (x->block[b].address) {
		image_release(m, x->block[b].address, ticks);
		model_free(x, b);
	} else {
		/* Addresses come again and again. */
		x->block[b].address = 0x1000 + 16 * b;
		s = (unsigned)chance(STACKS);
		model_alloc(x, b, s * (OPS + 1) + x->op[thread], chance(5000));
		image_alloc(m, HEAP_MALLOC, stack[s], x->block[b].address,
			    x->block[b].bytes, ticks);
	}
}

static void check_site(const struct spool_image *m, const struct model *x, unsigned n)
{
	struct site got = heap_site_at(m, n), want;
	unsigned op = 0;

	while (strcmp(ops[op], got.op))
		op++;
	/* The first has none; the others were made in the order of their ids. */
	want = x->site[(unsigned)(got.stack + 1) * (OPS + 1) + op];
	ck_assert_int_eq(got.allocs, want.allocs);
	ck_assert_int_eq(got.bytes, want.bytes);
	ck_assert_int_eq(got.frees, want.frees);
	ck_assert_int_eq(got.freed, want.freed);
	ck_assert_int_eq(got.peak, want.peak);
	ck_assert_int_eq(got.max, want.max);
	ck_assert_uint_eq(got.step_n, STEPS);
	for (unsigned i = 0; i < STEPS; i++)
		ck_assert_int_eq(got.steps[i], want.steps[i]);
	if (!n)
		return;
	want = heap_site_at(m, n - 1);
	ck_assert_int_ge(want.live + want.peak, got.live + got.peak);
}

static void random_program(void)
{
	uint64_t end = (uint64_t)STEPS * STEP_NS + 1;
	struct spool_image *m = heap_image(1, end);
	struct model *x = calloc(1, sizeof(*x));
	uint32_t lib = image_module(m, "/lib/a.so"), stack[STACKS] = { 0 };
	unsigned sites = 0, last = THREADS, step = 0;
	struct total all;

	for (unsigned i = 1; i < STACKS; i++)
		stack[i] = image_call_stack(m, lib, 0x100 * i, i);
	for (unsigned i = 0; i < STEPS; i++)
		image_step(m, i + 1, 1 + i * STEP_NS, 1 + (i + 1) * STEP_NS);
	for (uint64_t i = 0, ticks = 1; i < EVENTS && ticks < end;
	     i++, ticks += 1 + chance(24)) {
		unsigned thread = (unsigned)chance(THREADS);

		for (; step < STEPS && ticks >= 1 + (step + 1) * STEP_NS; step++)
			model_step(x, step);
		if (thread != last)
			image_thread(m, 100 + thread, 0, "worker");
		last = thread;
		event(m, x, stack, thread, ticks);
	}
	for (; step < STEPS; step++)
		model_step(x, step);
	image_write(m);
	heap_adds_up(m);
	all = heap_total(m);
	ck_assert_int_eq(all.end, x->live);
	ck_assert_int_eq(all.peak, x->peak);
	ck_assert_int_eq(all.foreign, 0);
	ck_assert_ptr_null(strstr(m->text, "implied"));
	for (unsigned i = 0; i < SITES; i++)
		sites += x->site[i].allocs != 0;
	ck_assert_uint_eq(heap_site_count(m), sites);
	for (unsigned i = 0; i < sites; i++)
		check_site(m, x, i);
	ck_assert_int_eq(heap_other(m).allocs, 0);
	free(x);
	image_free(m);
}

START_TEST(sums_are_those_of_the_model)
{
	for (unsigned i = 0; i < 5; i++)
		random_program();
}
END_TEST

/* ---- bounds ---- */

START_TEST(what_does_not_fit_is_summed_up)
{
	struct spool_image *m = heap_image(1000, 100000000);
	uint32_t lib = image_module(m, "/lib/a.so");
	int64_t bytes = 0;

	image_step(m, 1, 1000, 50000000);
	for (unsigned i = 0; i < 2500; i++) {
		image_alloc(m, HEAP_MALLOC, image_call_stack(m, lib, 16 * i, 2),
			    0x1000 + i, 10 + i, 2000 + i);
		bytes += 10 + i;
	}
	image_write(m);
	heap_adds_up(m);
	ck_assert_uint_eq(heap_site_count(m), 2000);
	ck_assert_int_eq(
		heap_number(heap_after(heap_object(m), "\"other\": {", 0), "\"sites\": "),
		500);
	/* The largest are told one by one. */
	ck_assert_int_eq(heap_site_at(m, 0).bytes, 2509);
	ck_assert_int_eq(heap_site_at(m, 1999).bytes, 510);
	ck_assert_int_eq(heap_other(m).steps[0], heap_other(m).live);
	ck_assert_int_eq(heap_total(m).end, bytes);
	image_free(m);
}
END_TEST

START_TEST(more_sites_than_can_be_told_apart_are_one)
{
	struct spool_image *m = heap_image(1000, 100000000);
	const unsigned n = (1u << 18) + 1000;

	for (unsigned i = 0; i < n; i++)
		image_alloc(m, HEAP_MALLOC, UINT32_MAX - n + i, 0x1000 + i, 1, 2000 + i);
	for (unsigned i = 0; i < n; i++)
		image_release(m, 0x1000 + i, 1000000 + i);
	image_write(m);
	heap_adds_up(m);
	ck_assert_int_eq(heap_total(m).allocs, n);
	ck_assert_int_eq(heap_total(m).freed, n);
	ck_assert_int_eq(heap_total(m).peak, n);
	ck_assert_uint_eq(heap_site_count(m), 2000);
	ck_assert_int_eq(heap_other(m).allocs, n - 2000);
	/* No such stacks: the file says so by having none. */
	ck_assert_int_eq(heap_site_at(m, 0).stack, -1);
	image_free(m);
}
END_TEST

START_TEST(tracks_keep_their_highest_and_their_last_value)
{
	struct spool_image *m = heap_image(0, 1000000000);
	int64_t most, last;
	unsigned n;

	for (unsigned i = 0; i < 100000; i++) {
		image_alloc(m, HEAP_MALLOC, 0, 0x1000, i == 77777 ? 1000000 : 100,
			    10000 * i + 1);
		if (i < 99999)
			image_release(m, 0x1000, 10000 * i + 2);
	}
	image_write(m);
	n = heap_track(m, "Heap", &most, &last);
	ck_assert_uint_le(n, 4100);
	ck_assert_uint_ge(n, 1000);
	ck_assert_int_eq(most, 1000000);
	ck_assert_int_eq(last, 100);
	/* Few points are all there. */
	m->data->used = sizeof(struct chunk);
	image_free(m);
}
END_TEST

START_TEST(the_largest_allocations_are_shown)
{
	struct spool_image *m = heap_image(1000, 100000000);
	unsigned n = 0;

	for (unsigned i = 0; i < 5000; i++)
		image_alloc(m, HEAP_NEW, 0, 0x1000 + i, 1 + (i * 7919u) % 5000, 2000 + i);
	image_write(m);
	for (const char *at = m->text;
	     (at = heap_after(at, "\"cat\":\"heap\",\"s\":\"t\"", 0)); n++)
		ck_assert_int_gt(heap_number(at, "\"bytes\":"), 4000);
	ck_assert_uint_eq(n, 1000);
	image_free(m);
}
END_TEST

START_TEST(only_the_last_steps_are_listed)
{
	struct spool_image *m = heap_image(1000, 100000000);

	for (unsigned i = 0; i < 600; i++) {
		image_step(m, i, 1000 + i * 100, 1100 + i * 100);
		image_alloc(m, HEAP_MALLOC, 0, 0x1000 + i, 1, 1050 + i * 100);
	}
	image_write(m);
	heap_adds_up(m);
	ck_assert_uint_eq(heap_site_at(m, 0).step_n, 512);
	ck_assert_int_eq(heap_site_at(m, 0).steps[0], 89);
	ck_assert_int_eq(heap_site_at(m, 0).steps[511], 600);
	ck_assert_int_eq(heap_number(heap_object(m), "\"steps\": ["), 88);
	image_free(m);
}
END_TEST

START_TEST(the_programs_own_steps_are_the_steps)
{
	struct spool_image *m = heap_image(1000, 100000);

	image_step(m, 0, 1000, 50000);
	image_op(m, "ProfilerStep#17", 1100, 40000)->r.kind = REC_ANNOTATION;
	image_alloc(m, HEAP_MALLOC, 0, 0x10, 5, 2000);
	image_release(m, 0x10, 45000);
	image_step(m, 1, 60000, 0); /* never ended */
	image_write(m);
	ck_assert_int_eq(heap_number(heap_object(m), "\"steps\": ["), 17);
	ck_assert_uint_eq(heap_other(m).step_n, 1);
	ck_assert_int_eq(heap_site_of(m, "").steps[0], 5);
	ck_assert_uint_eq(m->result.heap_rows, 1); /* "ph":"i", for the closing words */
	image_free(m);
}
END_TEST

/* ---- damage ---- */

START_TEST(hostile_records_are_borne)
{
	struct spool_image *m = heap_image(1000, 100000);
	uint32_t lib = image_module(m, "/lib/\"a\x80.so"), stack;

	stack = image_call_stack(m, lib, 0x10, 3);
	((struct stack *)(m->base + 8ul * stack))->depth = 65535;
	image_alloc(m, HEAP_MALLOC, stack, 0, UINT64_MAX, 2000);
	image_alloc(m, HEAP_MALLOC, UINT32_MAX, UINT64_MAX, UINT64_MAX, 1500);
	image_alloc(m, HEAP_MALLOC, 1, 0, 1, 3000)->r.flags = 0xff;
	image_release(m, UINT64_MAX, 1000);
	image_release(m, UINT64_MAX, 5000);
	image_alloc(m, HEAP_MALLOC, image_call_stack(m, 7, 0x10, 3), 9, 1, 5000);
	image_op(m, "back", 9000, 3000);
	image_step(m, INT64_MIN, 9000, 8000);
	image_alloc(m, HEAP_MALLOC, image_call_stack(m, lib, UINT64_MAX, 1), 10, 1, 9000);
	image_counters(m, 500, UINT64_MAX)->live = INT64_MIN;
	image_counters(m, UINT64_MAX, 1);
	for (unsigned mode = MALLOC_OFF; mode <= MALLOC_ALL; mode++) {
		m->config.malloc = mode;
		image_write(m);
		if (mode == MALLOC_ALL)
			heap_adds_up(m);
	}
	image_free(m);
}
END_TEST

/* ---- tensors and the device ---- */

START_TEST(each_device_has_its_track)
{
	struct spool_image *m = heap_image(1000, 100000);
	int64_t most, last;

	m->config.malloc = MALLOC_OFF;
	for (unsigned i = 0; i < 4; i++) {
		struct rec_memory *mem =
			image_record(m, REC_MEMORY, sizeof(*mem), 0, 2000 + i, 0);

		mem->allocated = 100 * (i + 1) % 350;
		mem->reserved = 1000;
		mem->device_type = i > 0;
		mem->device_index = (int8_t)(i > 0 ? 1 : -1);
	}
	image_counters(m, 5000, 77);
	image_write(m);
	ck_assert_ptr_null(strstr(m->text, "\"heap\": {\"mode\""));
	ck_assert_uint_eq(heap_track(m, "Tensor memory (CPU)", &most, &last), 1);
	ck_assert_int_eq(most, 100);
	ck_assert_uint_eq(heap_track(m, "Tensor memory (GPU 1)", &most, &last), 3);
	ck_assert_int_eq(most, 300);
	ck_assert_int_eq(last, 50);
	ck_assert_uint_eq(heap_track(m, "RSS", &most, &last), 1);
	ck_assert_ptr_null(strstr(m->text, "anonymous"));
	ck_assert_uint_eq(m->result.peak, 300);
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("sums");

	tcase_add_test(tc, sums_are_those_of_the_model);
	tcase_add_test(tc, what_does_not_fit_is_summed_up);
	tcase_add_test(tc, more_sites_than_can_be_told_apart_are_one);
	tcase_add_test(tc, tracks_keep_their_highest_and_their_last_value);
	tcase_add_test(tc, the_largest_allocations_are_shown);
	tcase_add_test(tc, only_the_last_steps_are_listed);
	tcase_add_test(tc, the_programs_own_steps_are_the_steps);
	tcase_add_test(tc, hostile_records_are_borne);
	tcase_add_test(tc, each_device_has_its_track);
	return unit_run(tc, "writer heap sums");
}
