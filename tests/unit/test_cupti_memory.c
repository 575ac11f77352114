/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cupti_records.h"

/* Records that mean something else than they seem to. */

static const struct rec_block *block(unsigned type)
{
	uint8_t *p;

	records_start("13.4");
	p = add(KIND_MEMORY2, 1);
	store(p + LAYOUT_AT_MEMORY2_timestamp, begin_ns() + 30, 8);
	store(p + LAYOUT_AT_MEMORY2_memoryPoolConfig, type, 4);
	store(p + LAYOUT_AT_MEMORY2_memoryPoolConfig + 24, 4711, 8);
	store(p + LAYOUT_AT_MEMORY2_memoryPoolConfig + 32, 64, 8);
	run();
	return bench_record(info, REC_BLOCK, 0);
}

START_TEST(an_imported_pool_has_no_size)
{
	const struct rec_block *b = block(2);

	ck_assert_uint_eq(b->pool, 2);
	ck_assert_uint_eq(b->pool_size, 0); /* 4711 is a process */
	ck_assert_uint_eq(b->pool_used, 0);
}
END_TEST

START_TEST(a_local_pool_has)
{
	const struct rec_block *b = block(1);

	ck_assert_uint_eq(b->pool_size, 4711);
	ck_assert_uint_eq(b->pool_used, 64);
}
END_TEST

/* 13.2 and later; what it copies is missed when it does not come. */
START_TEST(a_copy_with_attributes_is_a_copy)
{
	bool seen = false;

	bench_start("13.4");
	for (uint32_t cbid = 0; cbid < CALLS_MOST; cbid++) {
		struct call *c = calls_get(DOMAIN_RUNTIME, cbid);

		if (!c || !strstr(c->name, "cudaMemcpyWithAttributesAsync"))
			continue;
		seen = true;
		ck_assert(c->traits & CALL_WORKS);
	}
	ck_assert(seen);
}
END_TEST

/* What CUPTI is told when it becomes ours. */
static size_t attribute(int which)
{
	int (*get)(int, size_t *, void *) = NULL;
	size_t value = 0, size = sizeof(value);

	*(void **)&get = bench_symbol(bench.cupti, "cuptiActivityGetAttribute");
	ck_assert_int_eq(get(which, &size, &value), 0);
	return value;
}

START_TEST(device_memory_is_what_was_asked_for)
{
	static const struct {
		uint32_t mb;
		size_t each, most;
	} rows[] = { { 64, 0, 20 }, { 8, 2796202, 3 }, { 1024, 0, 335 } };

	bench_spool();
	bench.config.cuda_device_buffer_mb = rows[_i].mb;
	bench_libraries(versions[_i * 4]);
	bench_begin_session();
	ck_assert(cupti_active());
	ck_assert_uint_eq(attribute(ATTRIBUTE_DEVICE_BUFFER_SIZE), rows[_i].each);
	ck_assert_uint_eq(attribute(ATTRIBUTE_DEVICE_BUFFER_POOL_LIMIT), rows[_i].most);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("odd");

	tcase_add_test(tc, an_imported_pool_has_no_size);
	tcase_add_test(tc, a_local_pool_has);
	tcase_add_test(tc, a_copy_with_attributes_is_a_copy);
	tcase_add_loop_test(tc, device_memory_is_what_was_asked_for, 0, 3);
	return unit_run(tc, "records that are not what they seem");
}
