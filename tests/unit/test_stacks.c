/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/chunk.h"
#include "agent/core/names.h"
#include "tests/unit/stacks_bench.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

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

/* One caller with more callees than a line has room for: each is found again, also once
 * there are many more of them, and a few of them lie on a few pages. */
START_TEST(callees_are_found_however_many_there_are)
{
	enum { FEW = 4000, MANY = 200000 };
	static uint32_t id[MANY];
	size_t before, pages;
	uint32_t caller;

	open_spool(64 << 20);
	caller = add(1, 3, 0);
	before = resident_pages();
	for (unsigned i = 0; i < FEW; i++)
		id[i] = stacks_add(caller, some(i), 0, NULL);
	pages = resident_pages() - before;
	ck_assert_uint_lt(pages, 300); /* of 8,192 that the index may have */
	for (unsigned i = FEW; i < MANY; i++)
		id[i] = stacks_add(caller, some(i), 0, NULL);
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < MANY; i++)
			ck_assert_uint_eq(stacks_add(caller, some(i), 0, NULL), id[i]);
}
END_TEST

/* The index is as large as the spool wants it: nearly all that there is
 * room for are found in it. */
START_TEST(a_large_spool_has_a_large_index)
{
	enum { MANY = 5000000, LAST = 200000 };
	static uint32_t id[LAST];
	uint32_t caller = 0;
	unsigned again = 0;

	open_spool(512 << 20);
	for (unsigned i = 0; i < MANY; i++) {
		caller = i % 100 ? caller : add(1, 1 + i / 100 % 400, 0);
		id[i % LAST] = stacks_add(caller, some(i), 0, NULL);
	}
	for (unsigned i = MANY - LAST; i < MANY; i++) {
		caller = i % 100 ? caller : add(1, 1 + i / 100 % 400, 0);
		again += stacks_add(caller, some(i), 0, NULL) != id[i % LAST];
	}
	ck_assert_uint_lt(again, LAST / 10);
}
END_TEST

/* However many stacks lie by their callers, the few that do not lie on a few pages. */
START_TEST(what_is_found_by_hash_lies_close_together)
{
	enum { MANY = 40000, CALLEES = 2000 };
	uint32_t caller = 0, last = 0;
	size_t before;

	open_spool(64 << 20);
	for (unsigned i = 0; i < MANY; i++)
		last = stacks_add(i % 100 ? last : (caller = add(1, 1 + i, 0)), some(i),
				  0, NULL);
	before = resident_pages();
	for (unsigned i = 0; i < CALLEES; i++)
		ck_assert_uint_ne(stacks_add(caller, some(MANY + i), 0, NULL), 0);
	ck_assert_uint_lt(resident_pages() - before, 100);
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

/* So many that some have the same hash. */
START_TEST(modules_are_told_apart_by_more_than_a_hash)
{
	const struct stack_module *m;

	open_spool(64 << 20);
	for (uint32_t i = 1; i < 200000; i++) {
		uint8_t id[20] = { 0 };

		memcpy(id, &i, sizeof(i));
		m = stacks_module_get(&view, stacks_module(0x1000, id, 20, "x"));
		ck_assert_int_eq(memcmp(m->build_id, id, sizeof(id)), 0);
	}
}
END_TEST

START_TEST(stacks_are_told_apart_by_more_than_a_hash)
{
	const struct stack *s;

	open_spool(128 << 20);
	/* Of each of these frames two stacks have one hash. */
	for (unsigned i = 1536; i < 1548; i++)
		for (unsigned flags = 0; flags <= UINT16_MAX; flags++) {
			s = (const struct stack *)(spool.base +
						   8ul * stacks_add(0, some(i), flags,
								    NULL));
			if (s->flags != flags || s->frame != stacks_pack(some(i)))
				ck_abort_msg("frame %u with flags %u", i, flags);
		}
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

int main(void)
{
	TCase *tc = tcase_create("stacks");

	tcase_add_test(tc, a_stack_comes_back_as_it_was);
	tcase_add_test(tc, the_same_stack_has_one_id);
	tcase_add_test(tc, too_deep_a_stack_has_no_id);
	tcase_add_test(tc, stacks_share_their_callers);
	tcase_add_test(tc, each_thread_has_room_of_its_own);
	tcase_add_test(tc, callees_are_found_however_many_there_are);
	tcase_add_test(tc, a_large_spool_has_a_large_index);
	tcase_add_test(tc, what_is_found_by_hash_lies_close_together);
	tcase_add_test(tc, frames_without_a_module_are_addresses);
	tcase_add_test(tc, modules_are_told_apart_by_all_they_are);
	tcase_add_test(tc, modules_are_told_apart_by_more_than_a_hash);
	tcase_add_test(tc, stacks_are_told_apart_by_more_than_a_hash);
	tcase_add_test(tc, a_path_of_any_length_is_kept_or_cut);
	tcase_add_test(tc, at_its_share_of_the_cap_a_new_stack_has_no_id);
	tcase_add_test(tc, a_forked_child_begins_anew);
	tcase_add_test(tc, threads_add_the_same_stacks_at_once);
	return unit_run(tc, "stacks");
}
