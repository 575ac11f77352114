/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA and NCCL calls: windows that end within them, forks, stacks, tables. */
#include "agent/unwind/unwind.h"
#include "tests/unit/call_bench.h"
#include "tests/unit/call_real.h"

#include <sys/wait.h>
#include <unistd.h>

static int count_of(uint64_t comm, int *count)
{
	*count = 8;
	return comm ? 0 : 1;
}

static int cannot_say(uint64_t comm, int *rank)
{
	*rank = 3;
	return comm ? 4 : 0;
}

static const struct real_function real_functions[] = {
	{ "pncclCommCount", (void *)count_of },
	{ "ncclCommUserRank", (void *)cannot_say },
	{ NULL, NULL },
};

static uint32_t begin(const char *function, const char *kernel)
{
	int status;
	pid_t pid = fork(); /* in the middle of a call */

	(void)function, (void)kernel;
	if (!pid) {
		cuda_hooks_fork_child();
		_exit(cuda_hooks_inside() ? 9 : 7);
	}
	ck_assert(cuda_hooks_inside());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WEXITSTATUS(status), 7);
	return 0;
}

static uint32_t line(struct thread *t, uint32_t native)
{
	ck_assert_ptr_eq(t, thread_mine);
	return native ? 99 : 77;
}

static void setup(void)
{
	static const struct cuda_listener to = { .begin = begin,
						 .driver = cuda_hooks_driver,
						 .line = line };

	call_start(&to);
}

START_TEST(a_result_is_kept_in_its_own_window)
{
	struct cuda_frame f = frame("cudaMalloc");
	const struct rec_call *c;

	cuda_hooks_want(CUDA_WANT_TIMES);
	cuda_enter(&f);
	c = newest();
	ck_assert_int_eq(c->r.kind, REC_CALL);
	call_window(2);
	f.result[0] = 700;
	cuda_leave(&f);
	ck_assert_int_eq(c->result, 0);
	ck_assert_uint_eq(c->r.end, 0);
	f = frame("cudaMalloc");
	call(&f, 700);
	c = newest();
	ck_assert_int_eq(c->result, 700);
	ck_assert_uint_ge(c->r.end, c->r.begin);
}
END_TEST

/* What NVIDIA's libraries ask of the driver is a part of the call to them. */
START_TEST(a_call_within_a_call_is_not_recorded)
{
	struct cuda_frame f = frame("cuLaunchKernel");

	cuda_hooks_want(CUDA_WANT_TIMES);
	f.caller = &real_nvidia;
	call(&f, 0);
	ck_assert_ptr_null(newest());
	f = frame("cudaMalloc"); /* of the runtime: a call of that library's own */
	f.caller = &real_nvidia;
	call(&f, 0);
	ck_assert_ptr_nonnull(newest());
}
END_TEST

START_TEST(a_child_of_a_call_is_in_none)
{
	struct cuda_frame f = frame("cudaMalloc");

	cuda_hooks_want(CUDA_WANT_MARKS);
	call(&f, 0);
	ck_assert(!cuda_hooks_inside());
}
END_TEST

START_TEST(a_look_up_that_failed_gives_what_it_gave)
{
	struct cuda_frame f = frame("cuGetProcAddress");
	void *out = &f;

	cuda_armed = true;
	f.reg[0] = (uintptr_t) "cuLaunchKernel";
	f.reg[1] = (uintptr_t)&out;
	call(&f, 500);
	ck_assert_ptr_eq(out, &f);
	call(&f, 0);
	ck_assert_ptr_eq(out, cuda_entry_of(slot_of("cuLaunchKernel")));
}
END_TEST

START_TEST(a_launchs_stack_has_its_time)
{
	struct cuda_frame f = frame("cudaLaunchKernel");
	uint64_t before = clock_ticks();
	const struct record *r;

	unwind_start(64, false);
	cuda_hooks_want(CUDA_WANT_STACKS);
	call(&f, 0);
	r = newest();
	ck_assert_ptr_nonnull(r);
	ck_assert_int_eq(r->kind, REC_STACK);
	ck_assert_uint_ge(r->begin, before);
	ck_assert_uint_le(r->begin, clock_ticks());
	ck_assert_str_eq(text_of(r->name), "cudaLaunchKernel");
}
END_TEST

/* With the native stack, and where nobody wants that one. */
START_TEST(a_launch_is_asked_for_its_line)
{
	struct cuda_frame f = frame("cudaLaunchKernel");
	const struct rec_stack *s;

	unwind_start(64, false);
	cuda_hooks_want(_i ? CUDA_WANT_LINES : CUDA_WANT_LINES | CUDA_WANT_STACKS);
	call(&f, 0);
	s = newest();
	ck_assert_int_eq(s->r.kind, REC_STACK);
	ck_assert_uint_eq(s->stack, _i ? 77 : 99);
}
END_TEST

