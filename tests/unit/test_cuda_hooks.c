/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hooks/enter.h"
#include "tests/unit/call_bench.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

static unsigned begun, ended, ready;
static const char *last_function, *last_kernel;

static uint32_t begin(const char *function, const char *kernel)
{
	begun++;
	last_function = function;
	last_kernel = kernel;
	errno = 99;
	return begun == 1 ? 0 : 7; /* the first is of no interest */
}

static void end(uint32_t token)
{
	ck_assert_uint_eq(token, 7);
	ended++;
	errno = 98;
}

static void is_ready(void)
{
	ready++;
}

static void setup(void)
{
	static const struct cuda_listener to = { begin, end, is_ready,
						 cuda_hooks_driver };

	hook_look_dlsym(NULL, NULL);
	call_start(&to);
}

START_TEST(tables)
{
	ck_assert_ptr_null(cuda_function_named("cudaGetDevice"));
	ck_assert_ptr_null(cuda_function_named("c"));
	ck_assert_ptr_null(cuda_function_named(""));
	for (unsigned i = 0; i < CUDA_FUNCTIONS; i++) {
		const struct cuda_function *fn = &cuda_functions[i];

		ck_assert_ptr_eq(cuda_function_named(cuda_function_name(fn)), fn);
		if (cuda_is_kernel(fn))
			ck_assert(fn->arg[0] == 0 || fn->arg[0] == 1);
	}
	ck_assert_uint_gt(CUDA_FUNCTIONS, 150);
}
END_TEST

/* A fork child's spool has names of its own. */
START_TEST(a_name_is_of_the_spool_that_there_is)
{
	const struct cuda_function *fn = cuda_function_named("cudaMalloc");
	uint32_t id = cuda_name_of(fn);

	ck_assert_str_eq(text_of(id), "cudaMalloc");
	ck_assert_uint_eq(cuda_name_of(fn), id);
	names_forget();
	ck_assert_uint_ne(names_add("another", 7, NULL, 0), 0);
	id = cuda_name_of(fn);
	ck_assert_uint_ne(id, 0);
	ck_assert_str_eq(text_of(id), "cudaMalloc");
	ck_assert_uint_eq(names_add("cudaMalloc", 10, NULL, 0), id);
}
END_TEST

START_TEST(marks)
{
	struct cuda_frame f = frame("cudaLaunchKernel");

	cuda_hooks_want(0);
	call(&f, 0);
	ck_assert_uint_eq(begun, 0);
	cuda_hooks_want(CUDA_WANT_MARKS);
	kernel_names_add((void *)10, "_Z1av");
	call(&f, 0);
	ck_assert_str_eq(last_function, "cudaLaunchKernel");
	ck_assert_str_eq(last_kernel, "_Z1av");
	ck_assert_uint_eq(ended, 0);
	f = frame("cudaMalloc");
	call(&f, 2);
	ck_assert_ptr_null(last_kernel);
	ck_assert_uint_eq(begun, 2);
	ck_assert_uint_eq(ended, 1);
	f = frame("ncclAllReduce"); /* no CUDA call */
	call(&f, 0);
	f = frame("__cudaRegisterFunction");
	f.reg[3] = (uintptr_t) "_Z1bv";
	call(&f, 0);
	ck_assert_uint_eq(begun, 2);
	f = frame("cuLaunchKernelEx");
	f.reg[0] = (uintptr_t)stack;
	call(&f, 0);
	ck_assert_str_eq(last_kernel, "_Z1bv");
	f = frame("cudaGraphLaunch"); /* many kernels, or none */
	call(&f, 0);
	ck_assert_str_eq(last_function, "cudaGraphLaunch");
	ck_assert_ptr_null(last_kernel);
	ck_assert_ptr_null(newest());
}
END_TEST

START_TEST(calls)
{
	struct cuda_frame f = frame("cudaMalloc");
	const struct rec_call *c;

	cuda_hooks_want(CUDA_WANT_TIMES);
	call(&f, 0);
	c = newest();
	ck_assert_ptr_nonnull(c);
	ck_assert_int_eq(c->r.kind, REC_CALL);
	ck_assert_int_eq(c->r.flags, CALL_HOOK);
	ck_assert_str_eq(text_of(c->r.name), "cudaMalloc");
	ck_assert_uint_eq(c->correlation, 1);
	ck_assert_uint_ne(c->tid, 0);
	ck_assert_uint_ge(c->r.end, c->r.begin);
	f = frame("cuLaunchKernel");
	call(&f, 700);
	c = newest();
	ck_assert_int_eq(c->result, 700);
	ck_assert_int_eq(c->r.flags, CALL_HOOK | CALL_DRIVER);
	ck_assert_uint_eq(c->correlation, 2);
	/* A window that ends in the middle of a call takes nothing more. */
	f = frame("cudaFree");
	cuda_enter(&f);
	c = newest();
	gate_set(0, 0);
	f.result[0] = 1;
	cuda_leave(&f);
	ck_assert_uint_eq(c->r.end, 0);
	ck_assert_int_eq(c->result, 0);
	f = frame("cudaFree");
	call(&f, 0);
	ck_assert_ptr_eq(newest(), c);
}
END_TEST

