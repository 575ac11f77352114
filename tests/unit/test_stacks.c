/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/names.h"
#include "agent/core/stacks.h"
#include "agent/core/sys.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

static struct spool_view view;

static void open_spool(uint64_t cap)
{
	ck_assert_int_eq(spool_open(NULL, cap), 0);
	ck_assert_int_eq(spool_prepare(cap), 0);
	ck_assert_int_eq(spool_view_init(&view, spool.base, spool.head->cap), 0);
}

static struct stack_frame some(unsigned i)
{
	return (struct stack_frame){ .module = 9000 + i % 7, .offset = 64 * i + 1 };
}

static __thread struct stacks_room *own_room;

static uint32_t add(unsigned from, unsigned depth, unsigned flags)
{
	uint32_t id = 0;

	for (unsigned i = depth; i--;)
		if (!(id = stacks_add(id, some(from + i), id ? 0 : flags, own_room)))
			return 0;
	return id;
}

/* Is what lies behind `id` what add() was asked for? */
static bool holds(uint32_t id, unsigned from, unsigned depth, unsigned flags)
{
	struct stack_frame frame[STACKS_MOST];
	unsigned have, n = stacks_get(&view, id, frame, STACKS_MOST, &have);

	for (unsigned i = 0; i < n; i++)
		if (frame[i].module != some(from + i).module ||
		    frame[i].offset != some(from + i).offset)
			return false;
	return n == depth && have == flags;
}

START_TEST(a_stack_comes_back_as_it_was)
{
	open_spool(4 << 20);
	for (unsigned depth = 1; depth <= STACKS_MOST; depth = depth * 3 / 2 + 1)
		for (unsigned flags = 0; flags < 8; flags++)
			ck_assert(holds(add(depth, depth, flags), depth, depth, flags));
}
END_TEST

START_TEST(the_same_stack_has_one_id)
{
	uint32_t a, b;

	open_spool(4 << 20);
	a = add(1, 20, 0);
	b = add(1, 20, STACK_CUT);
	ck_assert_uint_ne(a, 0);
	ck_assert_uint_ne(a, b);
	ck_assert_uint_ne(a, add(1, 19, 0));
	ck_assert_uint_ne(a, add(2, 20, 0));
	for (int i = 0; i < 100; i++) {
		ck_assert_uint_eq(add(1, 20, 0), a);
		ck_assert_uint_eq(add(1, 20, STACK_CUT), b);
	}
}
END_TEST

START_TEST(too_deep_a_stack_has_no_id)
{
	open_spool(4 << 20);
	ck_assert(holds(add(0, STACKS_MOST, 0), 0, STACKS_MOST, 0));
	ck_assert_uint_eq(add(0, STACKS_MOST + 1, 0), 0);
	ck_assert_uint_eq(add(0, 0, 0), 0);
}
END_TEST

START_TEST(stacks_share_their_callers)
{
	uint32_t caller;

	open_spool(4 << 20);
	caller = add(100, 50, 0);
	for (unsigned i = 0; i < 100; i++)
		ck_assert_uint_eq(stacks_add(caller, some(i), 0, NULL),
				  caller + 2 * (i + 1));
}
END_TEST

/* Two threads in turn: each puts its own side by side, and finds what the other has. */
START_TEST(each_thread_has_room_of_its_own)
{
	struct stacks_room room[2] = { 0 };
	uint32_t id[2][40], flags;

	open_spool(4 << 20);
	for (unsigned i = 0; i < 40; i++)
		for (unsigned t = 0; t < 2; t++)
			id[t][i] = stacks_add(i ? id[t][i - 1] : 0, some(100 * t + i), 0,
					      &room[t]);
	for (unsigned t = 0; t < 2; t++) {
		struct stack_frame frame[STACKS_MOST];

		for (unsigned i = 1; i < 40; i++)
			if (i % 16)
				ck_assert_uint_eq(id[t][i], id[t][i - 1] + 2);
		ck_assert_uint_eq(
			stacks_get(&view, id[t][39], frame, STACKS_MOST, &flags), 40);
		for (unsigned i = 0; i < 40; i++) {
			ck_assert_uint_eq(frame[39 - i].offset, some(100 * t + i).offset);
			ck_assert_uint_eq(stacks_add(i ? id[t][i - 1] : 0,
						     some(100 * t + i), 0, &room[!t]),
					  id[t][i]);
		}
	}
}
END_TEST

START_TEST(frames_without_a_module_are_addresses)
{
	struct stack_frame in[3] = { { 0, 0x7fffdeadbeef },
				     { 12345, UINT32_MAX },
				     { 12345, 1ull << 32 } },
			   out[STACKS_MOST];
	unsigned flags;
	uint32_t id = 0;

	open_spool(4 << 20);
	for (unsigned i = 3; i--;)
		id = stacks_add(id, in[i], 0, NULL);
	ck_assert_uint_eq(stacks_get(&view, id, out, STACKS_MOST, &flags), 3);
	ck_assert_uint_eq(out[0].module, 0);
	ck_assert_uint_eq(out[0].offset, 0x7fffdeadbeef);
	ck_assert_uint_eq(out[1].module, 12345);
	ck_assert_uint_eq(out[1].offset, UINT32_MAX);
	ck_assert_uint_eq(out[2].module, 0);
}
END_TEST

