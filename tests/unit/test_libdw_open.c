/* SPDX-License-Identifier: Apache-2.0 */
/* How libdw is opened: which one, how often, and what comes of one that lacks something.
 */
#include "launcher/find.h"
#include "launcher/symbols/frames.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>

static char opened[4096]; /* a line for each */
static const char *there; /* the only file that can be opened, with its libelf */
static const char *lacks; /* a function that it has not; NULL = has all */

/* Of a launcher /opt/bin/proflaunch. */
bool find_place(unsigned n, const char *name, char *path, size_t size)
{
	static const char *const places[] = { "", "../lib/", "../lib64/",
					      "../lib/proflaunch/" };

	if (n == sizeof(places) / sizeof(*places))
		return false;
	snprintf(path, size, "/opt/bin/%s%s", places[n], name);
	return true;
}

static void *open_here(const char *name, int flags)
{
	const char *slash = strrchr(name, '/');
	size_t dir = slash ? (size_t)(slash - name) : 0;

	ck_assert_int_eq(flags, RTLD_NOW | RTLD_LOCAL);
	strcat(strcat(opened, name), "\n");
	/* A word without a slash is the system's. */
	if (!there || strlen(there) != dir || strncmp(name, there, dir))
		return NULL;
	return strstr(name, "libdw.so.1") ? (void *)&opened : (void *)&there;
}

static void *find_here(void *library, const char *name)
{
	ck_assert_ptr_eq(library, &opened);
	return lacks && !strcmp(name, lacks) ? NULL : &opened;
}

#define dlopen open_here
#define dlsym  find_here
#include "launcher/symbols/libdw.c"
#undef dlopen
#undef dlsym

START_TEST(the_copy_beside_us_comes_first)
{
	static const char *const places[] = { "/opt/bin", "/opt/bin/../lib",
					      "/opt/bin/../lib64",
					      "/opt/bin/../lib/proflaunch", "" };
	char *elf, *dw;

	there = places[_i];
	setenv("DEBUGINFOD_URLS", "https://debuginfod.example", 1);
	ck_assert(symbol_libdw_open());
	ck_assert_ptr_null(getenv("DEBUGINFOD_URLS"));
	elf = strstr(opened, "libelf.so.1");
	dw = strstr(opened, "libdw.so.1");
	ck_assert(elf && dw && elf < dw);
	if (_i < 4)
		ck_assert_ptr_null(strstr(opened, "\nlibdw.so.1"));
	else
		ck_assert_ptr_nonnull(strstr(opened, "\nlibdw.so.1\n"));
	/* All of the table. */
	for (size_t i = 0; i < sizeof(libdw) / sizeof(void *); i++)
		ck_assert_ptr_eq(((void **)&libdw)[i], &opened);
	*opened = '\0';
	ck_assert(symbol_libdw_open());
	ck_assert_str_eq(opened, "");
}
END_TEST

START_TEST(one_that_lacks_a_function_is_none)
{
	static const char *const functions[] = {
#define LIBDW(result, name, arguments) #name,
#include "launcher/symbols/libdw.def"
#undef LIBDW
	};

	there = "";
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if ((int)i == _i)
			lacks = functions[i];
	ck_assert_ptr_nonnull(lacks);
	ck_assert(!symbol_libdw_open());
}
END_TEST

START_TEST(one_that_is_not_there_is_looked_for_once)
{
	ck_assert(!symbol_libdw_open());
	ck_assert_ptr_nonnull(strstr(opened, "\nlibdw.so.1\n"));
	*opened = '\0';
	ck_assert(!symbol_libdw_open());
	ck_assert_str_eq(opened, "");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("libdw_open");

	tcase_add_loop_test(tc, the_copy_beside_us_comes_first, 0, 5);
	tcase_add_loop_test(tc, one_that_lacks_a_function_is_none, 0,
			    (int)(sizeof(libdw) / sizeof(void *)));
	tcase_add_test(tc, one_that_is_not_there_is_looked_for_once);
	return unit_run(tc, "libdw_open");
}
