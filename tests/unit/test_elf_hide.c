/* SPDX-License-Identifier: Apache-2.0 */
/* A library that the test builds takes names back that it had exported. */
#include "base/elf_hide.h"
#include "base/sys.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char dir[64];

static void setup(void)
{
	strcpy(dir, "/tmp/elf-hide-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}

/* Its symbols fill a page and more; `early`: so little that its code lies beside them. */
static void *library(const char *name, bool early, const char *text, const char *flags)
{
	char command[2048], path[128];
	void *handle;

	snprintf(path, sizeof(path), "%s/%s.so", dir, name);
	snprintf(command, sizeof(command),
		 "(echo '%s'; i=0; while [ $i -lt %u ]; do echo \"int _Zmore$i;\"; "
		 "i=$((i + 1)); done) | cc -x c - -O2 -shared -fPIC %s -o %s",
		 text, early ? 0 : 400, flags, path);
	ck_assert_int_eq(system(command), 0);
	handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	ck_assert_msg(handle != NULL, "%s", dlerror());
	return handle;
}

static const struct link_map *map_of(void *handle)
{
	struct link_map *map;

	ck_assert_int_eq(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
	return map;
}

#define ONE      "int _Zone(void) { return 1; } int two(void) { return 2; } "
#define OTHER    "int _Zone(void) { return 11; } int two(void) { return 12; } "
#define TOGETHER "-Wl,-z,noseparate-code"

static int call(void *handle, const char *name)
{
	return ((int (*)(void))dlsym(handle, name))();
}

static const char user[] = "int _Zone(void); int two(void); int sum(void) "
			   "{ return _Zone() + two(); }";
static const char *const names[] = { "_Zone", "_Znowhere", "_Zmore7" };

/* A library that comes later is bound to the next one that has the name; what was bound
 * before stays so. */
START_TEST(what_is_hidden_is_not_found)
{
	void *us = library("us", false, ONE, TOGETHER), *early, *late;

	library("other", true, OTHER, "");
	early = library("early", true, user, "");
	ck_assert_int_eq(call(early, "sum"), 3);
	ck_assert(elf_hide(map_of(us), names, 3));
	late = library("late", true, user, "");
	ck_assert_int_eq(call(late, "sum"), 11 + 2);
	ck_assert_int_eq(call(early, "sum"), 3);
	ck_assert_ptr_null(dlsym(us, "_Zone"));
	ck_assert_ptr_null(dlsym(us, "_Zmore7"));
	ck_assert_ptr_nonnull(dlsym(us, "_Zmore70"));
	ck_assert_int_eq(call(us, "two"), 2);
}
END_TEST

static uintptr_t written;

static int rights_of(const void *at)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512], rights[5] = "";
	unsigned long from, to;

	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) == 3 &&
		    (uintptr_t)at >= from && (uintptr_t)at < to)
			break;
	fclose(f);
	return (rights[0] == 'r') | (rights[1] == 'w') << 1 | (rights[2] == 'x') << 2;
}

START_TEST(its_pages_are_read_only_again)
{
	void *us = library("us", false, ONE, TOGETHER);
	const struct link_map *map = map_of(us);

	for (const Elf64_Dyn *d = map->l_ld; d->d_tag; d++)
		if (d->d_tag == DT_SYMTAB)
			written = d->d_un.d_ptr;
	ck_assert(elf_hide(map, names, 1));
	ck_assert_int_eq(rights_of((void *)written), 1);
	ck_assert_int_eq(rights_of(dlsym(us, "two")), 1 | 4);
}
END_TEST

START_TEST(code_beside_its_symbols_stays_as_it_is)
{
	void *us = library("us", true, ONE, TOGETHER);

	ck_assert(!elf_hide(map_of(us), names, 1));
	ck_assert_int_eq(call(us, "_Zone"), 1);
	ck_assert(!elf_hide(NULL, names, 1));
}
END_TEST

START_TEST(who_may_not_ask_hides_nothing)
{
	void *us = library("us", false, ONE, TOGETHER);

	sys_confine();
	ck_assert(!elf_hide(map_of(us), names, 1));
	sys_unconfine();
	ck_assert_ptr_nonnull(dlsym(us, "_Zone"));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("elf_hide");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, what_is_hidden_is_not_found);
	tcase_add_test(tc, its_pages_are_read_only_again);
	tcase_add_test(tc, code_beside_its_symbols_stays_as_it_is);
	tcase_add_test(tc, who_may_not_ask_hides_nothing);
	return unit_run(tc, "elf hide");
}