START_TEST(a_rank_that_cannot_be_had_is_not_made_up)
{
	struct cuda_frame f = frame("ncclAllReduce");
	const struct rec_collective *c;

	cuda_hooks_want(CUDA_WANT_COLLECTIVES);
	call(&f, 0);
	c = newest();
	ck_assert_int_eq(c->r.kind, REC_COLLECTIVE);
	ck_assert_int_eq(c->size, 8);
	ck_assert_int_eq(c->rank, -1);
}
END_TEST

/* Where NCCL's header has them: numbers of arguments, -1 = none. */
static const struct {
	const char *name;
	int count, type, peer, comm;
} collectives[] = {
	{ "ncclAllReduce", 2, 3, -1, 5 }, { "ncclReduce", 2, 3, 5, 6 },
	{ "ncclBroadcast", 2, 3, 4, 5 },  { "ncclBcast", 1, 2, 3, 4 },
	{ "ncclAllGather", 2, 3, -1, 4 }, { "ncclReduceScatter", 2, 3, -1, 5 },
	{ "ncclSend", 1, 2, 3, 4 },       { "ncclRecv", 1, 2, 3, 4 },
	{ "ncclAlltoAll", 2, 3, -1, 4 },  { "ncclGather", 2, 3, 4, 5 },
	{ "ncclScatter", 2, 3, 4, 5 },    { "ncclGroupEnd", -1, -1, -1, -1 },
};

static uint64_t argument(int number, uint64_t none)
{
	return number < 0 ? none : (uint64_t)(number + 1) * 10;
}

START_TEST(arguments_of_collectives_are_what_they_are)
{
	struct cuda_frame f = frame(collectives[_i].name);
	const struct rec_collective *c;

	cuda_hooks_want(CUDA_WANT_COLLECTIVES);
	call(&f, 0);
	c = newest();
	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->count, argument(collectives[_i].count, 0));
	ck_assert_int_eq(c->type, (int)argument(collectives[_i].type, (uint64_t)-1));
	ck_assert_int_eq(c->peer, (int)argument(collectives[_i].peer, (uint64_t)-1));
	ck_assert_uint_eq(c->comm, argument(collectives[_i].comm, 0));
}
END_TEST

/* ... and CUDA's: kernel, stream. */
static const struct {
	const char *name;
	int kernel, stream;
} launches[] = {
	{ "cuLaunchKernel", 0, 8 },
	{ "cuLaunchKernel_ptsz", 0, 8 },
	{ "cuLaunchCooperativeKernel", 0, 8 },
	{ "cuLaunchCooperativeKernel_ptsz", 0, 8 },
	{ "cudaLaunchKernel", 0, 7 },
	{ "cudaLaunchKernel_ptsz", 0, 7 },
	{ "__cudaLaunchKernel", 0, 7 },
	{ "__cudaLaunchKernel_ptsz", 0, 7 },
	{ "cudaLaunchCooperativeKernel", 0, 7 },
	{ "cudaLaunchCooperativeKernel_ptsz", 0, 7 },
};

START_TEST(arguments_of_launches_are_what_they_are)
{
	const struct cuda_function *fn = cuda_function_named(launches[_i].name);

	ck_assert_ptr_nonnull(fn);
	ck_assert_int_eq(fn->arg[0], launches[_i].kernel);
	ck_assert_int_eq(fn->arg[1], launches[_i].stream);
}
END_TEST

START_TEST(a_name_without_an_end_is_cut)
{
	static char name[20000];

	memset(name, 'x', sizeof(name) - 1);
	kernel_names_add((void *)16, name);
	ck_assert_uint_eq(strlen(kernel_names_name((void *)16, GROUP_CUDART)), 4096);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("cuda calls");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_result_is_kept_in_its_own_window);
	tcase_add_test(tc, a_call_within_a_call_is_not_recorded);
	tcase_add_test(tc, a_child_of_a_call_is_in_none);
	tcase_add_test(tc, a_look_up_that_failed_gives_what_it_gave);
	tcase_add_test(tc, a_launchs_stack_has_its_time);
	tcase_add_loop_test(tc, a_launch_is_asked_for_its_line, 0, 2);
	tcase_add_test(tc, a_rank_that_cannot_be_had_is_not_made_up);
	tcase_add_loop_test(tc, arguments_of_collectives_are_what_they_are, 0,
			    sizeof(collectives) / sizeof(*collectives));
	tcase_add_loop_test(tc, arguments_of_launches_are_what_they_are, 0,
			    sizeof(launches) / sizeof(*launches));
	tcase_add_test(tc, a_name_without_an_end_is_cut);
	return unit_run(tc, "cuda_calls");
}