START_TEST(collectives)
{
	struct cuda_frame f = frame("ncclReduce");
	uint64_t comm = 70;
	const struct rec_collective *c;

	cuda_hooks_want(CUDA_WANT_COLLECTIVES);
	f.reg[0] = (uintptr_t)&comm;
	f.slot = slot_of("ncclCommInitRankConfig");
	f.reg[1] = 16;
	f.reg[2] = 5;
	call(&f, 7); /* in progress: it is there already */
	ck_assert_uint_ge(f.stack_bytes, 128 + 16);
	f = frame("ncclReduce");
	call(&f, 0);
	c = newest();
	ck_assert_int_eq(c->r.kind, REC_COLLECTIVE);
	ck_assert_str_eq(text_of(c->r.name), "ncclReduce");
	ck_assert_uint_eq(c->count, 30);
	ck_assert_int_eq(c->type, 40);
	ck_assert_int_eq(c->peer, 60);
	ck_assert_uint_eq(c->comm, 70);
	ck_assert_int_eq(c->rank, 5);
	ck_assert_int_eq(c->size, 16);
	ck_assert_uint_ge(c->r.end, c->r.begin);
	/* Its address comes again, made where nobody saw it. */
	f = frame("ncclCommDestroy");
	f.reg[0] = comm;
	call(&f, 0);
	f = frame("ncclReduce");
	call(&f, 0);
	c = newest();
	ck_assert_int_eq(c->rank, -1);
	ck_assert_int_eq(c->size, -1);
}
END_TEST

START_TEST(is_told_once)
{
	struct cuda_frame f = frame("cudaMalloc");

	cuda_hooks_want(CUDA_WANT_READY);
	call(&f, 35);
	f = frame("__cudaGetKernel"); /* needs no driver */
	f.reg[0] = 0;
	call(&f, 0);
	ck_assert_uint_eq(ready, 0);
	f = frame("cuInit");
	call(&f, 0);
	ck_assert_uint_eq(ready, 1);
	ck_assert_uint_eq(cuda_wanted[0], 0);
	cuda_hooks_want(CUDA_WANT_READY | CUDA_WANT_MARKS);
	ck_assert_uint_eq(cuda_wanted[0], CUDA_WANT_MARKS);
	call(&f, 0);
	ck_assert_uint_eq(ready, 1);
	cuda_hooks_fork_child();
	ck_assert_uint_eq(cuda_wanted[0], 0);
	cuda_hooks_want(CUDA_WANT_READY);
	call(&f, 0);
	ck_assert_uint_eq(ready, 2);
}
END_TEST

START_TEST(kernel_names)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	char name[] = "_Z4gonev";
	uint64_t handle;

	ck_assert_ptr_null(kernel_names_name(NULL, GROUP_CUDART));
	ck_assert_ptr_null(kernel_names_name((void *)8, GROUP_CUDART));
	/* Read at the first use, kept from then on. */
	kernel_names_add((void *)16, name);
	ck_assert_str_eq(kernel_names_name((void *)16, GROUP_CUDART), "_Z4gonev");
	name[2] = '5';
	ck_assert_str_eq(kernel_names_name((void *)16, GROUP_CUDART), "_Z4gonev");
	kernel_names_same(&handle, (void *)16);
	ck_assert_str_eq(kernel_names_name(&handle, GROUP_DRIVER), "_Z4gonev");
	/* Loaded again, with another name. */
	kernel_names_add((void *)16, name);
	ck_assert_str_eq(kernel_names_name((void *)16, GROUP_CUDART), "_Z5gonev");
	kernel_names_put((void *)16, "_Z3newv");
	ck_assert_str_eq(kernel_names_name((void *)16, GROUP_CUDART), "_Z3newv");
	/* Its library is gone; or the name runs into what is not mapped. */
	strcpy(page + 100, "_Z1cv");
	kernel_names_add((void *)24, page + 100);
	kernel_names_add((void *)32, page + 100);
	memset(page + 4000, 'x', 96);
	kernel_names_add((void *)40, page + 4000);
	ck_assert_str_eq(kernel_names_name((void *)24, GROUP_CUDART), "_Z1cv");
	munmap(page + 4096, 4096);
	ck_assert_ptr_null(kernel_names_name((void *)40, GROUP_CUDART));
	munmap(page, 4096);
	ck_assert_str_eq(kernel_names_name((void *)24, GROUP_CUDART), "_Z1cv");
	ck_assert_ptr_null(kernel_names_name((void *)32, GROUP_CUDART));
}
END_TEST

static char names[64][16];

static void *many(void *arg)
{
	for (uintptr_t i = 0; i < 200000; i++)
		kernel_names_add((void *)(4096 + i * 16), names[i % 64]);
	for (uintptr_t i = 0; i < 20000; i++) {
		const char *name =
			kernel_names_name((void *)(4096 + i * 16), GROUP_DRIVER);

		if (name && strcmp(name, names[i % 64]) != 0)
			*(unsigned *)arg += 1;
	}
	return NULL;
}

/* More kernels than the table holds, from several threads at once. */
START_TEST(many_kernels)
{
	unsigned wrong[4] = { 0 };
	pthread_t t[4];

	for (unsigned i = 0; i < 64; i++)
		snprintf(names[i], sizeof(names[i]), "_Z2k%uv", i);
	for (unsigned i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, many, &wrong[i]);
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(t[i], NULL);
		ck_assert_uint_eq(wrong[i], 0);
	}
	ck_assert_str_eq(kernel_names_name((void *)4096, GROUP_DRIVER), "_Z2k0v");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("cuda_hooks");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, tables);
	tcase_add_test(tc, a_name_is_of_the_spool_that_there_is);
	tcase_add_test(tc, marks);
	tcase_add_test(tc, calls);
	tcase_add_test(tc, collectives);
	tcase_add_test(tc, is_told_once);
	tcase_add_test(tc, kernel_names);
	tcase_add_test(tc, many_kernels);
	return unit_run(tc, "cuda_hooks");
}
