/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of a release of CUPTI: kinds, calls, sizes, and what is known against it.
 */
#include "tests/unit/cupti_bench.h"

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
	uint16_t probed[KIND_MOST];
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
	for (unsigned kind = 0; kind < KIND_MOST; kind++)
		if (layout_stride[kind] && probed[kind])
			ck_assert_msg(layout_stride[kind] == probed[kind],
				      "kind %u: %u, not %u", kind, layout_stride[kind],
				      probed[kind]);
	ck_assert_uint_gt(layout_stride[KIND_CONCURRENT_KERNEL], 0);
	/* What is newer than the table is read as its newest. */
	ck_assert(!layout_start(990000, 0));
	ck_assert_uint_eq(layout_stride[KIND_CUDA_EVENT], 80);
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

/* Whole graphs and their parts are not to be had together: parts while it wants them. */
START_TEST(graphs_are_whole_but_for_a_clients_while)
{
	bench_start("13.1");
	session.deny = 0;
	bench.config.cuda_graphs = GRAPHS_GRAPH;
	kinds_start();
	ck_assert_int_eq(kinds_ours(true), 0);
	ck_assert(ON(KIND_GRAPH_TRACE));
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(
			kinds_theirs(i ? KIND_MEMSET : KIND_CONCURRENT_KERNEL, true), 0);
		ck_assert(!ON(KIND_GRAPH_TRACE));
		ck_assert_int_eq(kinds_theirs(KIND_GRAPH_TRACE, true), 0);
		ck_assert(ON(KIND_GRAPH_TRACE)); /* it asks for them itself */
		ck_assert_int_eq(kinds_theirs(KIND_GRAPH_TRACE, false), 0);
		ck_assert(!ON(KIND_GRAPH_TRACE));
		ck_assert_int_eq(
			kinds_theirs(i ? KIND_MEMSET : KIND_CONCURRENT_KERNEL, false), 0);
		ck_assert(ON(KIND_GRAPH_TRACE));
	}
	ck_assert_int_eq(kinds_ours(false), 0);
	ck_assert(!ON(KIND_GRAPH_TRACE));
}
END_TEST

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
	ck_assert_int_eq(kinds_theirs(KIND_RUNTIME, false), 0);
	ck_assert(!ON(KIND_RUNTIME));
	ck_assert_uint_eq(now().runtime_calls, ours);
	/* A single call that we do not want. */
	ck_assert_int_eq(kinds_theirs_api(DOMAIN_RUNTIME, 10, true), 0);
	ck_assert_uint_eq(now().runtime_calls, ours + 1);
	/* We go: theirs stay. */
	ck_assert_int_eq(kinds_ours(false), 0);
	ck_assert(!ON(KIND_CONCURRENT_KERNEL) && ON(KIND_MEMCPY));
	ck_assert_uint_eq(now().runtime_calls, 1);
	/* They go while we are there: ours stay. */
	ck_assert_int_eq(kinds_ours(true), 0);
	kinds_theirs_none();
	ck_assert(ON(KIND_MEMCPY));
	ck_assert_uint_eq(now().runtime_calls, ours);
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
	TCase *tc = tcase_create("kinds");

	tcase_add_test(tc, known_defects);
	tcase_add_loop_test(tc, the_table_tells_what_the_library_tells, 0, VERSIONS);
	tcase_add_test(tc, graphs_are_whole_but_for_a_clients_while);
	tcase_add_test(tc, kinds_of_two);
	tcase_add_test(tc, kinds_where_calls_cannot_be_chosen);
	tcase_add_test(tc, calls_that_are_recorded);
	return unit_run(tc, "kinds and calls of agent/cupti");
}
