/* SPDX-License-Identifier: Apache-2.0 */
/* The heap part at its edges: units, what touches, what is full, what has no name. */
#define IMAGE_SIZE (16u << 20)
#include "tests/unit/heap_image.h"
#include "writer/heap/account.h"
#include "writer/symbols/site_text.h"

static bool has(const struct spool_image *m, const char *text)
{
	return strstr(m->text, text) != NULL;
}

/* ---- blocks ---- */

/* Against a table of pairs: addresses that share their slots, by the thousand. */
START_TEST(no_block_is_lost)
{
	struct heap_blocks b = { 0 };
	struct heap_block was;

	for (uint32_t round = 0; round < 3; round++) {
		for (uint64_t i = 1; i <= 20000; i++) {
			ck_assert_int_eq(
				heap_blocks_put(
					&b,
					(struct heap_block){ i << 16, (uint32_t)i, 0 },
					&was),
				0);
			ck_assert_uint_eq(was.at, 0);
		}
		ck_assert_uint_eq(b.n, 20000);
		/* Out of order, so that holes come in between. */
		for (uint64_t i = 0; i < 20000; i++) {
			uint64_t at = 1 + i * 7919 % 20000;

			ck_assert_uint_eq(heap_blocks_take(&b, at << 16).at, at);
			ck_assert_uint_eq(heap_blocks_take(&b, at << 16).at, 0);
		}
		ck_assert_uint_eq(b.n, 0);
	}
	heap_blocks_free(&b);
}
END_TEST

/* ---- numbers ---- */

START_TEST(sizes_have_their_units)
{
	static const struct {
		uint64_t bytes;
		const char *want;
	} rows[] = { { 1023, "malloc 1023 B" },
		     { 1024, "malloc 1 KiB" },
		     { 1536, "malloc 1.5 KiB" },
		     { 1048576, "malloc 1 MiB" },
		     { 5368709120, "malloc 5 GiB" } };
	struct spool_image *m = heap_image(1000, 100000);

	for (unsigned i = 0; i < 5; i++)
		image_alloc(m, 0, 0, 0x1000 + 64 * i, rows[i].bytes, 2000 + i);
	image_write(m);
	for (unsigned i = 0; i < 5; i++)
		ck_assert_msg(image_event(m, rows[i].want, 0) != NULL, "%s",
			      rows[i].want);
	image_free(m);
}
END_TEST

/* 100 allocations in 20 ms are 5,000 a second. */
START_TEST(rates_are_of_a_second)
{
	struct spool_image *m = heap_image(1000, 100000000);

	for (unsigned i = 0; i < 500; i++)
		image_alloc(m, 0, 0, 0x1000 + 64 * i, 10, 2000 + 200000 * i);
	image_write(m);
	ck_assert(has(m, "\"allocations/s\":5000,"));
	image_free(m);
}
END_TEST

static void put_memory(struct spool_image *m, uint64_t ticks, uint64_t allocated)
{
	struct rec_memory *r = image_record(m, REC_MEMORY, sizeof(*r), 0, ticks, 0);

	r->device_type = 0;
	r->device_index = -1;
	r->allocated = allocated;
	r->reserved = 2 * allocated;
}

static const struct {
	const char *point, *value;
} tracks[] = {
	{ "{\"ph\":\"C\",\"name\":\"Heap\",", "live bytes\":" },
	{ "{\"ph\":\"C\",\"name\":\"Tensor memory (CPU)\",", "allocated\":" },
};

/* However few of its points are kept, a track comes down where the bytes do. */
START_TEST(between_bursts_nothing_lives)
{
	struct spool_image *m = heap_image(0, 1000000000);
	uint64_t last = 0, now;
	long live = 0;
	unsigned n = 0;

	for (unsigned burst = 0; burst < 20; burst++)
		for (unsigned i = 0; i < 1000; i++) {
			uint64_t ticks = 50000000ull * burst + 100 * i + 1;

			image_alloc(m, 0, 0, 0x1000, 100, ticks);
			put_memory(m, ticks, 100);
			image_release(m, 0x1000, ticks + 50);
			put_memory(m, ticks + 50, 0);
		}
	image_write(m);
	for (const char *at = m->text; (at = strstr(at, tracks[_i].point)); at++, n++) {
		now = image_ns(strstr(at, "\"ts\":") + 5);
		ck_assert_msg(now - last < 10000000 || !live, "%ld at %lu", live,
			      (unsigned long)last);
		live = strtol(strstr(at, tracks[_i].value) + strlen(tracks[_i].value),
			      NULL, 10);
		last = now;
	}
	ck_assert_uint_gt(n, 40);
	ck_assert_uint_lt(n, 4100);
	image_free(m);
}
END_TEST

