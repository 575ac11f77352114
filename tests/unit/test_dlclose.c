/* SPDX-License-Identifier: Apache-2.0 */
/* dlclose alone: what it tells is taken down here. */
#include "agent/hooks/enter.h"
#include "agent/unwind/unwind.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

int hook_test_dlclose(void *handle);

static char told[16]; /* u unwind_unmapped, d dlclose */
static int errno_there;

static void tell(char letter)
{
	told[strlen(told)] = letter;
	errno = 5;
}

void unwind_unmapped(void)
{
	tell('u');
}

static int real_dlclose(void *handle)
{
	errno_there = errno;
	tell('d');
	errno = 99;
	return handle == told ? 3 : 4;
}

void *hook_next(const char *name)
{
	return strcmp(name, "dlclose") ? NULL : (void *)real_dlclose;
}

/* What is found out while destructors run is void, too. */
START_TEST(what_is_known_is_void_before_and_after)
{
	errno = 77;
	ck_assert_int_eq(hook_test_dlclose(told), 3);
	ck_assert_str_eq(told, "udu");
	ck_assert_int_eq(errno_there, 77);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("dlclose");

	tcase_add_test(tc, what_is_known_is_void_before_and_after);
	return unit_run(tc, "dlclose");
}
