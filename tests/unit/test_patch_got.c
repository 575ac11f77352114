/* SPDX-License-Identifier: Apache-2.0 */
/* The slots by which a function is called: which are changed, and what of their pages. */
#include "agent/patch/patch.h"
#include "agent/patch/steps.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Called by way of a slot that the loader has filled, and has made read-only. */
int getdtablesize(void) __attribute__((noplt));

static unsigned completed;

static bool ready(uintptr_t original, void *arg)
{
	ck_assert_uint_eq(original, *(uintptr_t *)arg);
	completed++;
	return true;
}

static int stub(void)
{
	return -7;
}

static uintptr_t *slot(void)
{
	uintptr_t *at;

	__asm__("lea getdtablesize@GOTPCREL(%%rip), %0\n" : "=r"(at));
	return at;
}

START_TEST(a_slot_leads_to_the_stub_and_its_page_is_as_it_was)
{
	struct patch_found f = { .at = (uintptr_t)dlsym(RTLD_DEFAULT, "getdtablesize") };
	int before = patch_prot((uintptr_t)slot());
	unsigned n;

	ck_assert_int_gt(getdtablesize(), 0);
	ck_assert_uint_eq(*slot(), f.at);
	n = patch_got("getdtablesize", &f, (uintptr_t)stub, ready, &f.at);
	ck_assert_uint_ge(n, 1);
	ck_assert_uint_eq(completed, 1);
	ck_assert_int_eq(getdtablesize(), -7);
	ck_assert_int_eq(patch_prot((uintptr_t)slot()), before);
	ck_assert_msg(!(before & PROT_WRITE), "this program is linked without relro");
}
END_TEST

/* The program, or another tool, has put a function of its own there. */
START_TEST(a_slot_that_leads_elsewhere_is_left_alone)
{
	struct patch_found f = { .at = (uintptr_t)dlsym(RTLD_DEFAULT, "getpagesize") };
	int files = getdtablesize();

	ck_assert_uint_eq(patch_got("getdtablesize", &f, (uintptr_t)stub, ready, &f.at),
			  0);
	ck_assert_uint_eq(completed, 0);
	ck_assert_int_eq(getdtablesize(), files);
}
END_TEST

static void hit(void)
{
}

static char said[1024];

static void patch(const char *spec)
{
	int keep = dup(2), both[2];
	ssize_t n;

	ck_assert_int_eq(pipe(both), 0);
	fcntl(both[0], F_SETFL, O_NONBLOCK);
	dup2(both[1], 2);
	ck_assert(patch_symbol(spec, hit));
	dup2(keep, 2);
	n = read(both[0], said, sizeof(said) - 1);
	said[n > 0 ? n : 0] = 0;
}

START_TEST(of_two_functions_of_one_name_none_is_patched)
{
	char dir[] = "/tmp/patch-got-XXXXXX", command[512], path[128];
	int (*each[2])(void), before[2];
	void *lib;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(command, sizeof(command),
		 "cd %s && for n in 0 1; do echo \"static int __attribute__((noipa)) "
		 "patch_twice(int x) { return x * 2 + $n; } int call$n(void) { return "
		 "patch_twice(3); }\" > $n.c; done && "
		 "cc -O1 -shared -fPIC -o libtwice.so 0.c 1.c",
		 dir);
	ck_assert_int_eq(system(command), 0);
	snprintf(path, sizeof(path), "%s/libtwice.so", dir);
	lib = dlopen(path, RTLD_NOW);
	ck_assert_msg(lib != NULL, "%s", dlerror());
	each[0] = (int (*)(void))dlsym(lib, "call0");
	each[1] = (int (*)(void))dlsym(lib, "call1");
	before[0] = each[0]();
	before[1] = each[1]();
	patch("patch_twice");
	ck_assert_msg(strstr(said, "more than one function there has this name"), "%s",
		      said);
	ck_assert_int_eq(each[0](), before[0]);
	ck_assert_int_eq(each[1](), before[1]);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("patch got");

	tcase_add_test(tc, a_slot_leads_to_the_stub_and_its_page_is_as_it_was);
	tcase_add_test(tc, a_slot_that_leads_elsewhere_is_left_alone);
	tcase_add_test(tc, of_two_functions_of_one_name_none_is_patched);
	return unit_run(tc, "patch_got");
}