/* A pause is a stretch of its own, in which nothing was asked for. */
START_TEST(pauses_have_no_rate)
{
	struct spool_image *m = heap_image(1000, 1000000000);
	const char *before, *pause;

	for (unsigned i = 0; i < 200; i++)
		image_alloc(m, 0, 0, 0x1000 + 64 * i, 10, 2000 + 200000 * i);
	for (unsigned i = 200; i < 500; i++)
		image_alloc(m, 0, 0, 0x1000 + 64 * i, 10, 800000000 + 200000 * i);
	image_write(m);
	before = strstr(m->text, "\"allocations/s\":5000,");
	ck_assert_ptr_nonnull(before);
	pause = strstr(before, "\"allocations/s\":0,");
	ck_assert_ptr_nonnull(pause);
	ck_assert_ptr_nonnull(strstr(pause, "\"allocations/s\":5000,"));
	image_free(m);
}
END_TEST

/* One that is freed just as an operator ends belongs to its caller. */
START_TEST(what_touches_an_operators_end_is_not_its_own)
{
	struct spool_image *m = heap_image(1000, 100000);

	image_op(m, "outer", 2000, 9000);
	image_op(m, "inner", 3000, 4000);
	image_alloc(m, 0, 0, 0x1000, 100, 4000);
	image_write(m);
	ck_assert_int_eq(heap_site_of(m, "outer").bytes, 100);
	image_free(m);
}
END_TEST

/* The peak came between two steps. */
START_TEST(between_steps_is_no_step)
{
	struct spool_image *m = heap_image(1000, 100000);

	image_step(m, 1, 2000, 3000);
	image_alloc(m, 0, 0, 0x1000, 100, 4000);
	image_release(m, 0x1000, 4500);
	image_step(m, 2, 5000, 6000);
	image_write(m);
	ck_assert(has(m, "\"bytes\": 100, \"step\": null}"));
	image_free(m);
}
END_TEST

/* ---- stacks ---- */

START_TEST(cut_stacks_are_told_apart_by_all_they_show)
{
	struct spool_image *m = heap_image(1000, 100000);
	uint32_t a = image_module(m, "/lib/a"), b = image_module(m, "/lib/b");

	m->config.stack_depth = 2;
	image_alloc(m, 0, image_call_stack(m, a, 0x10, 4), 0x1000, 1, 2000);
	image_alloc(m, 0, image_call_stack(m, a, 0x10, 5), 0x2000, 2, 3000);
	image_alloc(m, 0, image_call_stack(m, a, 0x20, 4), 0x3000, 4, 4000);
	image_alloc(m, 0, image_call_stack(m, b, 0x10, 4), 0x4000, 8, 5000);
	image_write(m);
	/* The first two show the same frames. */
	ck_assert_uint_eq(heap_site_count(m), 3);
	image_free(m);
}
END_TEST

static uint32_t stack_of(struct spool_image *m, const struct stack_frame *frame,
			 unsigned depth)
{
	uint32_t id = 0;

	for (unsigned i = depth; i--;) {
		struct stack *to = image_stacks_room(m, sizeof(*to));

		to->depth = (uint16_t)(depth - i);
		to->caller = id;
		to->frame = stacks_pack(frame[i]);
		id = (uint32_t)(((uint8_t *)to - m->base) / 8);
	}
	return id;
}

/* Two whose first two frames have one hash, and one offset each, in other libraries. */
START_TEST(cut_stacks_of_one_hash_are_told_apart)
{
	static const struct stack_frame frame[2][3] = {
		{ { 600, 0x1234 }, { 700, 0x5678 }, { 700, 1 } },
		{ { 655960, 0x1234 }, { 214487733, 0x5678 }, { 700, 1 } },
	};
	struct spool_image *m = heap_image(1000, 100000);

	m->config.stack_depth = 2;
	for (unsigned i = 0; i < 2; i++)
		image_alloc(m, 0, stack_of(m, frame[i], 3), 0x1000 + 64 * i, 1, 2000 + i);
	image_write(m);
	ck_assert_uint_eq(heap_site_count(m), 2);
	image_free(m);
}
END_TEST

/* Bytes of the resident memory lie where other records have a time. */
START_TEST(a_killed_window_does_not_end_in_bytes)
{
	struct spool_image *m = heap_image(1000, 100000);
	struct rec_heap *h;

	m->info->end = 0;
	image_op(m, "op", 4000, 9000);
	h = image_counters(m, 5000, 1ull << 40);
	h->r.end = 1ull << 40;
	image_write(m);
	ck_assert_uint_eq(image_find(m, "op", 0).end, 9000);
	ck_assert_ptr_nonnull(strstr(m->text, "\"Record Window End\""));
	ck_assert_uint_lt(
		strtod(strstr(strstr(m->text, "\"Record Window End\""), "\"ts\":") + 5,
		       NULL),
		1e6);
	image_free(m);
}
END_TEST

