/* SPDX-License-Identifier: Apache-2.0 */
/* Which file a command is, and which program runs it. */
#include "launcher/target.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <unistd.h>

static char dir[] = "/tmp/test_target-XXXXXX";
static struct target t;

static void enter(void)
{
	char path[256];

	strcpy(dir, "/tmp/test_target-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	ck_assert_int_eq(mkdir("one", 0777), 0);
	ck_assert_int_eq(mkdir("two", 0777), 0);
	snprintf(path, sizeof(path), "%s/one:%s/two:/usr/bin:/bin", dir, dir);
	ck_assert_int_eq(setenv("PATH", path, 1), 0);
}

static void put(const char *name, const char *text, mode_t mode)
{
	FILE *f = fopen(name, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
	ck_assert_int_eq(chmod(name, mode), 0);
}

static const char *base(const char *path)
{
	return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

START_TEST(what_may_not_be_run_hides_nothing)
{
	put("one/tool", "", 0644);
	ck_assert_int_eq(target_find(&t, "tool"), -EACCES);
	ck_assert_int_eq(target_find(&t, "no-such-tool"), -ENOENT);
	put("two/tool", "#!/bin/sh\n", 0755);
	ck_assert_int_eq(target_find(&t, "tool"), 0);
	ck_assert_ptr_nonnull(strstr(t.path, "/two/tool"));
}
END_TEST

static const char *const firsts[] = {
	"#!/bin/sh -e\n",
	"#!/usr/bin/env sh\n",
	"#!/usr/bin/env -S A=1 sh\n",
	"#!/usr/bin/env -S -i A=1 B= sh -e\n",
	"echo text\n",
};

START_TEST(a_script_is_its_interpreter)
{
	put("one/script", firsts[_i], 0755);
	ck_assert_int_eq(target_find(&t, "script"), 0);
	ck_assert_msg(!*t.why, "%s: %s", firsts[_i], t.why);
	ck_assert_str_eq(base(t.path), "script");
	ck_assert_str_eq(base(t.image), "sh");
	ck_assert_int_eq(t.text, firsts[_i][0] != '#');
}
END_TEST

START_TEST(an_interpreter_that_is_not_there)
{
	put("one/script", "#!/usr/bin/env -S A=1 no-such-interpreter\n", 0755);
	ck_assert_int_eq(target_find(&t, "script"), 0);
	ck_assert_str_eq(t.why, "is a script whose interpreter cannot be found");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("target");

	tcase_add_checked_fixture(tc, enter, NULL);
	tcase_add_test(tc, what_may_not_be_run_hides_nothing);
	tcase_add_loop_test(tc, a_script_is_its_interpreter, 0,
			    sizeof(firsts) / sizeof(*firsts));
	tcase_add_test(tc, an_interpreter_that_is_not_there);
	return unit_run(tc, "target");
}
