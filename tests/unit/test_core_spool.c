/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/names.h"
#include "agent/core/spool_view.h"
#include "base/sys.h"
#include "tests/unit/emit_bench.h"
#include "tests/unit/spool_open.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define open_spool(cap) bench_open((unsigned)_i, cap)
#define open_cycle      bench_cycle
#define count_records   bench_records

START_TEST(a_closed_gate_records_nothing)
{
	open_spool(4 << 20);
	ck_assert(!emit_one(1));
	ck_assert_uint_eq(count_records(REC_OP), 0);
}
END_TEST

START_TEST(what_is_committed_can_be_read)
{
	open_spool(4 << 20);
	open_cycle(1);
	for (int i = 0; i < 1000; i++)
		ck_assert(emit_one(i));
	ck_assert_uint_eq(count_records(REC_OP), 1000);
	ck_assert_uint_ge(count_records(REC_THREAD), 1);
}
END_TEST

START_TEST(at_the_cap_records_are_dropped_and_counted)
{
	uint64_t kept = 0, lost = 0;

	open_spool(1 << 20);
	open_cycle(1);
	for (int i = 0; i < 100000; i++)
		emit_one(i) ? kept++ : lost++;
	ck_assert_uint_gt(kept, 10000);
	ck_assert_uint_eq(count_records(REC_OP), kept);
	struct cycle_info *info = (struct cycle_info *)(chunk_at(gate->cycle_at) + 1);

	ck_assert_uint_eq(info->drops[REC_OP], lost);
	ck_assert_uint_eq(info->whys[DROP_CAP], lost);
}
END_TEST

START_TEST(a_new_cycle_starts_a_new_chunk)
{
	struct chunk *first;

	open_spool(4 << 20);
	open_cycle(1);
	emit_one(1);
	first = thread_mine->chunk;
	open_cycle(2);
	emit_one(2);
	ck_assert(thread_mine->chunk != first);
	ck_assert_uint_eq(thread_mine->chunk->cycle, 2);
}
END_TEST

START_TEST(an_end_is_stored_only_while_its_cycle_is_current)
{
	struct rec_op *op;

	open_spool(4 << 20);
	open_cycle(1);
	emit_one(1);
	op = (struct rec_op *)(thread_mine->at - sizeof(*op));
	open_cycle(2);
	emit_end(&op->r, 1, 77);
	ck_assert_uint_eq(op->r.end, 0);
	gate_set(1, 0);
	emit_end(&op->r, 1, 78);
	ck_assert_uint_eq(op->r.end, 78);
}
END_TEST

START_TEST(an_event_inside_our_own_emit_is_counted)
{
	struct thread *t;

	open_spool(4 << 20);
	open_cycle(1);
	t = emit_enter(REC_OP);
	ck_assert_ptr_nonnull(t);
	ck_assert_ptr_null(emit_enter(REC_MEMORY));
	emit_leave(t);
	struct cycle_info *info = (struct cycle_info *)(chunk_at(gate->cycle_at) + 1);

	ck_assert_uint_eq(info->whys[DROP_NESTED], 1);
	ck_assert_uint_eq(info->drops[REC_MEMORY], 1);
}
END_TEST

START_TEST(a_commit_after_the_writer_came_is_late)
{
	open_spool(4 << 20);
	open_cycle(1);
	emit_one(1);
	atomic_store(&thread_mine->chunk->taken, 1);
	emit_one(2);
	ck_assert_uint_eq(spool.head->totals.whys[DROP_LATE], 1);
}
END_TEST

static void *short_life(void *arg)
{
	return (void *)(intptr_t)!emit_one((intptr_t)arg);
}

START_TEST(short_threads_share_what_dead_ones_left)
{
	uint64_t before;

	open_spool(16 << 20);
	open_cycle(1);
	before = spool.head->used;
	for (intptr_t i = 0; i < 2000; i++) {
		pthread_t t;

		ck_assert_int_eq(pthread_create(&t, NULL, short_life, (void *)i), 0);
		pthread_join(t, NULL);
	}
	ck_assert_uint_eq(count_records(REC_OP), 2000);
	ck_assert_uint_eq(count_records(REC_THREAD), 2000);
	ck_assert_uint_lt(spool.head->used - before, 2000 * 150);
}
END_TEST

static void *many_records(void *arg)
{
	uint64_t lost = 0;

	(void)arg;
	for (int i = 0; i < 20000; i++)
		lost += !emit_one(i);
	return (void *)(uintptr_t)lost;
}

START_TEST(threads_and_seals_lose_nothing_uncounted)
{
	pthread_t threads[8];
	uint64_t closed = 0, counted = 0, at = 0;
	struct spool_view v;
	const struct chunk *c;

	open_spool(64 << 20);
	open_cycle(1);
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, many_records, NULL);
	for (uint64_t n = 2; n < 200; n++) {
		open_cycle(n);
		gate_barrier();
		while (!thread_quiet(n - 1))
			sched_yield();
	}
	for (int i = 0; i < 8; i++) {
		void *lost;

		pthread_join(threads[i], &lost);
		closed += (uintptr_t)lost;
	}
	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.head->cap), 0);
	while ((c = spool_view_next(&v, &at)))
		for (int k = 0; c->kind == CHUNK_CYCLE && k < REC_KINDS; k++)
			counted += ((struct cycle_info *)(c + 1))->drops[k];
	/* Those turned away at a seal saw the gate move: emit_enter said no. */
	ck_assert_uint_le(counted, closed);
	ck_assert_uint_eq(count_records(REC_OP) + closed, 8 * 20000);
}
END_TEST

