/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks as they are read: damaged ones, and those of a child. */
#include "agent/core/spool_view.h"
#include "tests/unit/stacks_bench.h"

#include <sys/mman.h>

/* Twenty bytes are what there is room for: of a longer one nothing is known. */
START_TEST(a_long_build_id_is_none)
{
	static const uint8_t id[64] = { 9, 9, 9 };
	const struct stack_module *m;
	uint32_t a;

	open_spool(4 << 20);
	for (unsigned len = 21; len <= 64; len++) {
		a = stacks_module(0x1000, id, len, "/lib/x.so");
		m = stacks_module_get(&view, a);
		ck_assert_ptr_nonnull(m);
		ck_assert_uint_eq(m->build_id_len, 0);
		ck_assert_uint_eq(m->bias, 0x1000);
		ck_assert_str_eq(m->path, "/lib/x.so");
		ck_assert_uint_eq(a, stacks_module(0x1000, NULL, 0, "/lib/x.so"));
	}
}
END_TEST

/* The innermost, and that there were more. */
START_TEST(who_asks_for_few_frames_is_told_that_it_is_cut)
{
	struct stack_frame frame[STACKS_MOST];
	unsigned flags;
	uint32_t id;

	open_spool(4 << 20);
	id = add(1, 20, STACK_ENDED);
	ck_assert_uint_eq(stacks_depth(&view, id), 20);
	ck_assert_uint_eq(stacks_get(&view, id, frame, 5, &flags), 5);
	ck_assert_uint_eq(flags, STACK_CUT);
	ck_assert_uint_eq(frame[4].offset, some(5).offset);
	ck_assert_uint_eq(stacks_get(&view, id, frame, 20, &flags), 20);
	ck_assert_uint_eq(flags, STACK_ENDED);
}
END_TEST

/* What a damaged spool may say: a caller as deep as its callee, a path without an end. */
START_TEST(a_damaged_stack_is_none)
{
	struct stack_frame frame[STACKS_MOST];
	uint64_t size = SPOOL_HEADER + 4096;
	uint8_t *base = sys_map(size + 4096);
	struct spool_view v = { .base = base, .size = size };
	struct stack *s = (struct stack *)(base + SPOOL_HEADER);
	struct stack_module *m = (struct stack_module *)(base + size - 64);
	uint32_t id = SPOOL_HEADER / 8;
	unsigned flags;

	ck_assert_int_eq(mprotect(base + size, 4096, PROT_NONE), 0);
	s[0] = (struct stack){ .depth = 1, .frame = 7 };
	s[1] = (struct stack){ .depth = 2, .frame = 8, .caller = id };
	ck_assert_uint_eq(stacks_get(&v, id + 2, frame, STACKS_MOST, &flags), 2);
	s[0].depth = 2;
	ck_assert_uint_eq(stacks_get(&v, id + 2, frame, STACKS_MOST, &flags), 0);
	s[0].depth = 0;
	ck_assert_uint_eq(stacks_get(&v, id + 2, frame, STACKS_MOST, &flags), 0);
	s[1].caller = id + 2; /* itself */
	ck_assert_uint_eq(stacks_get(&v, id + 2, frame, STACKS_MOST, &flags), 0);
	s[1].depth = STACKS_MOST + 1;
	ck_assert_uint_eq(stacks_get(&v, id + 2, frame, STACKS_MOST, &flags), 0);
	id = (uint32_t)((size - 64) / 8);
	m->path_len = (uint16_t)(64 - sizeof(*m) - 1);
	memset(m->path, 'p', m->path_len);
	ck_assert_ptr_nonnull(stacks_module_get(&v, id));
	m->path[m->path_len] = 'p';
	ck_assert_ptr_null(stacks_module_get(&v, id));
	m->path_len++;
	ck_assert_ptr_null(stacks_module_get(&v, id));
	m->path_len = 1;
	m->path[1] = 0;
	m->build_id_len = 21;
	ck_assert_ptr_null(stacks_module_get(&v, id));
	/* The last place where one fits, and the one behind it. */
	memset(base + size - sizeof(*s), 0, sizeof(*s));
	ck_assert_uint_eq(stacks_depth(&v, (uint32_t)((size - sizeof(*s)) / 8)), 0);
	ck_assert_uint_eq(stacks_depth(&v, (uint32_t)((size - 8) / 8)), 0);
	ck_assert_uint_eq(stacks_depth(&v, (uint32_t)(size / 8)), 0);
}
END_TEST

