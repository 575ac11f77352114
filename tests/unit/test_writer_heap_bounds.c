/* SPDX-License-Identifier: Apache-2.0 */
/* More stacks than there is room for, hashes that were chosen to be the same, and device
 * memory that is older than its window. */
#define IMAGE_SIZE (16u << 20)
#include "tests/unit/cuda_image.h"
#include "tests/unit/heap_image.h"
#include "writer/heap/account.h"

/* A stack of two frames: one more than is shown. */
static uint32_t inner(struct spool_image *m, uint32_t caller, uint64_t address)
{
	struct stack *to = image_stacks_room(m, sizeof(*to));

	to->depth = 2;
	to->caller = caller;
	to->frame = stacks_pack((struct stack_frame){ 0, address });
	return (uint32_t)(((uint8_t *)to - m->base) / 8);
}

/* Those that find no place are each their own. */
START_TEST(a_table_that_is_full_takes_no_more)
{
	static struct trace t;
	static struct heap heap;
	struct spool_image *m = heap_image(1000, 100000);
	uint32_t caller = image_call_stack(m, 0, 0x10, 1);
	struct spool_view v;

	ck_assert_int_eq(spool_view_init(&v, m->base, IMAGE_SIZE), 0);
	m->config.stack_depth = 1;
	t.view = &v;
	t.config = &m->config;
	t.heap = &heap;
	ck_assert_int_eq(heap_cut_start(&t), 0);
	for (unsigned i = 0; i < 140000; i++) {
		uint32_t stack = inner(m, caller, 0x1000 + i);

		ck_assert_uint_eq(heap_cut(&t, stack).native, stack);
	}
	heap_cut_end(&heap);
	image_free(m);
}
END_TEST

/* The same functions, called from many places. */
START_TEST(each_of_many_stands_for_those_like_it)
{
	enum { CALLERS = 200, FRAMES = 200 };
	static struct trace t;
	static struct heap heap;
	static uint32_t first[CALLERS][FRAMES];
	struct spool_image *m = heap_image(1000, 100000);
	struct spool_view v;

	ck_assert_int_eq(spool_view_init(&v, m->base, IMAGE_SIZE), 0);
	t.view = &v;
	t.config = &m->config;
	t.heap = &heap;
	ck_assert_int_eq(heap_cut_start(&t), 0);
	for (unsigned i = 0; i < 3 * CALLERS; i++) {
		unsigned c = i % CALLERS;
		uint32_t caller = image_call_stack(m, 0, 0x10 + c, 1);

		for (unsigned f = 0; f < FRAMES; f++) {
			uint32_t stack = inner(m, caller, 0x1000 + f);

			first[c][f] = i < CALLERS ? stack : first[c][f];
			ck_assert_uint_eq(heap_cut(&t, stack).native, first[c][f]);
		}
	}
	heap_cut_end(&heap);
	image_free(m);
}
END_TEST

/* The address of which the hash of a stack that shows one frame is `hash`. */
static uint64_t address_of(uint64_t hash)
{
	const uint64_t times = 0xff51afd7ed558ccdull;
	uint64_t inverse = times;

	for (unsigned i = 0; i < 6; i++)
		inverse *= 2 - times * inverse;
	return ((hash ^ hash >> 32) * inverse) ^ 1;
}

/* Whoever writes the spool may choose them so. */
START_TEST(stacks_of_one_hash_are_two)
{
	struct spool_image *m = heap_image(1000, 100000);
	uint32_t caller = image_call_stack(m, 0, 0x10, 1);
	uint64_t hash = 1ull << 40, other;

	do
		other = ++hash ^ 1 << 20;
	while (address_of(hash) >> 63 || address_of(other) >> 63);
	m->config.stack_depth = 1;
	image_alloc(m, 0, inner(m, caller, address_of(hash)), 0x1000, 1, 2000);
	image_alloc(m, 0, inner(m, caller, address_of(other)), 0x2000, 2, 3000);
	image_alloc(m, 0, inner(m, caller, address_of(hash)), 0x3000, 4, 4000);
	image_write(m);
	ck_assert_uint_eq(heap_site_count(m), 2);
	image_free(m);
}
END_TEST

static void put_block(struct spool_image *m, uint64_t ticks, unsigned operation,
		      uint64_t address, uint64_t bytes)
{
	struct rec_block *b = cuda_record(m, REC_BLOCK, sizeof(*b), NULL, ticks, 0);

	b->operation = (uint8_t)operation;
	b->memory = 3;
	b->address = address;
	b->bytes = bytes;
}

START_TEST(device_memory_of_before_is_not_taken_off)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);
	int64_t most, last;

	put_block(m, 2000, 2, 0x1000, 500);
	put_block(m, 3000, 1, 0x2000, 100);
	put_block(m, 4000, 2, 0x3000, 500);
	put_block(m, 5000, 1, 0x4000, 30);
	put_block(m, 6000, 2, 0x2000, 100);
	put_block(m, 7000, 2, 0x2000, 100);
	image_write(m);
	ck_assert_uint_ge(heap_track(m, "Device memory (GPU 0)", &most, &last), 3);
	ck_assert_int_eq(most, 130);
	ck_assert_int_eq(last, 30);
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("bounds");

	tcase_add_test(tc, a_table_that_is_full_takes_no_more);
	tcase_add_test(tc, each_of_many_stands_for_those_like_it);
	tcase_add_test(tc, stacks_of_one_hash_are_two);
	tcase_add_test(tc, device_memory_of_before_is_not_taken_off);
	return unit_run(tc, "writer heap bounds");
}
