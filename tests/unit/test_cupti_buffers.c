/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a buffer for records is, and how many there may be. */
#include "tests/unit/cupti_bench.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>

#define THREADS 64
#define ROUNDS  300

static _Atomic unsigned running, empty_handed;

/* Words that are not `word`; an assertion for each of them would take minutes. */
static unsigned others(const uint8_t *mem, uint64_t word)
{
	unsigned n = 0;

	for (size_t at = 0; at < 4096; at += 8)
		n += *(const volatile uint64_t *)(mem + at) != word;
	return n;
}

/* What CUPTI does: takes one, fills it, hands it back from anywhere. */
static void *fill(void *arg)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint8_t *mem;
		size_t size, most;

		buffers_requested(&mem, &size, &most);
		if (!mem) {
			empty_handed++;
			sched_yield();
			continue;
		}
		ck_assert_uint_eq(others(mem, 0), 0);
		for (size_t at = 0; at < 4096; at += 8)
			*(uint64_t *)(mem + at) = (uintptr_t)arg;
		sched_yield();
		ck_assert_uint_eq(others(mem, (uintptr_t)arg), 0);
		buffers_completed(NULL, 0, mem, size, 4096);
		buffers_completed(NULL, 0, mem, size, 4096); /* twice: ignored */
	}
	running--;
	return NULL;
}

START_TEST(a_buffer_has_one_owner)
{
	pthread_t thread[THREADS];
	struct buffer *b, *next;
	unsigned got = 0, discarded = 0;

	ck_assert(buffers_start(4, true, _i, NULL));
	running = THREADS;
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, fill, (void *)(i + 1));
	while (running) {
		buffers_prepare();
		for (b = buffers_take(); b; b = next) {
			next = b->next;
			got++;
			discarded += b->discard;
			ck_assert_uint_eq(b->valid, 4096);
			ck_assert(buffers_ours(b->mem));
			buffers_give(b);
		}
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (b = buffers_take(); b; b = next) {
		next = b->next;
		got++;
		discarded += b->discard;
		buffers_give(b);
	}
	ck_assert_uint_eq(got + empty_handed, THREADS * ROUNDS);
	if (_i) /* refused instead */
		ck_assert_uint_eq(discarded, 0);
	ck_assert(!buffers_held(UINT64_MAX));
	ck_assert(!buffers_ours((uint8_t *)&got));
}
END_TEST

START_TEST(the_cap_holds)
{
	uint8_t *mem;
	size_t size, most, all = 0;

	ck_assert(buffers_start(16, false, true, NULL));
	while (buffers_requested(&mem, &size, &most), mem)
		all += size;
	ck_assert_uint_eq(all, 16 << 20);
	ck_assert_uint_eq(buffers_refused(), 1);
}
END_TEST

/* A few at least, however little there is, and never more than that. */
START_TEST(there_are_buffers_for_some_threads)
{
	static const uint32_t caps[] = { 1, 2, 3, 7, 16, 100, 1024, 4096 };
	uint32_t mb = caps[_i / 2], n = 0;
	uint8_t *mem;
	size_t size, most, all = 0;

	ck_assert(buffers_start(mb, _i % 2, true, NULL));
	while (buffers_requested(&mem, &size, &most), mem) {
		ck_assert_uint_eq(size % 65536, 0);
		all += size;
		n++;
	}
	ck_assert_uint_ge(n, 8);
	ck_assert_uint_le(n, 4096);
	ck_assert_uint_le(all, (size_t)mb << 20);
	ck_assert_uint_gt(all, ((size_t)mb << 20) / 2);
}
END_TEST

START_TEST(what_is_held)
{
	uint8_t *a, *b;
	size_t size, most;
	uint64_t turn;
	struct buffer *back;

	ck_assert(buffers_start(64, true, true, NULL));
	ck_assert(!buffers_held(UINT64_MAX));
	buffers_requested(&a, &size, &most);
	turn = buffers_turn();
	ck_assert(!buffers_held(turn)); /* nothing is in it */
	*(uint32_t *)a = KIND_RUNTIME;
	ck_assert(buffers_held(turn));
	buffers_requested(&b, &size, &most);
	*(uint32_t *)b = KIND_RUNTIME;
	buffers_completed(NULL, 0, a, size, 40);
	ck_assert(buffers_held(turn)); /* come back, but not read */
	back = buffers_take();
	ck_assert(back && back->mem == a && !back->next);
	buffers_give(back);
	ck_assert(!buffers_held(turn));
	ck_assert(buffers_held(buffers_turn()));
}
END_TEST

static uint64_t address_space(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	ck_assert_int_eq(fscanf(f, "%lu", &pages), 1);
	fclose(f);
	return (uint64_t)pages * 4096;
}

/* A limit lets it have its last resort and not the rest. What was made ready by then is
 * not made ready twice: each buffer has one owner. */
START_TEST(a_pool_that_was_refused_may_be_asked_for_again)
{
	enum { ALL = 128 + 1024 };
	struct rlimit limit, little;
	static uint8_t *seen[ALL + 1];
	unsigned n = 0, twice = 0;
	size_t size, most;

	ck_assert_int_eq(getrlimit(RLIMIT_AS, &limit), 0);
	little = (struct rlimit){ address_space() + (40u << 20), limit.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &little), 0);
	errno = 4711;
	ck_assert(!buffers_start(64, true, false, NULL));
	ck_assert_int_eq(errno, 4711);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	ck_assert(!buffers_ours((uint8_t *)&n));
	ck_assert(buffers_start(64, true, false, NULL));
	while (n <= ALL && (buffers_requested(&seen[n], &size, &most), seen[n]))
		n++;
	ck_assert_uint_eq(n, ALL);
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < i; k++)
			twice += seen[i] == seen[k];
	ck_assert_uint_eq(twice, 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("buffers");

	tcase_add_loop_test(tc, a_buffer_has_one_owner, 0, 2);
	tcase_add_test(tc, the_cap_holds);
	tcase_add_loop_test(tc, there_are_buffers_for_some_threads, 0, 16);
	tcase_add_test(tc, what_is_held);
	tcase_add_test(tc, a_pool_that_was_refused_may_be_asked_for_again);
	return unit_run(tc, "buffers of agent/cupti");
}
