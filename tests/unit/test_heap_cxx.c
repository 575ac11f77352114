/* SPDX-License-Identifier: Apache-2.0 */
/* operator new of libraries that come and go, each with one of its own. */
#include "agent/heap/mode.h"
#include "tests/unit/seam.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char dir[64];
static unsigned opened;

__attribute__((visibility("default"))) void *dlopen(const char *path, int mode)
{
	static void *(*real)(const char *, int);

	opened++;
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "dlopen");
	return real(path, mode);
}

static void path_of(char path[128], const char *name)
{
	snprintf(path, 128, "%s/%s", dir, name);
}

/* A library with an operator new and a function that could call it. */
static void *open_in(Lmid_t space, const char *name)
{
	char path[128], command[512];
	void *handle;

	path_of(path, name);
	snprintf(command, sizeof(command),
		 "echo 'void *_Znwm(unsigned long n) { return (void *)n; }"
		 "void *call(unsigned long n) { return _Znwm(n); }' | "
		 "cc -x c - -shared -fPIC -O1 -o %s",
		 path);
	ck_assert_int_eq(system(command), 0);
	handle = dlmopen(space, path, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(handle != NULL, "%s", dlerror());
	return handle;
}

static void *open_library(const char *name)
{
	return open_in(LM_ID_BASE, name);
}

static void *found_by(void *caller)
{
	return heap_find_cxx((void **)&heap_real._Znwm, caller);
}

static void setup(void)
{
	strcpy(dir, "/tmp/heap-cxx-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(each_caller_means_its_own_library)
{
	void *a = open_library("a.so"), *b = open_library("b.so");

	for (int i = 0; i < 2; i++) { /* looked for, then remembered */
		ck_assert_ptr_eq(found_by(dlsym(a, "call")), dlsym(a, "_Znwm"));
		ck_assert_ptr_eq(found_by(dlsym(b, "call")), dlsym(b, "_Znwm"));
	}
	ck_assert_ptr_null(heap_real._Znwm);
}
END_TEST

/* Another thread may open something at its place before dlclose has returned. */
START_TEST(what_dlclose_unmaps_is_nobodys_from_then_on)
{
	void *a = open_library("a.so"), *caller = dlsym(a, "call");

	ck_assert_ptr_eq(found_by(caller), dlsym(a, "_Znwm"));
	heap_unmapping();
	ck_assert_int_eq(dlclose(a), 0);
	ck_assert_ptr_null(found_by(caller));
	heap_unmapped();
	ck_assert_ptr_null(found_by(caller));
}
END_TEST

/* ... and what its destructors have found out is void as well. */
START_TEST(what_was_found_while_dlclose_ran_is_void)
{
	void *a = open_library("a.so"), *caller = dlsym(a, "call");

	heap_unmapping();
	ck_assert_ptr_eq(found_by(caller), dlsym(a, "_Znwm"));
	ck_assert_int_eq(dlclose(a), 0);
	heap_unmapped();
	ck_assert_ptr_null(found_by(caller));
}
END_TEST

static unsigned looks;

static long proc_says;

static bool have_no_proc(long nr, const long a[6], long *result)
{
	if (nr == SYS_newfstatat && proc_says == -ENOENT &&
	    !strcmp((const char *)a[1], "/proc/self/maps")) {
		*result = proc_says;
		return true;
	}
	if (!seam_opens(nr, a, "/self/maps"))
		return false;
	looks++;
	*result = proc_says;
	return true;
}

/* A program in C++ calls from thousands of pages. */
START_TEST(without_proc_nobody_looks_twice)
{
	void *a = open_library("a.so"), *caller = dlsym(a, "call");

	seam = have_no_proc;
	proc_says = -ENOENT;
	ck_assert_ptr_eq(found_by(caller), dlsym(a, "_Znwm"));
	for (unsigned i = 16; i < 3000; i++)
		ck_assert_ptr_null(found_by((char *)caller + 4096 * i));
	ck_assert_uint_eq(looks, 1);
	dlclose(a);
}
END_TEST

/* All of the system's files are open, or there is no memory. */
START_TEST(who_cannot_read_mappings_asks_the_linker)
{
	void *a = open_library("a.so"), *b = open_library("b.so");

	seam = have_no_proc;
	proc_says = -ENFILE;
	ck_assert_ptr_eq(found_by(dlsym(a, "call")), dlsym(a, "_Znwm"));
	ck_assert_ptr_eq(found_by(dlsym(a, "call")), dlsym(a, "_Znwm"));
	ck_assert_uint_eq(looks, 1); /* remembered */
	ck_assert_ptr_eq(found_by(dlsym(b, "call")), dlsym(b, "_Znwm"));
	ck_assert_uint_eq(looks, 2);
}
END_TEST

/* Its name is a C++ library's, but no code of it is mapped; where its tables would be
 * nothing is. */
START_TEST(a_file_that_is_read_is_no_library)
{
	struct {
		Elf64_Ehdr h;
		Elf64_Phdr p[2];
		uint8_t rest[4096];
	} file = { .h = { .e_phoff = sizeof(Elf64_Ehdr), .e_phnum = 2 },
		   .p = { { .p_type = PT_LOAD },
			  { .p_type = PT_DYNAMIC, .p_vaddr = 1ull << 40 } } };
	char path[128];
	int fd;

	path_of(path, "libstdc++.so.6");
	fd = open(path, O_RDWR | O_CREAT, 0600);
	memcpy(file.h.e_ident, ELFMAG, SELFMAG);
	ck_assert_int_eq(write(fd, &file, sizeof(file)), sizeof(file));
	ck_assert_ptr_ne(mmap(NULL, sizeof(file), PROT_READ, MAP_PRIVATE, fd, 0),
			 MAP_FAILED);
	close(fd);
	ck_assert_ptr_null(found_by((void *)path_of));
}
END_TEST

START_TEST(a_library_that_cannot_be_held_is_let_go)
{
	void *lib = open_in(LM_ID_NEWLM, "libstdc++.so.6");

	ck_assert_ptr_eq(found_by(dlsym(lib, "call")), dlsym(lib, "_Znwm"));
	ck_assert_ptr_eq((void *)heap_real._Znwm, dlsym(lib, "_Znwm"));
	heap_unmapping();
	ck_assert_ptr_null(heap_real._Znwm);
}
END_TEST

/* One library serves all, by either name; what only sounds like it does not. */
START_TEST(the_cxx_library_serves_all)
{
	static const struct {
		const char *name;
		bool is;
	} rows[] = { { "libstdc++.so.6", true }, { "libstdc++-3a4b.so.6.0.33", true },
		     { "libc++.so.1", true },    { "libc++.1.so", true },
		     { "libstdc.so.6", false },  { "mylibstdc++.so.6", false },
		     { "libcxx.so", false } };
	void *a = open_library("a.so"), *cxx = open_library(rows[_i].name);
	void *its = dlsym(cxx, "_Znwm");

	/* A caller with one of its own means that, unless there is one for all. */
	ck_assert_ptr_eq(found_by(dlsym(a, "call")),
			 rows[_i].is ? its : dlsym(a, "_Znwm"));
	ck_assert_ptr_eq((void *)heap_real._Znwm, rows[_i].is ? its : NULL);
	ck_assert_ptr_eq(found_by((void *)path_of), rows[_i].is ? its : NULL);
}
END_TEST

/* Blocks go back to where they came from: so what was decided once stays. */
START_TEST(a_cxx_library_that_comes_late_serves_nobody_else)
{
	void *a = open_library("a.so"), *b = open_library("b.so"), *cxx;

	ck_assert_ptr_eq(found_by(dlsym(a, "call")), dlsym(a, "_Znwm"));
	cxx = open_library("libstdc++.so.6");
	ck_assert_ptr_eq(found_by(dlsym(cxx, "call")), dlsym(cxx, "_Znwm"));
	ck_assert_ptr_eq(found_by(dlsym(b, "call")), dlsym(b, "_Znwm"));
	ck_assert_ptr_eq(found_by(dlsym(a, "call")), dlsym(a, "_Znwm"));
	ck_assert_ptr_null(heap_real._Znwm);
}
END_TEST

/* It is held once; dlclose of others costs nothing more. */
START_TEST(the_cxx_library_is_held_once)
{
	void *cxx = open_library("libstdc++.so.6"), *its = dlsym(cxx, "_Znwm");

	ck_assert_ptr_eq(found_by(dlsym(cxx, "call")), its);
	opened = 0;
	for (int i = 0; i < 5; i++) {
		heap_unmapping();
		heap_unmapped();
		ck_assert_uint_eq(opened, 1);
	}
	dlclose(cxx);
	dlclose(cxx);
	ck_assert_ptr_eq((void *)heap_real._Znwm, its);
	ck_assert_ptr_eq(((void *(*)(size_t))its)(77), (void *)77);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("heap cxx");

	if (dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD)) {
		puts("not with a C++ library in the process: a sanitizer brings one");
		return 77;
	}
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, each_caller_means_its_own_library);
	tcase_add_test(tc, what_dlclose_unmaps_is_nobodys_from_then_on);
	tcase_add_test(tc, without_proc_nobody_looks_twice);
	tcase_add_test(tc, who_cannot_read_mappings_asks_the_linker);
	tcase_add_test(tc, what_was_found_while_dlclose_ran_is_void);
	tcase_add_test(tc, a_file_that_is_read_is_no_library);
	tcase_add_test(tc, a_library_that_cannot_be_held_is_let_go);
	tcase_add_loop_test(tc, the_cxx_library_serves_all, 0, 7);
	tcase_add_test(tc, a_cxx_library_that_comes_late_serves_nobody_else);
	tcase_add_test(tc, the_cxx_library_is_held_once);
	return unit_run(tc, "heap_cxx");
}