/* Nobody is asked here: frames are module and offset, for recover. */
START_TEST(frames_without_names_say_so)
{
	struct spool_image *m = heap_image(1000, 100000);
	uint32_t a = image_module(m, "/lib/a"), b = image_module(m, "/lib/b");

	image_alloc(m, 0, image_call_stack(m, a, 0x10, 1), 0x1000, 1, 2000);
	image_alloc(m, 0, image_call_stack(m, b, 0x20, 1), 0x2000, 2, 3000);
	image_write(m);
	ck_assert(has(m, "\"symbols\": false,"));
	ck_assert(has(m, "{\"path\": \"/lib/a\"") || has(m, "{\"path\": \"/lib/b\""));
	ck_assert(has(m, "\"raw\": [[0, 0, 16], [1, 1, 32]]") ||
		  has(m, "\"raw\": [[0, 0, 32], [1, 1, 16]]"));
	image_free(m);
}
END_TEST

/* A small sampled block stands for as many as its distance. */
START_TEST(a_sample_has_its_weight)
{
	struct spool_image *m = heap_image(1000, 100000);

	m->config.malloc = MALLOC_SAMPLE;
	m->config.malloc_sample_kb = 512;
	image_alloc(m, 0, 0, 0x1000, 1024, 2000);
	image_write(m);
	ck_assert_int_ge(heap_total(m).bytes, 520000);
	ck_assert_int_le(heap_total(m).bytes, 530000);
	image_free(m);
}
END_TEST

/* ---- tracks ---- */

/* Both values count: one of them may stay. */
START_TEST(a_track_has_both_its_values)
{
	struct spool_image *m = image_new(1000, 100000);

	image_thread(m, 4242, 1, "python3");
	for (unsigned i = 0; i < 3; i++) {
		struct rec_memory *r =
			image_record(m, REC_MEMORY, sizeof(*r), 0, 2000 + 1000 * i, 0);

		r->device_type = 1;
		r->bytes = 10;
		r->allocated = 100;
		r->reserved = 1000 * (1 + i);
	}
	image_write(m);
	ck_assert(has(m, "{\"allocated\":100,\"reserved\":1000}"));
	ck_assert(has(m, "{\"allocated\":100,\"reserved\":3000}"));
	image_free(m);
}
END_TEST

/* A device that cannot be has no track; the others are as they were. */
START_TEST(devices_that_cannot_be)
{
	static const int devices[] = { -1, -5, 64, 100, 1 << 20 };
	struct spool_image *m = image_new(1000, 100000);

	image_thread(m, 4242, 1, "python3");
	for (unsigned i = 0; i < 5; i++) {
		struct rec_memory *r =
			image_record(m, REC_MEMORY, sizeof(*r), 0, 2000 + 1000 * i, 0);

		r->device_type = 1;
		r->device_index =
			(int8_t)devices[i] == devices[i] ? (int8_t)devices[i] : -7;
		r->bytes = 10;
		r->allocated = 7777;
	}
	image_write(m);
	ck_assert(!has(m, "{\"allocated\":7777") || has(m, "Tensor memory (GPU"));
	ck_assert(!has(m, "Tensor memory (CPU)"));
	image_free(m);
}
END_TEST

/* ---- call sites ---- */

static const char *frames[4];

static const char *frame(void *arg, unsigned i)
{
	(void)arg;
	return i < 4 ? frames[i] : NULL;
}

START_TEST(a_long_name_keeps_its_place)
{
	char name[600], text[SITE_ROOM];
	size_t len;

	memset(name, 'x', sizeof(name));
	strcpy(name + 500, " (file.cpp:123)");
	frames[0] = name;
	frames[1] = "main (main.c:1)";
	len = site_text(frame, NULL, text);
	ck_assert_uint_eq(len, strlen(text));
	ck_assert_uint_lt(len, 230);
	ck_assert_ptr_nonnull(strstr(text, "xxx... (file.cpp:123) < main (main.c:1)"));
	/* One whose place is as long. */
	memset(name, 'y', 599);
	name[300] = '(';
	name[599] = '\0';
	len = site_text(frame, NULL, text);
	ck_assert_uint_eq(len, strlen(text));
	ck_assert_ptr_nonnull(strstr(text, "yyy... "));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("edges");

	tcase_add_test(tc, no_block_is_lost);
	tcase_add_test(tc, sizes_have_their_units);
	tcase_add_test(tc, rates_are_of_a_second);
	tcase_add_test(tc, pauses_have_no_rate);
	tcase_add_loop_test(tc, between_bursts_nothing_lives, 0, 2);
	tcase_add_test(tc, what_touches_an_operators_end_is_not_its_own);
	tcase_add_test(tc, between_steps_is_no_step);
	tcase_add_test(tc, cut_stacks_are_told_apart_by_all_they_show);
	tcase_add_test(tc, cut_stacks_of_one_hash_are_told_apart);
	tcase_add_test(tc, a_killed_window_does_not_end_in_bytes);
	tcase_add_test(tc, frames_without_names_say_so);
	tcase_add_test(tc, a_sample_has_its_weight);
	tcase_add_test(tc, a_track_has_both_its_values);
	tcase_add_test(tc, devices_that_cannot_be);
	tcase_add_test(tc, a_long_name_keeps_its_place);
	return unit_run(tc, "writer heap edges");
}
