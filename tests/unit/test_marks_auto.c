/* SPDX-License-Identifier: Apache-2.0 */
/* What `auto` is told of optimizers that show no step. */
#include "tests/unit/sched_bench.h"

#include <sys/wait.h>
#include <unistd.h>

static unsigned steps_of(const char *usage, unsigned micro)
{
	start("active=9", "auto");
	if (usage)
		sched_usage(usage);
	for (unsigned i = 0; i < micro; i++) {
		annotation(NEXT);
		sched_backward();
	}
	return (unsigned)atomic_load(&spool.head->sched.boundaries);
}

/* An optimizer that was made is waited for; not so long where it may be compiled. */
START_TEST(what_libtorch_says_of_its_use_is_heard)
{
	static const struct {
		const char *usage;
		bool steps;
	} rows[] = { { "python.optimizer", false },
		     { "python.optimizers", true },
		     { "python.opt", true },
		     { NULL, true } };

	ck_assert_int_eq(steps_of(rows[_i].usage, 200) > 0, rows[_i].steps);
	sched_usage("torch.compile");
	for (unsigned i = 0; i < 200; i++) {
		annotation(NEXT);
		sched_backward();
	}
	ck_assert_uint_gt(atomic_load(&spool.head->sched.boundaries), 100);
}
END_TEST

/* A compiled optimizer's turns are those of zero_grad. */
START_TEST(zero_grad_shows_turns)
{
	start("active=9", "auto");
	for (unsigned i = 0; i < 50; i++) {
		annotation("Optimizer.zero_grad#SGD.zero_grad");
		sched_backward();
		sched_backward();
	}
	ck_assert_uint_eq(atomic_load(&spool.head->sched.boundaries), 50 - 32 + 1);
}
END_TEST

/* libtorch says it once in a process, and not again in its children. */
START_TEST(a_child_knows_of_torch_compile)
{
	int status;

	start("active=9", "auto");
	sched_usage("torch.compile");
	if (!fork()) {
		gate_set(0, 0);
		sched_fork_child();
		sched_usage("python.optimizer");
		for (unsigned i = 0; i < 200; i++) {
			annotation(NEXT);
			sched_backward();
		}
		_exit(atomic_load(&spool.head->sched.boundaries) < 100);
	}
	wait(&status);
	ck_assert_int_eq(status, 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("marks auto");

	tcase_add_loop_test(tc, what_libtorch_says_of_its_use_is_heard, 0, 4);
	tcase_add_test(tc, zero_grad_shows_turns);
	tcase_add_test(tc, a_child_knows_of_torch_compile);
	return unit_run(tc, "marks auto");
}
