/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/hold.h"
#include "tests/unit/unit.h"

#include <string.h>

START_TEST(each_has_an_address_of_its_own)
{
	struct sockaddr_un a, b;
	socklen_t n = hold_address(&a, "vm_12.34");

	ck_assert_uint_eq(n, offsetof(struct sockaddr_un, sun_path) + 1 +
				     strlen("proflaunch/vm_12.34"));
	ck_assert_uint_eq(hold_address(&b, "vm_12.35"), n);
	ck_assert_int_ne(memcmp(&a, &b, n), 0);
	ck_assert_int_eq(memcmp(a.sun_path, "\0proflaunch/vm_12.34", 20), 0);
}
END_TEST

START_TEST(a_long_name_is_cut)
{
	char id[300] = { 0 };
	struct sockaddr_un a;

	memset(id, 'x', sizeof(id) - 1);
	ck_assert_uint_le(hold_address(&a, id), sizeof(a));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("hold");

	tcase_add_test(tc, each_has_an_address_of_its_own);
	tcase_add_test(tc, a_long_name_is_cut);
	return unit_run(tc, "hold");
}
