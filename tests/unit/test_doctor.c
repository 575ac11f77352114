/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor asks, and how it lives through the answers. */
#include "launcher/doctor/ask_gpu.h"
#include "launcher/doctor/probe.h"
/* The agent has a function of that name. */
#include "launcher/doctor/find_cupti.c"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- a driver that hangs, or dies ---- */

static int signal_of_driver; /* 0 = none: it hangs */

void *dlopen(const char *name, int flags)
{
	(void)flags;
	if (name && strstr(name, "libcuda")) {
		raise(signal_of_driver);
		while (!signal_of_driver)
			pause();
	}
	return NULL;
}

START_TEST(a_driver_that_hangs_is_told)
{
	struct ask_gpu a = { 0 };

	ask_gpu(&a, 0);
	ck_assert_int_eq(a.end, ASK_HUNG);
	ck_assert_int_eq(a.stage, ASK_OPEN_DRIVER);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

START_TEST(a_driver_that_dies_is_told)
{
	struct ask_gpu a = { 0 };

	signal_of_driver = SIGSEGV;
	ask_gpu(&a, 60);
	ck_assert_int_eq(a.end, ASK_DIED);
	ck_assert_int_eq(a.signal, SIGSEGV);
}
END_TEST

/* ---- which CUPTI ---- */

static void expect_majors(const struct ask_gpu *a, const char *want)
{
	char text[128] = "";

	for (unsigned i = 0; i < ASK_MAJORS && a->majors[i]; i++)
		sprintf(text + strlen(text), " %d", a->majors[i]);
	ck_assert_str_eq(text, want);
}

START_TEST(of_several_runtimes_the_newest_first)
{
	static const char *const mapped[] = {
		"/a/libcudart.so.11\n/b/libcudart.so.13\n/c/libcudart.so.12\n",
		"/c/libcudart.so.12\n/b/libcudart.so.13\n/a/libcudart.so.11\n",
		"/b/libcudart.so.13\n/c/libcudart.so.12\n/a/libcudart.so.11\n"
		"/b/libcudart.so.13\n",
	};
	struct ask_gpu a = { 0 };

	ck_assert_int_eq(find_cupti(&a, "/nowhere/program", mapped[_i]), 13);
	expect_majors(&a, " 13 12 11");
	ck_assert_str_eq(a.cupti, "");
	ck_assert(!a.by_driver);
}
END_TEST

START_TEST(more_runtimes_than_there_is_room_for)
{
	struct ask_gpu a = { 0 };
	char mapped[1024];
	size_t n = 0;

	for (unsigned i = 0; i < 30; i++)
		n += (size_t)sprintf(mapped + n, "/no/such/%02u/libcudart.so.12\n", i);
	ck_assert_int_eq(find_cupti(&a, "/nowhere/program", mapped), 12);
	expect_majors(&a, " 12 12 12 12 12 12 12 12");
}
END_TEST

/* A name without a number fits each runtime: it is not opened to be asked. */
START_TEST(a_cupti_without_a_number_is_taken)
{
	struct ask_gpu a = { 0 };

	ck_assert_int_eq(
		find_cupti(&a, "/nowhere/program",
			   "/a/libcudart.so.12\n/b/libcupti.so.11\n/c/libcupti.so\n"),
		12);
	ck_assert_str_eq(a.cupti, "/c/libcupti.so");
}
END_TEST

/* ---- a program that prints much ---- */

#define OUTPUT (512 << 10) /* behind a struct probe nothing is mapped for so long */

START_TEST(output_that_does_not_fit_is_cut)
{
	size_t size = (sizeof(struct probe) + 4095) & ~4095ul;
	char *map = mmap(NULL, size + 2 * OUTPUT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	struct probe *p = (struct probe *)(map + size) - 1;
	char *argv[] = { "/bin/sh", "-c", "head -c 524288 /dev/zero | tr '\\0' x; exit 3",
			 NULL };

	ck_assert_ptr_ne(map, MAP_FAILED);
	ck_assert_int_eq(mprotect(map, size, PROT_READ | PROT_WRITE), 0);
	ck_assert_int_eq(probe_run(p, argv, "", 60), 0);
	ck_assert(WIFEXITED(p->status));
	ck_assert_int_eq(WEXITSTATUS(p->status), 3);
	ck_assert_uint_eq(strspn(p->out, "x"), sizeof(p->out) - 1);
	ck_assert(!p->spooled);
}
END_TEST

/* ---- a program that does not end ---- */

static const char *const hangs[] = { "echo here; exec sleep 1000",
				     "echo here; exec sleep 1000 > /dev/null 2>&1",
				     "echo here; sleep 2 & exec sleep 1000" };

START_TEST(a_program_that_hangs_is_killed)
{
	static struct probe p;
	char *argv[] = { "/bin/sh", "-c", (char *)hangs[_i], NULL };

	ck_assert_int_eq(probe_run(&p, argv, "", 0), 0);
	ck_assert(p.silent);
	ck_assert(WIFSIGNALED(p.status));
	ck_assert_int_eq(WTERMSIG(p.status), SIGKILL);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

/* It has ended; what it started goes on, and holds the pipe. */
START_TEST(what_it_started_is_not_waited_for)
{
	static struct probe p;
	char *argv[] = { "/bin/sh", "-c", "echo here; sleep 5 & exit 3", NULL };
	struct timespec before, after;

	clock_gettime(CLOCK_MONOTONIC, &before);
	ck_assert_int_eq(probe_run(&p, argv, "", 1000), 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	ck_assert(!p.silent);
	ck_assert_int_eq(WEXITSTATUS(p.status), 3);
	ck_assert_str_eq(p.out, "here\n");
	ck_assert_int_lt(after.tv_sec - before.tv_sec, 5);
}
END_TEST

static bool is_there(const char *path)
{
	FILE *f = fopen(path, "r");
	int pid = 0;

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%d", &pid), 1);
	fclose(f);
	unlink(path);
	for (unsigned naps = 0; naps < 500 && !kill(pid, 0); naps++)
		usleep(10000);
	return !kill(pid, 0);
}

/* It prints on and on, too. */
START_TEST(what_it_started_is_ended_with_it)
{
	static struct probe p;
	char path[] = "/tmp/proflaunch_hang_XXXXXX", command[256];
	char *argv[] = { "/bin/sh", "-c", command, NULL };

	close(mkstemp(path));
	snprintf(command, sizeof(command), "sleep 1000 & echo $! > %s; exec yes more",
		 path);
	ck_assert_int_eq(probe_run(&p, argv, "", 5), 0);
	ck_assert(p.silent);
	ck_assert(!strncmp(p.out, "more\n", 5));
	ck_assert(!is_there(path));
}
END_TEST

/* Who is to blame. */
START_TEST(a_program_that_fails_without_us_too)
{
	static const struct {
		const char *command;
		bool fails;
	} rows[] = { { "exit 0", false },
		     { "exit 3", false },
		     { "kill -ABRT $$", true },
		     { "exec sleep 1000", true } };
	char *argv[] = { "/bin/sh", "-c", (char *)rows[_i].command, NULL };
	unsigned seconds = strstr(rows[_i].command, "sleep") ? 0 : 60;

	ck_assert_int_eq(probe_fails_bare(argv, seconds), rows[_i].fails);
}
END_TEST

/* TMPDIR is tried first. */
START_TEST(a_folder_that_cannot_be_written_is_passed_over)
{
	static struct probe p;
	char *argv[] = { "/bin/sh", "-c", "exit 3", NULL };

	setenv("TMPDIR", "/proc", 1);
	ck_assert_int_eq(probe_run(&p, argv, "", 60), 0);
	ck_assert(!p.silent);
	ck_assert_int_eq(WEXITSTATUS(p.status), 3);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("doctor");

	tcase_add_test(tc, a_driver_that_hangs_is_told);
	tcase_add_test(tc, a_driver_that_dies_is_told);
	tcase_add_loop_test(tc, of_several_runtimes_the_newest_first, 0, 3);
	tcase_add_test(tc, more_runtimes_than_there_is_room_for);
	tcase_add_test(tc, a_cupti_without_a_number_is_taken);
	tcase_add_test(tc, output_that_does_not_fit_is_cut);
	tcase_add_loop_test(tc, a_program_that_hangs_is_killed, 0,
			    (int)(sizeof(hangs) / sizeof(*hangs)));
	tcase_add_test(tc, what_it_started_is_not_waited_for);
	tcase_add_test(tc, what_it_started_is_ended_with_it);
	tcase_add_loop_test(tc, a_program_that_fails_without_us_too, 0, 4);
	tcase_add_test(tc, a_folder_that_cannot_be_written_is_passed_over);
	return unit_run(tc, "doctor");
}
