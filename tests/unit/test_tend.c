/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's own end: it waits for its finisher, but not for ever. */
#include "agent/core/hold.h"
#include "agent/core/job.h"
#include "base/sys.h"
#include "finisher/page.h"
#include "launcher/closing.h"
#include "launcher/tend.h"
#include "tests/unit/said.h"
#include "tests/unit/spool_recover.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* How far ahead of the others' this program's clock is. */
static time_t ahead;

int clock_gettime(clockid_t id, struct timespec *t)
{
	long err = syscall(SYS_clock_gettime, id, t);

	t->tv_sec += ahead;
	return (int)err;
}

static struct {
	struct spool_image *m;
	struct config config;
	char jobs[160], page[256], said[8192];
	pid_t finisher;
} bench;

static void bench_start(bool linger)
{
	config_defaults(&bench.config);
	bench.m = image_new(1000, 100000);
	image_thread(bench.m, 7, 1, "main");
	image_op(bench.m, "a", 2000, 3000);
	bench.config = bench.m->config;
	bench.config.linger = linger;
	fmt(bench.jobs, sizeof(bench.jobs), "%s/jobs", bench.m->dir);
	ck_assert_int_eq(job_make(bench.jobs, (uint32_t)getpid()), 0);
	fmt(bench.page, sizeof(bench.page), "%s/" JOB_PAGE, job_folder());
	ck_assert(tend_start(&(struct tend){ .config = &bench.config,
					     .dir = job_folder(),
					     .page = bench.page,
					     .job = job->id }));
}

/* What a process that is gone has left. */
static void leave_spool(unsigned number)
{
	char path[512], made[512];
	int fd;

	config_print(&bench.config, bench.m->head->config, SPOOL_CONFIG);
	bench.m->head->pid = 4242 + number;
	bench.m->info->stamp_ns++;
	fmt(made, sizeof(made), "%s/%u.new", job_folder(), 4242 + number);
	fd = open(made, O_WRONLY | O_CREAT | O_EXCL, 0600);
	ck_assert_int_eq(write(fd, bench.m->base, bench.m->head->used),
			 (ssize_t)bench.m->head->used);
	close(fd);
	/* Whole at once: a finisher takes one without a header and a lock for nothing. */
	fmt(path, sizeof(path), "%s/n_%u.1.1.spool", job_folder(), 4242 + number);
	ck_assert_int_eq(rename(made, path), 0);
}

