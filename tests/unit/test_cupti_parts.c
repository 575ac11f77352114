/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cupti_bench.h"

#include <pthread.h>
#include <sched.h>

/* ---- what is known against it ---- */

START_TEST(known_defects)
{
	const char *sentence;

	ck_assert(deny_look(130000, 13000, false, &sentence) & DENY_FLUSH);
	ck_assert(strstr(sentence, "13.0.85"));
	ck_assert(!(deny_look(130000, 13000, false, &sentence) & DENY_USE));
	ck_assert(!(deny_look(130001, 13000, false, &sentence) & DENY_FLUSH));
	ck_assert(!(deny_look(130001, 13000, false, &sentence) & DENY_USE));
	ck_assert(deny_look(130001, 13000, true, &sentence) & DENY_USE);
	ck_assert(!(deny_look(130001, 13010, true, &sentence) & DENY_USE));
	ck_assert(deny_look(26, 12080, false, &sentence) & DENY_KERNELS_OFF);
	ck_assert(!deny_look(24, 12060, false, &sentence) && !sentence);
	ck_assert(!deny_look(130100, 13010, false, &sentence));
}
END_TEST

/* ---- record sizes where the library does not tell ---- */

START_TEST(the_table_tells_what_the_library_tells)
{
	uint16_t probed[LAYOUT_KINDS];
	uint32_t number = 0;
	int major = atoi(versions[_i]);

	bench_libraries(versions[_i]);
	ck_assert_int_eq(bench.init(0), 0);
	ck_assert(!api_resolve(bench.cupti));
	ck_assert_int_eq(cupti.GetVersion(&number), 0);
	ck_assert(layout_start(number, major));
	memcpy(probed, layout_stride, sizeof(probed));
	cupti.ActivityGetNextRecord = NULL;
	ck_assert(!layout_start(number, major));
	for (unsigned kind = 0; kind < LAYOUT_KINDS; kind++)
		if (layout_stride[kind] && probed[kind])
			ck_assert_msg(layout_stride[kind] == probed[kind],
				      "kind %u: %u, not %u", kind, layout_stride[kind],
				      probed[kind]);
	ck_assert_uint_gt(layout_stride[KIND_CONCURRENT_KERNEL], 0);
	/* What is newer than the table is read as its newest. */
	ck_assert(!layout_start(990000, 0));
	ck_assert_uint_eq(layout_release, 1305);
}
END_TEST

/* ---- buffers ---- */

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

	ck_assert(buffers_start(4, true, _i));
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

	ck_assert(buffers_start(16, false, true));
	while (buffers_requested(&mem, &size, &most), mem)
		all += size;
	ck_assert_uint_eq(all, 16 << 20);
	ck_assert_uint_eq(buffers_refused(), 1);
}
END_TEST

