/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/job.h"
#include "agent/core/sys.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WEEK 604800000000000ll

static char dir[64];

static void make_page(void)
{
	strcpy(dir, "/tmp/unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(job_make(dir, 0), 0);
	ck_assert_int_eq(job_enlist(), 0);
}

/* A child that enlists with `torch`, has a child of its own, and says whose pid the
 * grandchild takes for its leader's. */
static uint32_t leader_below(enum job_torch torch, uint32_t *middle)
{
	uint32_t answer[2] = { 0, 0 };
	int fds[2], status;
	pid_t pid;

	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		job_forget();
		job_enlist();
		atomic_store(&job_mine->torch, torch);
		if (!fork()) {
			struct job_slot *s;

			job_forget();
			job_enlist();
			s = job_ancestor();
			answer[0] = s ? atomic_load(&s->pid) : 0;
			answer[1] = sys_parent(sys_pid());
			_exit(write(fds[1], answer, sizeof(answer)) != sizeof(answer));
		}
		wait(&status);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ck_assert_int_eq(read(fds[0], answer, sizeof(answer)), sizeof(answer));
	*middle = answer[1];
	return answer[0];
}

START_TEST(who_only_imports_torch_leads_nobody)
{
	uint32_t middle;

	make_page();
	atomic_store(&job_mine->torch, TORCH_USED);
	ck_assert_uint_eq(leader_below(TORCH_FOUND, &middle), sys_pid());
	ck_assert_uint_eq(leader_below(TORCH_USED, &middle), middle);
	atomic_store(&job_mine->torch, TORCH_FOUND);
	ck_assert_uint_eq(leader_below(TORCH_FOUND, &middle), middle);
	atomic_store(&job_mine->torch, TORCH_NONE);
	ck_assert_uint_eq(leader_below(TORCH_NONE, &middle), 0);
}
END_TEST

START_TEST(the_base_is_a_week_and_the_same_for_all)
{
	for (int64_t now = 1700000000123456789; now < 1700000000123456789 + 3 * WEEK;
	     now += WEEK / 7) {
		int64_t base = job_base_ns(now);

		ck_assert_int_eq(base % WEEK, 0);
		ck_assert_int_le(base, now);
		ck_assert_int_gt(base, now - WEEK);
	}
}
END_TEST

START_TEST(only_a_page_of_our_own_is_believed)
{
	char path[128];
	FILE *f;

	make_page();
	snprintf(path, sizeof(path), "%s/other.job", dir);
	f = fopen(path, "w");
	for (size_t i = 0; i < sizeof(struct job_page); i++)
		fputc(0, f);
	fclose(f);
	job = NULL;
	ck_assert_int_eq(job_join(path, NULL), -EINVAL);
	ck_assert_int_lt(job_join("/no/such/page", NULL), 0);
	ck_assert_int_eq(truncate(path, 10), 0);
	ck_assert_int_eq(job_join(path, NULL), -EPERM);
	ck_assert_int_eq(job_join(NULL, dir), 0);
}
END_TEST

START_TEST(who_made_the_page_removes_it)
{
	struct stat st;

	make_page();
	job_unmake();
	ck_assert_int_ne(stat(dir, &st), 0);
}
END_TEST

START_TEST(slots_of_the_dead_are_taken_again)
{
	make_page();
	for (unsigned i = 0; i < JOB_SLOTS; i++)
		if (&job->slot[i] != job_mine)
			atomic_store(&job->slot[i].pid, 0x7ffffff0);
	job_forget();
	ck_assert_int_eq(job_enlist(), 0);
	ck_assert_uint_eq(atomic_load(&job_mine->pid), sys_pid());
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("core job");

	tcase_add_test(tc, who_only_imports_torch_leads_nobody);
	tcase_add_test(tc, the_base_is_a_week_and_the_same_for_all);
	tcase_add_test(tc, only_a_page_of_our_own_is_believed);
	tcase_add_test(tc, who_made_the_page_removes_it);
	tcase_add_test(tc, slots_of_the_dead_are_taken_again);
	return unit_run(tc, "core job");
}
