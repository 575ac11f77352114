/* SPDX-License-Identifier: Apache-2.0 */
/* Where the kernel orders the stores of all threads, and where each has to. */
#include "agent/core/gate.h"
#include "tests/unit/seam.h"
#include "tests/unit/unit.h"

#include <linux/membarrier.h>

static long barriers, answer;

static bool count_barriers(long nr, const long a[6], long *result)
{
	if (nr != SYS_membarrier)
		return false;
	barriers += a[0] == MEMBARRIER_CMD_PRIVATE_EXPEDITED;
	*result = answer;
	return true;
}

START_TEST(membarrier_is_asked_where_it_can_be_had)
{
	seam = count_barriers;
	answer = _i ? -ENOSYS : 0;
	errno = 4711;
	ck_assert_int_eq(gate_start(), 0);
	ck_assert_int_eq(gate_fences, _i);
	ck_assert_uint_eq(atomic_load(&gate->alive), 1);
	gate_barrier();
	ck_assert_int_eq(barriers, !_i);
	ck_assert_int_eq(errno, 4711);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("core gate");

	tcase_add_loop_test(tc, membarrier_is_asked_where_it_can_be_had, 0, 2);
	return unit_run(tc, "core gate");
}