START_TEST(what_is_held)
{
	uint8_t *a, *b;
	size_t size, most;
	uint64_t turn;
	struct buffer *back;

	ck_assert(buffers_start(64, true, true));
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

/* ---- kinds that two want ---- */

static struct fake_cupti now(void)
{
	struct fake_cupti state;

	bench.state(&state);
	return state;
}

#define ON(kind) (now().kinds >> (kind)&1)

START_TEST(kinds_of_two)
{
	uint32_t ours;

	bench_start("13.1");
	session.deny = 0;
	ck_assert_int_eq(kinds_theirs(KIND_MEMCPY, true), 0);
	ck_assert_int_eq(kinds_ours(true), 0);
	ck_assert(ON(KIND_CONCURRENT_KERNEL) && ON(KIND_MEMCPY));
	ours = now().runtime_calls;
	ck_assert_uint_gt(ours, 10);
	/* A whole kind, and back to our list. */
	ck_assert_int_eq(kinds_theirs(KIND_RUNTIME, true), 0);
	ck_assert(ON(KIND_RUNTIME));
	ck_assert_int_eq(kinds_theirs_api(DOMAIN_RUNTIME, 211, false), 0);
	ck_assert(!kinds_for_theirs(KIND_RUNTIME, 211));
	ck_assert(kinds_for_theirs(KIND_RUNTIME, 10));
	ck_assert_int_eq(kinds_theirs(KIND_RUNTIME, false), 0);
	ck_assert(!ON(KIND_RUNTIME));
	ck_assert_uint_eq(now().runtime_calls, ours);
	/* A single call that we do not want. */
	ck_assert_int_eq(kinds_theirs_api(DOMAIN_RUNTIME, 10, true), 0);
	ck_assert_uint_eq(now().runtime_calls, ours + 1);
	ck_assert(kinds_for_theirs(KIND_RUNTIME, 10));
	ck_assert(!kinds_for_theirs(KIND_RUNTIME, 11));
	/* We go: theirs stay. */
	ck_assert_int_eq(kinds_ours(false), 0);
	ck_assert(!ON(KIND_CONCURRENT_KERNEL) && ON(KIND_MEMCPY));
	ck_assert_uint_eq(now().runtime_calls, 1);
	/* They go while we are there: ours stay. */
	ck_assert_int_eq(kinds_ours(true), 0);
	kinds_theirs_none();
	ck_assert(ON(KIND_MEMCPY));
	ck_assert_uint_eq(now().runtime_calls, ours);
	ck_assert(!kinds_for_theirs(KIND_MEMCPY, 0));
	ck_assert_int_eq(kinds_ours(false), 0);
	ck_assert_uint_eq(now().kinds, 0);
	ck_assert_uint_eq(now().runtime_calls + now().driver_calls, 0);
}
END_TEST

START_TEST(kinds_where_calls_cannot_be_chosen)
{
	bench_start("12.1");
	ck_assert_int_eq(kinds_ours(true), 0);
	ck_assert(ON(KIND_RUNTIME) && ON(KIND_DRIVER));
	ck_assert_int_eq(kinds_theirs(KIND_RUNTIME, true), 0);
	ck_assert_int_eq(kinds_theirs(KIND_RUNTIME, false), 0);
	ck_assert(ON(KIND_RUNTIME));
	ck_assert_int_eq(kinds_theirs_api(DOMAIN_RUNTIME, 10, true), CUPTI_UNKNOWN);
	ck_assert_int_eq(kinds_ours(false), 0);
	ck_assert_uint_eq(now().kinds, 0);
}
END_TEST

/* ---- names of calls ---- */

static bool recorded(int domain, const char *name)
{
	for (uint32_t cbid = 0; cbid < CALLS_MOST; cbid++) {
		struct call *c = calls_get(domain, cbid);

		if (c && strlen(name) == c->length && !strncmp(c->name, name, c->length))
			return c->traits & CALL_OURS;
	}
	ck_abort_msg("no call %s", name);
	return false;
}

START_TEST(calls_that_are_recorded)
{
	bench_start("13.1");
	ck_assert(recorded(DOMAIN_RUNTIME, "cudaLaunchKernel"));
	ck_assert(recorded(DOMAIN_RUNTIME, "cudaMemcpyAsync"));
	ck_assert(recorded(DOMAIN_RUNTIME, "cudaEventRecord"));
	ck_assert(recorded(DOMAIN_RUNTIME, "cudaStreamSynchronize"));
	ck_assert(!recorded(DOMAIN_RUNTIME, "cudaGetDevice"));
	ck_assert(!recorded(DOMAIN_RUNTIME, "cudaGetLastError"));
	ck_assert(!recorded(DOMAIN_RUNTIME, "cudaStreamIsCapturing"));
	ck_assert(recorded(DOMAIN_DRIVER, "cuLaunchKernelEx"));
	ck_assert(recorded(DOMAIN_DRIVER, "cuMemMap"));
	ck_assert(!recorded(DOMAIN_DRIVER, "cuCtxGetCurrent"));
	ck_assert_ptr_null(calls_start(true));
	ck_assert(recorded(DOMAIN_DRIVER, "cuCtxGetCurrent"));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("parts");

	tcase_add_test(tc, known_defects);
	tcase_add_loop_test(tc, the_table_tells_what_the_library_tells, 0, VERSIONS);
	tcase_add_loop_test(tc, a_buffer_has_one_owner, 0, 2);
	tcase_add_test(tc, the_cap_holds);
	tcase_add_test(tc, what_is_held);
	tcase_add_test(tc, kinds_of_two);
	tcase_add_test(tc, kinds_where_calls_cannot_be_chosen);
	tcase_add_test(tc, calls_that_are_recorded);
	return unit_run(tc, "parts of agent/cupti");
}