START_TEST(names_come_back_the_same)
{
	struct spool_view v;
	uint32_t mm, mm2, sum;

	open_spool(4 << 20);
	mm = names_add("aten::mm", 8, "", 0);
	mm2 = names_add("aten::mm", 8, "out", 3);
	sum = names_add("aten::sum", 9, "dim_IntList", 11);
	ck_assert(mm && mm2 && sum && mm != mm2);
	ck_assert_uint_eq(names_add("aten::mm", 8, "", 0), mm);
	ck_assert_uint_eq(names_add("aten::sum", 9, "dim_IntList", 11), sum);
	spool_view_init(&v, spool.base, spool.head->cap);
	ck_assert_str_eq(names_get(&v, sum)->text, "aten::sum");
	ck_assert_str_eq(names_get(&v, sum)->text + 10, "dim_IntList");
	ck_assert_ptr_null(names_get(&v, 0));
	ck_assert_ptr_null(names_get(&v, UINT32_MAX));
}
END_TEST

START_TEST(too_many_names_are_refused_not_overwritten)
{
	uint32_t last = 1, full = 0;
	char text[64];

	open_spool(1 << 20);
	for (int i = 0; i < 50000 && last; i++) {
		last = names_add(text, (size_t)snprintf(text, sizeof(text), "name %d", i),
				 "", 0);
		full += !last;
	}
	ck_assert_uint_eq(full, 1);
	ck_assert_uint_ne(names_add("name 7", 6, "", 0), 0);
}
END_TEST

START_TEST(a_fork_child_cannot_append)
{
	int status;
	pid_t pid;

	open_spool(4 << 20);
	open_cycle(1);
	emit_one(1);
	pid = fork();
	if (!pid)
		_exit(emit_one(2) ? 1 : 0);
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(count_records(REC_OP), 1);
}
END_TEST

START_TEST(without_a_directory_memory_serves)
{
	clock_start();
	gate_start();
	thread_start();
	ck_assert_int_eq(spool_open("/dev/null/x", 4 << 20), -ENOTDIR);
	ck_assert_int_eq(spool_open(NULL, 4 << 20), 0);
	ck_assert_int_eq(spool_prepare(1 << 20), 0);
	ck_assert_int_eq(spool.head->kept, 0);
	open_cycle(1);
	ck_assert(emit_one(1));
	ck_assert_uint_eq(count_records(REC_OP), 1);
}
END_TEST

START_TEST(damaged_headers_end_nothing)
{
	struct spool_view v;
	uint64_t at = 0, chunks = 0;
	uint64_t hole;

	open_spool(4 << 20);
	chunk_take(CHUNK_DATA, CHUNK_SMALL, 1);
	hole = chunk_take(CHUNK_DATA, CHUNK_LARGE, 1);
	chunk_take(CHUNK_DATA, CHUNK_SMALL, 1);
	chunk_at(hole)->size = 0xffffffff;
	spool_view_init(&v, spool.base, spool.head->cap);
	while (spool_view_next(&v, &at))
		chunks++;
	ck_assert_uint_eq(chunks, 2);
	spool.head->used = UINT64_MAX;
	at = 0;
	while (spool_view_next(&v, &at))
		;
	ck_assert_int_ne(spool_view_init(&v, spool.base, 100), 0);
}
END_TEST

START_TEST(ticks_become_epoch_time)
{
	int64_t before, after, got;
	uint64_t ticks;

	open_spool(4 << 20);
	usleep(20000);
	clock_sample(spool.head);
	before = sys_clock_ns(CLOCK_REALTIME);
	ticks = clock_ticks();
	after = sys_clock_ns(CLOCK_REALTIME);
	got = clock_line_at(spool.head, ticks, ticks).ns;
	ck_assert_int_ge(got, before - 200000);
	ck_assert_int_le(got, after + 200000);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("core spool");

	tcase_add_loop_test(tc, a_closed_gate_records_nothing, 0, WAYS);
	tcase_add_loop_test(tc, what_is_committed_can_be_read, 0, WAYS);
	tcase_add_loop_test(tc, at_the_cap_records_are_dropped_and_counted, 0, WAYS);
	tcase_add_loop_test(tc, a_new_cycle_starts_a_new_chunk, 0, WAYS);
	tcase_add_loop_test(tc, an_end_is_stored_only_while_its_cycle_is_current, 0,
			    WAYS);
	tcase_add_loop_test(tc, an_event_inside_our_own_emit_is_counted, 0, WAYS);
	tcase_add_loop_test(tc, a_commit_after_the_writer_came_is_late, 0, WAYS);
	tcase_add_loop_test(tc, short_threads_share_what_dead_ones_left, 0, WAYS);
	tcase_add_loop_test(tc, threads_and_seals_lose_nothing_uncounted, 0, WAYS);
	tcase_add_loop_test(tc, names_come_back_the_same, 0, WAYS);
	tcase_add_loop_test(tc, too_many_names_are_refused_not_overwritten, 0, WAYS);
	tcase_add_loop_test(tc, a_fork_child_cannot_append, 0, WAYS);
	tcase_add_loop_test(tc, without_a_directory_memory_serves, 0, WAYS);
	tcase_add_loop_test(tc, damaged_headers_end_nothing, 0, WAYS);
	tcase_add_loop_test(tc, ticks_become_epoch_time, 0, WAYS);
	return unit_run(tc, "core spool");
}