START_TEST(modules_are_told_apart_by_all_they_are)
{
	static const uint8_t id[20] = { 1, 2, 3 };
	const struct stack_module *m;
	uint32_t a;

	open_spool(4 << 20);
	a = stacks_module(0x1000, id, 20, "/lib/x.so");
	ck_assert_uint_ne(a, 0);
	ck_assert_uint_eq(a, stacks_module(0x1000, id, 20, "/lib/x.so"));
	ck_assert_uint_ne(a, stacks_module(0x2000, id, 20, "/lib/x.so"));
	ck_assert_uint_ne(a, stacks_module(0x1000, id, 8, "/lib/x.so"));
	ck_assert_uint_ne(a, stacks_module(0x1000, id, 20, "/lib/y.so"));
	m = stacks_module_get(&view, a);
	ck_assert_ptr_nonnull(m);
	ck_assert_uint_eq(m->bias, 0x1000);
	ck_assert_uint_eq(m->build_id_len, 20);
	ck_assert_int_eq(memcmp(m->build_id, id, 20), 0);
	ck_assert_str_eq(m->path, "/lib/x.so");
}
END_TEST

START_TEST(a_path_of_any_length_is_kept_or_cut)
{
	char path[9000];
	const struct stack_module *m;

	open_spool(4 << 20);
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	m = stacks_module_get(&view, stacks_module(0, NULL, 0, path));
	ck_assert_ptr_nonnull(m);
	ck_assert_uint_eq(strlen(m->path), 4095);
	m = stacks_module_get(&view, stacks_module(0, NULL, 0, ""));
	ck_assert_ptr_nonnull(m);
	ck_assert_str_eq(m->path, "");
}
END_TEST

START_TEST(at_its_share_of_the_cap_a_new_stack_has_no_id)
{
	uint32_t first, id = 1;
	unsigned n = 0;

	open_spool(8 << 20);
	first = add(0, 50, 0);
	while (id && n < 1000000)
		id = add(++n * 50, 50, 0);
	ck_assert_uint_eq(id, 0);
	/* 2 MiB of them, 50 times 16 bytes each. */
	ck_assert_uint_gt(n, 2000);
	ck_assert_uint_lt(n, 2700);
	ck_assert_uint_eq(add(0, 50, 0), first);
	ck_assert(holds(first, 0, 50, 0));
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
}
END_TEST

START_TEST(a_forked_child_begins_anew)
{
	uint32_t before = stacks_epoch, id;

	ck_assert_uint_eq(add(1, 3, 0), 0); /* no spool */
	open_spool(4 << 20);
	id = add(1, 3, 0);
	ck_assert(holds(id, 1, 3, 0));
	spool_forget();
	ck_assert_uint_ne(stacks_epoch, before);
	ck_assert_uint_eq(add(1, 3, 0), 0);
	open_spool(4 << 20);
	ck_assert(holds(add(1, 3, 0), 1, 3, 0));
}
END_TEST

#define THREADS 4
#define KINDS   300

static uint32_t seen[THREADS][KINDS];

static void *adder(void *arg)
{
	uint32_t *mine = arg;
	struct stacks_room room = { 0 };

	own_room = (mine - seen[0]) / KINDS % 2 ? &room : NULL; /* both at once */
	for (unsigned round = 0; round < 20; round++)
		for (unsigned i = 0; i < KINDS; i++)
			mine[i] = add(i, 1 + i % 40, 0);
	return NULL;
}

START_TEST(threads_add_the_same_stacks_at_once)
{
	pthread_t t[THREADS];

	open_spool(16 << 20);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, adder, seen[i]), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (unsigned i = 0; i < KINDS; i++)
		for (int k = 0; k < THREADS; k++) {
			ck_assert_uint_eq(seen[k][i], seen[0][i]);
			ck_assert(holds(seen[k][i], i, 1 + i % 40, 0));
		}
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
	TCase *tc = tcase_create("stacks");

	tcase_add_test(tc, a_stack_comes_back_as_it_was);
	tcase_add_test(tc, the_same_stack_has_one_id);
	tcase_add_test(tc, too_deep_a_stack_has_no_id);
	tcase_add_test(tc, stacks_share_their_callers);
	tcase_add_test(tc, each_thread_has_room_of_its_own);
	tcase_add_test(tc, frames_without_a_module_are_addresses);
	tcase_add_test(tc, modules_are_told_apart_by_all_they_are);
	tcase_add_test(tc, a_path_of_any_length_is_kept_or_cut);
	tcase_add_test(tc, at_its_share_of_the_cap_a_new_stack_has_no_id);
	tcase_add_test(tc, a_forked_child_begins_anew);
	tcase_add_test(tc, threads_add_the_same_stacks_at_once);
	tcase_add_test(tc, a_hostile_spool_is_read_within_its_bounds);
	return unit_run(tc, "stacks");
}
