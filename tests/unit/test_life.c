/* SPDX-License-Identifier: Apache-2.0 */
/* Is a process there, and for how long? */
#include "base/sys.h"
#include "finisher/life.h"
#include "tests/unit/dying.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

START_TEST(one_that_was_killed_ends)
{
	pid_t pid;

	ck_assert(!life_ends(0));
	ck_assert(!life_ends((uint32_t)getpid()));
	pid = fork();
	if (!pid)
		pause();
	ck_assert(!life_ends((uint32_t)pid));
	if (!dying_stop(pid))
		return;
	ck_assert(life_ends((uint32_t)pid));
	dying_end(pid);
	ck_assert(!life_ends((uint32_t)pid));
}
END_TEST

/* What waits for a process that has blocked it is no end. */
START_TEST(another_signal_is_no_end)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int sig = 1; sig < 32; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			ck_assert_int_eq(kill(getpid(), sig), 0);
	ck_assert(!life_ends((uint32_t)getpid()));
}
END_TEST

/* Its parent may not ask for a long time. */
START_TEST(who_was_not_waited_for_is_gone)
{
	struct life_who who = { .name = "x" };
	siginfo_t info;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	who.pid = (uint32_t)pid;
	who.start = sys_start_time(who.pid);
	ck_assert_uint_ne(who.start, 0);
	ck_assert_int_eq(life_look(&who), LIFE_GONE);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

static struct life_who own_who(void)
{
	uint32_t pid = (uint32_t)getpid();

	return (struct life_who){ .name = "", .pid = pid, .start = sys_start_time(pid) };
}

START_TEST(the_end_of_a_name_is_another_name)
{
	struct life_who who = own_who();
	char path[] = "/tmp/life-XXXXXX";
	int fd = mkstemp(path);
	void *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	ck_assert_ptr_ne(map, MAP_FAILED);
	who.name = strrchr(path, '/') + 1;
	ck_assert_int_eq(life_look(&who), LIFE_HERE);
	who.name++;
	ck_assert_int_eq(life_look(&who), LIFE_GONE);
	who.name = path + 1; /* with its folder */
	ck_assert_int_eq(life_look(&who), LIFE_HERE);
	munmap(map, 4096);
	close(fd);
	unlink(path);
}
END_TEST

/* A finisher of thousands of processes has no descriptor to look with. */
START_TEST(who_cannot_be_looked_at_lives)
{
	struct life_who who = own_who();
	struct rlimit limit, none = { 0, 0 };

	ck_assert_int_eq(life_look(&who), LIFE_GONE); /* nothing is mapped */
	getrlimit(RLIMIT_NOFILE, &limit);
	none.rlim_max = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &none);
	ck_assert_int_eq(life_look(&who), LIFE_UNSEEN);
	setrlimit(RLIMIT_NOFILE, &limit);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("life");

	tcase_add_test(tc, the_end_of_a_name_is_another_name);
	tcase_add_test(tc, who_cannot_be_looked_at_lives);
	tcase_add_test(tc, who_was_not_waited_for_is_gone);
	tcase_add_test(tc, one_that_was_killed_ends);
	tcase_add_test(tc, another_signal_is_no_end);
	return unit_run(tc, "life");
}