/* Our one child, when it is a finisher. */
static void await_finisher(void)
{
	char path[64], text[64] = "";

	fmt(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	while (!bench.finisher) {
		tend_others.tick();
		if (sys_read_file(path, text, sizeof(text)) > 0)
			bench.finisher = atoi(text);
	}
	fmt(path, sizeof(path), "/proc/%d/comm", bench.finisher);
	while (sys_read_file(path, text, sizeof(text)) > 0 &&
	       strcmp(text, "proflaunch-fin\n"))
		usleep(1000);
}

#define AHEAD (1 << 20)

/* The first of them: with more room than it used, or not any more. */
static blkcnt_t blocks_of_first(bool fill)
{
	char path[512];
	struct stat st;
	int fd;

	fmt(path, sizeof(path), "%s/n_4242.1.1.spool", job_folder());
	fd = open(path, O_RDWR);
	ck_assert_int_ge(fd, 0);
	if (fill)
		ck_assert_int_eq(posix_fallocate(fd, 0, AHEAD), 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	close(fd);
	return st.st_blocks * 512;
}

/* What the launcher tells its user. */
static void say(const struct totals *t)
{
	int old = dup(2), fd = memfd_create("said", MFD_CLOEXEC);
	ssize_t n;

	dup2(fd, 2);
	closing_say(&(struct closing){ .config = &bench.config,
				       .totals = t,
				       .spool_dir = job_folder(),
				       .seconds = 1 });
	dup2(old, 2);
	n = pread(fd, bench.said, sizeof(bench.said) - 1, 0);
	bench.said[n > 0 ? n : 0] = '\0';
	close(fd);
	close(old);
}

START_TEST(one_that_does_not_answer_is_not_waited_for)
{
	const struct totals *t;
	char text[256];

	bench_start(_i);
	await_finisher();
	ck_assert_int_eq(kill(bench.finisher, SIGSTOP), 0);
	for (unsigned i = 0; i < 3; i++)
		leave_spool(i);
	ck_assert_int_ge(blocks_of_first(true), AHEAD);
	tend_most_ns = 100000000;
	t = tend_end();
	ck_assert_uint_eq(t->failed, 3);
	ck_assert_int_ne(kill(bench.finisher, 0), 0); /* nobody writes there any more */
	ck_assert_uint_eq(atomic_load(&job->launcher), 0);
	ck_assert_int_lt(blocks_of_first(false), AHEAD);
	say(t);
	ck_assert_ptr_nonnull(
		strstr(bench.said, "the records of 3 processes could not be finished"));
	fmt(text, sizeof(text), "they lie in %s: proflaunch recover %s", job_folder(),
	    bench.config.logdir);
	ck_assert_ptr_nonnull(strstr(bench.said, text));
	ck_assert_ptr_null(strstr(bench.said, "nothing was recorded"));
	image_free(bench.m);
}
END_TEST

/* In no folder: whoever is asked later finds nothing. */
START_TEST(what_lay_in_memory_alone_is_lost)
{
	const struct totals *t;
	int fd;

	bench_start(true);
	await_finisher();
	ck_assert_int_eq(kill(bench.finisher, SIGSTOP), 0);
	fd = image_file(bench.m);
	ck_assert_int_eq(hold_send(job->id, fd), 0);
	close(fd);
	tend_most_ns = 100000000;
	t = tend_end();
	ck_assert_uint_eq(t->failed, 0);
	ck_assert_uint_eq(t->lost, 1);
	say(t);
	ck_assert_ptr_nonnull(
		strstr(bench.said, "the records of 1 process lay in memory"));
	image_free(bench.m);
}
END_TEST

/* What cannot be finished, and lies nowhere, is nothing that a page is kept for. */
START_TEST(a_page_is_not_kept_for_memory)
{
	struct stat st;
	int fd;

	bench_start(true);
	await_finisher();
	bench.m->head->version++;
	fd = image_file(bench.m);
	ck_assert_int_eq(hold_send(job->id, fd), 0);
	close(fd);
	ck_assert_uint_eq(tend_end()->lost, 1);
	while (!stat(bench.page, &st))
		usleep(10000);
	image_free(bench.m);
}
END_TEST

START_TEST(one_that_is_busy_goes_on_alone)
{
	char text[4096];
	struct stat st;

	bench_start(true);
	await_finisher();
	for (unsigned i = 0; i < 30; i++)
		leave_spool(i);
	tend_most_ns = 0;
	ck_assert_uint_eq(tend_end()->failed, 0);
	/* It is no child that we ask for: the folder goes when it has done all. */
	while (!stat(bench.page, &st))
		usleep(10000);
	fmt(text, sizeof(text), "test $(ls '%s' | grep -c trace.json) = 30",
	    bench.config.logdir);
	ck_assert_int_eq(system(text), 0);
	image_free(bench.m);
}
END_TEST

START_TEST(one_that_shall_not_linger_leaves_the_rest)
{
	struct page page;

	bench_start(false);
	await_finisher();
	kill(bench.finisher, SIGSTOP); /* so that it has not done all of them by then */
	for (unsigned i = 0; i < 2000; i++)
		leave_spool(i);
	kill(bench.finisher, SIGCONT);
	tend_most_ns = 0;
	tend_end();
	/* Who calls recover now finds nobody there. */
	ck_assert_int_eq(page_open(&page, bench.page, JOB_LOCK_FINISHER, 0), 0);
	ck_assert_int_eq(access(bench.page, F_OK), 0);
	ck_assert_uint_eq(atomic_load(&job->launcher), 0);
	image_free(bench.m);
}
END_TEST

START_TEST(a_folder_that_is_gone_ends_it)
{
	char command[256];
	int status;

	bench_start(true);
	fmt(command, sizeof(command), "rm -r '%s'", bench.jobs);
	ck_assert_int_eq(system(command), 0);
	await_finisher();
	ck_assert_int_eq(waitpid(bench.finisher, &status, 0), bench.finisher);
	tend_others.ended(bench.finisher, status);
	usleep(1100000); /* when the next one would come: it would say the same again */
	tend_others.tick();
	ck_assert_int_eq(wait(NULL), -1);
	ck_assert_uint_eq(tend_end()->failed, 0);
	image_free(bench.m);
}
END_TEST

/* On a disk that does not answer: what it was doing is left, or begun anew. */
START_TEST(one_that_hangs_is_ended)
{
	int status = 0;

	bench_start(true);
	await_finisher();
	ck_assert_int_eq(kill(bench.finisher, SIGSTOP), 0);
	ck_assert_int_eq(waitpid(bench.finisher, &status, WUNTRACED), bench.finisher);
	tend_others.tick(); /* its last sign of life */
	ahead = 50;
	tend_others.tick();
	ck_assert_int_eq(waitpid(bench.finisher, &status, WNOHANG), 0);
	ahead = 61;
	tend_others.tick();
	ck_assert_int_eq(waitpid(bench.finisher, &status, 0), bench.finisher);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	image_free(bench.m);
}
END_TEST

static bool there_is_one(void)
{
	char path[64], text[64] = "";

	tend_others.tick();
	fmt(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	return sys_read_file(path, text, sizeof(text)) > 0;
}

/* Each costs the program pages of its own code, where the control group is full. */
START_TEST(the_next_one_is_put_off_where_memory_is_short)
{
	bool is_short = _i;
	int status = 0;

	bench_start(true);
	await_finisher();
	job->memory = is_short ? 64 << 20 : UINT64_MAX;
	ck_assert_int_eq(kill(bench.finisher, SIGKILL), 0);
	ck_assert_int_eq(waitpid(bench.finisher, &status, 0), bench.finisher);
	tend_others.ended(bench.finisher, status);
	ahead = 20;
	ck_assert_int_eq(there_is_one(), !is_short);
	ahead = 31;
	ck_assert(there_is_one());
	tend_end();
	image_free(bench.m);
}
END_TEST

/* A name in a line may be anybody's. */
START_TEST(a_finishers_line_does_not_take_the_terminal_over)
{
	const char line[] = "name \033[31mred\a\0of a spool\n", *told;
	char path[64];
	int fd;

	bench_start(true);
	await_finisher();
	fmt(path, sizeof(path), "/proc/%d/fd/2", bench.finisher);
	fd = open(path, O_WRONLY);
	ck_assert_int_eq(write(fd, line, sizeof(line) - 1), sizeof(line) - 1);
	close(fd);
	said_start();
	tend_end();
	told = said();
	ck_assert_msg(strstr(told, "[31mred") != NULL, "%s", told);
	ck_assert_ptr_nonnull(strstr(told, "of a spool\n"));
	ck_assert_ptr_null(strpbrk(told, "\033\a"));
	image_free(bench.m);
}
END_TEST

START_TEST(what_is_late_is_said)
{
	static struct totals t = { .late = 1234 };
	char text[256];

	bench_start(_i);
	say(&t);
	ck_assert_ptr_nonnull(strstr(bench.said, "the records of 1,234 processes"));
	fmt(text, sizeof(text), "they lie in %s", job_folder());
	ck_assert_ptr_nonnull(strstr(bench.said, text));
	fmt(text, sizeof(text), "proflaunch recover %s", bench.config.logdir);
	ck_assert_ptr_nonnull(strstr(bench.said, text));
	ck_assert_int_eq(!!strstr(bench.said, "in the background"), _i);
	ck_assert_ptr_null(strstr(bench.said, "nothing was recorded"));
	image_free(bench.m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("tend");

	tcase_add_loop_test(tc, one_that_does_not_answer_is_not_waited_for, 0, 2);
	tcase_add_test(tc, what_lay_in_memory_alone_is_lost);
	tcase_add_test(tc, a_page_is_not_kept_for_memory);
	tcase_add_test(tc, one_that_is_busy_goes_on_alone);
	tcase_add_test(tc, one_that_shall_not_linger_leaves_the_rest);
	tcase_add_test(tc, a_folder_that_is_gone_ends_it);
	tcase_add_test(tc, one_that_hangs_is_ended);
	tcase_add_loop_test(tc, the_next_one_is_put_off_where_memory_is_short, 0, 2);
	tcase_add_test(tc, a_finishers_line_does_not_take_the_terminal_over);
	tcase_add_loop_test(tc, what_is_late_is_said, 0, 2);
	return unit_run(tc, "tend");
}