static unsigned chunks_of(enum chunk_kind kind)
{
	const struct chunk *c;
	uint64_t at = 0;
	unsigned n = 0;

	while ((c = spool_view_next(&view, &at)))
		n += c->kind == kind;
	return n;
}

static unsigned chunks_in_use(enum chunk_kind kind)
{
	const struct chunk *c;
	uint64_t at = 0;
	unsigned n = 0;

	while ((c = spool_view_next(&view, &at)))
		n += c->kind == kind && c->used != sizeof(*c);
	return n;
}

START_TEST(a_child_has_as_much_room_for_stacks)
{
	unsigned room = 0, n;

	for (int generation = 0; generation < 3; generation++) {
		open_spool(8 << 20);
		/* Where the parent's stacks lie. */
		for (int i = 0; generation && i < 1; i++)
			chunk_take(CHUNK_DATA, CHUNK_MIDDLE, 1);
		for (int i = 0; generation && i < 20; i++)
			chunk_take(CHUNK_DATA, CHUNK_LARGE, 1);
		ck_assert(holds(add(1, 3, 0), 1, 3, 0));
		ck_assert_uint_eq(chunks_of(CHUNK_STACKS), 1);
		for (n = 0; n < 100000 && add(n * 50, 50, 0); n++)
			;
		ck_assert_uint_ge(n, room);
		ck_assert_uint_eq(chunks_in_use(CHUNK_DATA), 0);
		room = n;
		spool_forget();
	}
	ck_assert_uint_gt(room, 500);
}
END_TEST

/* Every id there is, in a spool of noise: nothing outside of the view is read (the view
 * ends where an unmapped page begins), and what comes back is within its bounds. */
START_TEST(a_hostile_spool_is_read_within_its_bounds)
{
	struct stack_frame frame[STACKS_MOST];
	uint64_t size = SPOOL_HEADER + (1 << 18), x = 88172645463325252ull;
	uint8_t *base = sys_map(size + 4096);
	struct spool_view v = { .base = base, .size = size };
	unsigned flags, found = 0;

	ck_assert_int_eq(mprotect(base + size, 4096, PROT_NONE), 0);
	for (uint64_t i = 0; i < size; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		base[i] = x & 3 ? (uint8_t)(x >> 8) & 1 : (uint8_t)(x >> 16);
	}
	v.head = (const void *)base;
	for (uint32_t id = 0; id < size / 8 + 4096; id++) {
		const struct stack_module *m = stacks_module_get(&v, id);
		unsigned n = stacks_get(&v, id, frame, STACKS_MOST, &flags);

		ck_assert_uint_le(n, STACKS_MOST);
		if (m)
			ck_assert((uint8_t *)m->path + m->path_len < base + size);
		found += n > 0;
	}
	ck_assert_uint_gt(found, 1000);
	ck_assert_uint_eq(stacks_get(&v, UINT32_MAX, frame, STACKS_MOST, &flags), 0);
	ck_assert_ptr_null(stacks_module_get(&v, UINT32_MAX));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("stacks read");

	tcase_add_test(tc, a_long_build_id_is_none);
	tcase_add_test(tc, who_asks_for_few_frames_is_told_that_it_is_cut);
	tcase_add_test(tc, a_damaged_stack_is_none);
	tcase_add_test(tc, a_child_has_as_much_room_for_stacks);
	tcase_add_test(tc, a_hostile_spool_is_read_within_its_bounds);
	return unit_run(tc, "stacks read");
}
