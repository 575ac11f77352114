/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/clock.h"
#include "agent/core/gate.h"
#include "agent/core/names.h"
#include "agent/core/record_cuda.h"
#include "agent/core/spool.h"
#include "agent/core/thread.h"
#include "agent/hooks/cuda_parts.h"
#include "agent/hooks/look.h"
#include "tests/unit/unit.h"

#include <errno.h>
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
	static const struct cuda_listener to = { begin, end, is_ready };
	uint64_t at;

	hook_look_dlsym(NULL, NULL);
	clock_start();
	ck_assert_int_eq(gate_start(), 0);
	ck_assert_int_eq(thread_start(), 0);
	ck_assert_int_eq(spool_open(NULL, 4 << 20), 0);
	clock_begin(spool.head);
	ck_assert_int_eq(spool_prepare(4 << 20), 0);
	at = chunk_take(CHUNK_CYCLE, sizeof(struct chunk) + sizeof(struct cycle_info), 1);
	memset(chunk_at(at) + 1, 0, sizeof(struct cycle_info));
	gate_set(1, at);
	cuda_hooks_start(&to);
}

static uint32_t slot_of(const char *name)
{
	const struct cuda_function *fn = cuda_function_named(name);

	ck_assert_msg(fn != NULL, "%s is in no table", name);
	return (uint32_t)(fn - cuda_functions);
}

static uint64_t stack[8] = { 70, 80, 90 };

static struct cuda_frame frame(const char *name)
{
	struct cuda_frame f = { .slot = slot_of(name),
				.stack = stack,
				.caller = (void *)frame };

	for (unsigned i = 0; i < 6; i++)
		f.reg[i] = 10 * (i + 1);
	return f;
}

static void call(struct cuda_frame *f, int result)
{
	errno = 3;
	cuda_enter(f);
	ck_assert_int_eq(errno, 3);
	ck_assert_ptr_nonnull(f->real);
	ck_assert_uint_eq(f->stack_bytes % 16, 0);
	f->result[0] = (uint32_t)result;
	errno = 4;
	cuda_leave(f);
	ck_assert_int_eq(errno, 4);
}

/* The newest record of this thread's chunk. */
static const void *newest(void)
{
	const struct chunk *c = thread_mine ? thread_mine->chunk : NULL;
	const struct record *last = NULL;

	for (uint32_t at = sizeof(*c); c && at < atomic_load(&c->used);) {
		last = (const struct record *)((const char *)c + at);
		at += last->units * 8u;
	}
	return last;
}

static const char *text_of(uint32_t id)
{
	return ((const struct name *)(spool.base + (uint64_t)id * 8))->text;
}

START_TEST(tables)
{
	ck_assert_ptr_null(cuda_function_named("cudaGetDevice"));
	ck_assert_ptr_null(cuda_function_named("c"));
	ck_assert_ptr_null(cuda_function_named(""));
	for (unsigned i = 0; i < cuda_function_count; i++) {
		const struct cuda_function *fn = &cuda_functions[i];

		ck_assert_ptr_eq(cuda_function_named(fn->name), fn);
		if (cuda_is_kernel(fn))
			ck_assert(fn->arg[0] == 0 || fn->arg[0] == 1);
	}
	ck_assert_uint_gt(cuda_function_count, 150);
}
END_TEST

START_TEST(marks)
{
	struct cuda_frame f = frame("cudaLaunchKernel");

	cuda_hooks_want(0);
	call(&f, 0);
	ck_assert_uint_eq(begun, 0);
	cuda_hooks_want(CUDA_WANT_MARKS);
	kernels_add((void *)10, "_Z1av");
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

	ck_assert_ptr_null(kernels_name(NULL, GROUP_CUDART));
	ck_assert_ptr_null(kernels_name((void *)8, GROUP_CUDART));
	/* Read at the first use, kept from then on. */
	kernels_add((void *)16, name);
	ck_assert_str_eq(kernels_name((void *)16, GROUP_CUDART), "_Z4gonev");
	name[2] = '5';
	ck_assert_str_eq(kernels_name((void *)16, GROUP_CUDART), "_Z4gonev");
	kernels_same(&handle, (void *)16);
	ck_assert_str_eq(kernels_name(&handle, GROUP_DRIVER), "_Z4gonev");
	/* Loaded again, with another name. */
	kernels_add((void *)16, name);
	ck_assert_str_eq(kernels_name((void *)16, GROUP_CUDART), "_Z5gonev");
	kernels_put((void *)16, "_Z3newv");
	ck_assert_str_eq(kernels_name((void *)16, GROUP_CUDART), "_Z3newv");
	/* Its library is gone; or the name runs into what is not mapped. */
	strcpy(page + 100, "_Z1cv");
	kernels_add((void *)24, page + 100);
	kernels_add((void *)32, page + 100);
	memset(page + 4000, 'x', 96);
	kernels_add((void *)40, page + 4000);
	ck_assert_str_eq(kernels_name((void *)24, GROUP_CUDART), "_Z1cv");
	munmap(page + 4096, 4096);
	ck_assert_ptr_null(kernels_name((void *)40, GROUP_CUDART));
	munmap(page, 4096);
	ck_assert_str_eq(kernels_name((void *)24, GROUP_CUDART), "_Z1cv");
	ck_assert_ptr_null(kernels_name((void *)32, GROUP_CUDART));
}
END_TEST

static char names[64][16];

static void *many(void *arg)
{
	for (uintptr_t i = 0; i < 200000; i++)
		kernels_add((void *)(4096 + i * 16), names[i % 64]);
	for (uintptr_t i = 0; i < 20000; i++) {
		const char *name = kernels_name((void *)(4096 + i * 16), GROUP_DRIVER);

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
	ck_assert_str_eq(kernels_name((void *)4096, GROUP_DRIVER), "_Z2k0v");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("cuda_hooks");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, tables);
	tcase_add_test(tc, marks);
	tcase_add_test(tc, calls);
	tcase_add_test(tc, collectives);
	tcase_add_test(tc, is_told_once);
	tcase_add_test(tc, kernel_names);
	tcase_add_test(tc, many_kernels);
	return unit_run(tc, "cuda_hooks");
}
