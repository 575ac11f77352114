/* SPDX-License-Identifier: Apache-2.0 */
/* Where CUDA's functions are: libraries that the test builds, one runtime and another. */
#include "agent/cuda/libraries.h"
#include "agent/hooks/enter.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static char dir[64];

static uint32_t slot_of(const char *name)
{
	const struct cuda_function *fn = cuda_function_named(name);

	ck_assert_msg(fn != NULL, "%s is in no table", name);
	return (uint32_t)(fn - cuda_functions);
}

/* A library of that path, with two functions. */
static void *library(const char *path, const char *one, const char *other)
{
	char command[512], whole[128];
	void *handle;

	snprintf(command, sizeof(command),
		 "cd %s && mkdir -p $(dirname %s) && "
		 "echo 'int %s(void) { return 1; } int %s(void) { return 2; }' | "
		 "cc -x c - -shared -fPIC -Wl,-soname,%s -o %s",
		 dir, path, one, other, path, path);
	ck_assert_int_eq(system(command), 0);
	snprintf(whole, sizeof(whole), "%s/%s", dir, path);
	handle = dlopen(whole, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(handle != NULL, "%s", dlerror());
	return handle;
}

static void setup(void)
{
	strcpy(dir, "/tmp/cuda-find-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	hook_look_dlsym(NULL, NULL);
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}

/* ---- calls ---- */

START_TEST(each_caller_means_the_runtime_that_it_came_with)
{
	uint32_t slot = slot_of("cudaMalloc");
	void *a = library("a/libcudart.so.12", "cudaMalloc", "cudaFree"), *b;

	ck_assert_ptr_eq(cuda_resolve(slot, dlsym(a, "cudaFree")),
			 dlsym(a, "cudaMalloc"));
	ck_assert_ptr_eq(cuda_real[slot], dlsym(a, "cudaMalloc"));
	b = library("b/libcudart.so.12", "cudaMalloc", "cudaFree");
	cuda_find_again();
	for (int i = 0; i < 2; i++) {
		ck_assert_ptr_eq(cuda_resolve(slot, dlsym(b, "cudaFree")),
				 dlsym(b, "cudaMalloc"));
		ck_assert_ptr_eq(cuda_resolve(slot, dlsym(a, "cudaFree")),
				 dlsym(a, "cudaMalloc"));
	}
	ck_assert_ptr_null(cuda_real[slot]);
}
END_TEST

/* Of two runtimes each call is remembered by its place, and by what is called. */
START_TEST(one_place_may_call_several_functions)
{
	uint32_t slot = slot_of("cudaMalloc");
	const char *next = cuda_function_name(&cuda_functions[slot - 1]);
	void *a = library("a/libcudart.so.12", "cudaMalloc", next);
	void *b = library("b/libcudart.so.12", "cudaMalloc", next);
	void *caller = dlsym(b, "cudaMalloc");

	ck_assert_ptr_nonnull(a);
	ck_assert_int_eq(cuda_functions[slot - 1].group, GROUP_CUDART);
	cuda_resolve(slot, caller); /* something is in use from now on */
	cuda_find_again();
	for (int i = 0; i < 2; i++) {
		ck_assert_ptr_eq(cuda_resolve(slot, caller), dlsym(b, "cudaMalloc"));
		ck_assert_ptr_eq(cuda_resolve(slot - 1, caller), dlsym(b, next));
	}
}
END_TEST

/* There is room for four of a kind: more of them are not looked at. */
START_TEST(a_fifth_library_is_not_looked_at)
{
	char path[32], name[32], other[32];
	void *handle;

	for (int i = 0; i < 6; i++) {
		snprintf(path, sizeof(path), "%c/libcudart.so.12", 'a' + i);
		snprintf(name, sizeof(name), "only_in_%d", i);
		snprintf(other, sizeof(other), "nor_in_%d", i);
		handle = library(path, name, other);
		ck_assert_ptr_eq(cuda_locate(GROUP_CUDART, name),
				 i < 4 ? dlsym(handle, name) : NULL);
		ck_assert_ptr_nonnull(cuda_locate(GROUP_CUDART, "only_in_0"));
	}
}
END_TEST

static void *(*asked)(void *handle, const char *name);

static void *with_errno(void *handle, const char *name)
{
	void *at = asked(handle, name);

	errno = 5;
	return at;
}

START_TEST(what_is_nowhere_fails_as_its_library_would)
{
	asked = hook_real_dlsym;
	hook_real_dlsym = with_errno;
	errno = 77;
	ck_assert_ptr_eq(cuda_resolve(slot_of("ncclAllReduce"), NULL),
			 (void *)cuda_missing_nccl);
	ck_assert_ptr_eq(cuda_resolve(slot_of("cudaMalloc"), NULL), (void *)cuda_missing);
	ck_assert_ptr_eq(cuda_resolve(slot_of("cuInit"), NULL), (void *)cuda_missing);
	ck_assert_int_eq(errno, 77);
	ck_assert_int_eq(cuda_missing(), 999);
	ck_assert_int_eq(cuda_missing_nccl(), 3);
}
END_TEST

START_TEST(a_function_that_is_looked_up_again_has_its_entry)
{
	const struct cuda_function *reduce = cuda_function_named("ncclAllReduce");
	const struct cuda_function *gather = cuda_function_named("ncclAllGather");
	void *lib = library("libnccl.so.2", "ncclAllReduce", "ncclAllGather");
	void *real = dlsym(lib, "ncclAllReduce"), *entry = cuda_wrap(reduce, real);

	ck_assert_ptr_ne(entry, real);
	for (int i = 0; i < 2 * CUDA_SLOTS_SPARE; i++)
		ck_assert_ptr_eq(cuda_wrap(reduce, real), entry);
	real = dlsym(lib, "ncclAllGather");
	ck_assert_ptr_ne(cuda_wrap(gather, real), real);
	ck_assert_ptr_ne(cuda_wrap(gather, real), entry);
}
END_TEST

/* ---- dlsym ---- */

static void *says_ours(void *handle, const char *name)
{
	(void)name;
	return handle == RTLD_NEXT ? NULL : (void *)says_ours;
}

START_TEST(who_has_no_cuda_is_told_so)
{
	struct hook_answer answer;

	hook_real_dlsym = says_ours;
	answer = cuda_dlsym(&answer, "cudaMalloc", (void *)setup);
	ck_assert(answer.given);
	ck_assert_ptr_null(answer.value);
	answer = cuda_dlsym(RTLD_DEFAULT, "cudaMalloc", (void *)setup);
	ck_assert(answer.given);
	ck_assert_ptr_null(answer.value);
	ck_assert(!cuda_dlsym(RTLD_DEFAULT, "malloc", (void *)setup).given);
}
END_TEST

START_TEST(nvidias_libraries_get_the_drivers_own_functions)
{
	void *driver = library("libcuda.so.1", "cuLaunchKernel", "cuInit");
	void *runtime = library("libcudart.so.12", "cudaMalloc", "cudaFree");
	void *real = dlsym(driver, "cuLaunchKernel");
	struct hook_answer answer;

	cuda_armed = true;
	answer = cuda_dlsym(driver, "cuLaunchKernel", dlsym(runtime, "cudaMalloc"));
	ck_assert(answer.given);
	ck_assert_ptr_eq(answer.value, real);
	ck_assert_ptr_null(
		cuda_hooks_driver("cuLaunchKernel", real, dlsym(runtime, "cudaMalloc")));
	answer = cuda_dlsym(driver, "cuLaunchKernel", (void *)setup);
	ck_assert(answer.given);
	ck_assert_ptr_ne(answer.value, real);
}
END_TEST

START_TEST(what_is_called_stays_mapped)
{
	void *a = library("a/libcudart.so.12", "cudaMalloc", "cudaFree");
	int (*real)(void) = cuda_resolve(slot_of("cudaMalloc"), (void *)setup);

	dlclose(a);
	ck_assert_int_eq(real(), 1);
}
END_TEST

START_TEST(the_next_of_nobodys_function_is_none)
{
	struct hook_answer answer;

	hook_real_dlsym = says_ours;
	answer = cuda_dlsym(RTLD_NEXT, "cudaMalloc", (void *)setup);
	ck_assert(answer.given);
	ck_assert_ptr_null(answer.value);
}
END_TEST

static void *in_the_program; /* to all but us: what it exports is nobody's next */

static void *exported(void *handle, const char *name)
{
	bool is = handle == RTLD_DEFAULT && !strcmp(name, "cudaMalloc");

	return is ? in_the_program : asked(handle, name);
}

/* An entry for it is looked for where it is not; that error is ours alone. */
START_TEST(a_look_up_that_succeeds_leaves_no_error)
{
	asked = hook_real_dlsym;
	in_the_program = asked(RTLD_DEFAULT, "gnu_get_libc_version");
	hook_real_dlsym = exported;
	cuda_armed = true;
	for (int i = 0; i < 2; i++) {
		struct hook_answer answer =
			cuda_dlsym(RTLD_DEFAULT, "cudaMalloc", (void *)setup);
		const char *error = dlerror();

		ck_assert(answer.given && answer.value != in_the_program);
		ck_assert_ptr_nonnull(answer.value);
		ck_assert_msg(!error, "%d: %s", i, error);
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("cuda find");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, each_caller_means_the_runtime_that_it_came_with);
	tcase_add_test(tc, one_place_may_call_several_functions);
	tcase_add_test(tc, a_fifth_library_is_not_looked_at);
	tcase_add_test(tc, what_is_nowhere_fails_as_its_library_would);
	tcase_add_test(tc, a_function_that_is_looked_up_again_has_its_entry);
	tcase_add_test(tc, who_has_no_cuda_is_told_so);
	tcase_add_test(tc, nvidias_libraries_get_the_drivers_own_functions);
	tcase_add_test(tc, what_is_called_stays_mapped);
	tcase_add_test(tc, the_next_of_nobodys_function_is_none);
	tcase_add_test(tc, a_look_up_that_succeeds_leaves_no_error);
	return unit_run(tc, "cuda_find");
}
