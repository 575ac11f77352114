/* SPDX-License-Identifier: Apache-2.0 */
/* One object's calls of a function, however it is linked, and no other object's. */
#include "agent/hooks/bound.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *flags;
	int mode;
} ways[] = {
	{ "", RTLD_LAZY },
	{ "-Wl,-z,lazy", RTLD_LAZY },
	{ "-Wl,-z,relro,-z,now", RTLD_NOW },
	{ "-fno-plt -Wl,-z,relro,-z,now", RTLD_NOW },
};

static void *library(const char *dir, const char *name, const char *flags, int mode)
{
	char command[512], path[128];
	void *handle;

	snprintf(path, sizeof(path), "%s/%s.so", dir, name);
	snprintf(command, sizeof(command),
		 "echo 'extern int abs(int); int call(int n) { return abs(n); }' | "
		 "cc -x c - -fno-builtin -shared -fPIC %s -o %s",
		 flags, path);
	ck_assert_int_eq(system(command), 0);
	handle = dlopen(path, mode);
	ck_assert_msg(handle != NULL, "%s", dlerror());
	return handle;
}

static int ours(int n)
{
	return n - 1000;
}

/* Lines of /proc/self/maps that are writable. */
static unsigned writable(const char *of)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[512];
	unsigned n = 0;

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file))
		n += strstr(line, of) && strstr(line, " rw");
	fclose(file);
	return n;
}

START_TEST(the_calls_of_one_object)
{
	char dir[] = "/tmp/bound-XXXXXX", command[64];
	void *one, *other, *was = NULL;
	int (*call)(int), (*call_other)(int);
	unsigned before;
	bool lazy = ways[_i].mode == RTLD_LAZY && !getenv("LD_BIND_NOW");

	ck_assert_ptr_nonnull(mkdtemp(dir));
	one = library(dir, "one", ways[_i].flags, ways[_i].mode);
	other = library(dir, "other", ways[_i].flags, ways[_i].mode);
	call = (int (*)(int))dlsym(one, "call");
	call_other = (int (*)(int))dlsym(other, "call");
	before = writable("one.so");
	if (lazy && !strcmp(ways[_i].flags, "-Wl,-z,lazy")) {
		/* Not bound yet: nobody knows what to call instead. */
		ck_assert_uint_eq(bound_exchange((void *)call, "abs", (void *)ours, &was),
				  0);
		ck_assert_int_eq(call(-5), 5);
	}
	was = lazy ? (void *)abs : NULL;
	ck_assert_uint_eq(bound_exchange((void *)call, "abs", (void *)ours, &was), 1);
	ck_assert_int_eq(call(-5), -1005);
	ck_assert_int_eq(call_other(-5), 5);
	ck_assert_int_eq(((int (*)(int))was)(-7), 7);
	ck_assert_uint_eq(writable("one.so"), before);
	/* Again: what was there is not ours. */
	ck_assert_uint_eq(bound_exchange((void *)call, "abs", (void *)ours, &was), 1);
	ck_assert_int_eq(((int (*)(int))was)(-7), 7);
	ck_assert_uint_eq(bound_exchange((void *)call, "labs", (void *)ours, &was), 0);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("bound");

	tcase_add_loop_test(tc, the_calls_of_one_object, 0, sizeof(ways) / sizeof(*ways));
	return unit_run(tc, "bound");
}
