/* SPDX-License-Identifier: Apache-2.0 */
/* What a finisher makes of the end of the one before it, and of its launcher's. */
#include "finisher/finish.c"
#include "tests/unit/said.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

static unsigned lingered;

void apart_start(const struct finish *f)
{
	(void)f;
}

void apart_give_way(void)
{
}

bool apart_share(pid_t pid, bool whole)
{
	(void)pid;
	return whole;
}

void apart_linger(const struct finish *f)
{
	(void)f;
	lingered++;
}

static struct config config;
static struct finish finish = { .config = &config, .dir = "/jobs/one" };

static void begin(void)
{
	finish.shared = shared_make();
	ck_assert_ptr_nonnull(finish.shared);
	finish.launcher = getppid();
	me.f = &finish;
	me.all.shared = finish.shared;
	said_start();
}

static void end(void)
{
	said();
	munmap(finish.shared, sizeof(*finish.shared));
}

/* A finisher was ended by that signal while it wrote a window of the spool. */
static bool is_left_after(uint32_t sig, const char *name, uint64_t key)
{
	struct shared *s = finish.shared;

	atomic_store(&s->now.on, 1);
	atomic_store(&s->died, sig);
	snprintf(s->now.spool, sizeof(s->now.spool), "%s", name);
	s->now.key = key;
	look_back();
	ck_assert_uint_eq(atomic_load(&s->now.on), 0);
	ck_assert_uint_eq(atomic_load(&s->died), 0);
	return shared_is_done(s, name, SHARED_WHOLE - 1);
}

/* Whoever reads it dies: it is not read again. */
START_TEST(what_kills_is_left_at_once)
{
	ck_assert(is_left_after(SIGSEGV, "1.2.3.spool", 7));
	ck_assert_uint_eq(finish.shared->totals.failed, 1);
	ck_assert(is_left_after(UINT32_MAX, "2.2.3.spool", 8)); /* a hang */
	ck_assert_uint_eq(finish.shared->totals.failed, 2);
}
END_TEST

START_TEST(who_is_killed_from_outside_is_followed_by_others)
{
	uint32_t sig = _i ? SIGTERM : SIGKILL;

	for (unsigned i = 1; i < KILLS; i++)
		ck_assert(!is_left_after(sig, "1.2.3.spool", 7));
	ck_assert(is_left_after(sig, "1.2.3.spool", 7));
}
END_TEST

/* Kills count for the window in which they came. */
START_TEST(kills_in_several_windows_are_chance)
{
	for (unsigned i = 0; i < 10 * KILLS; i++)
		ck_assert(!is_left_after(SIGKILL, i % 2 ? "1.2.3.spool" : "2.2.3.spool",
					 i % 2 ? 7 : 8));
	ck_assert_uint_eq(finish.shared->totals.failed, 0);
}
END_TEST

START_TEST(without_its_launcher_it_goes_on_alone)
{
	look_at_launcher();
	ck_assert_uint_eq(lingered, 0);
	ck_assert(!atomic_load(&me.alone));
	finish.launcher = getpid(); /* nobody's parent here */
	if (_i)
		atomic_store(&finish.shared->phase, PHASE_END);
	look_at_launcher();
	look_at_launcher();
	ck_assert_uint_eq(lingered, 1);
	ck_assert(atomic_load(&me.alone));
	ck_assert_uint_eq(atomic_load(&finish.shared->answer), PHASE_LINGER);
}
END_TEST

/* Who is killed before its next look at the spools has told of it. */
START_TEST(a_file_is_told_of_at_once)
{
	char path[16] = "";
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_NONBLOCK), 0);
	strcpy(config.on_trace, "true");
	finish.traces = ends[1];
	finish.launcher = 0;
	file_is_done("/a", &finish);
	ck_assert_int_eq(read(ends[0], path, sizeof(path)), 3);
	ck_assert_str_eq(path, "/a");
	ck_assert_uint_eq(ready_left(), 0);
}
END_TEST

/* Which commands the launcher still starts nobody knows: together they would be twice as
 * many as may run. */
START_TEST(the_launchers_commands_come_first)
{
	strcpy(config.on_trace, "true");
	atomic_store(&me.alone, true);
	ready_add("/tmp/of/nobody/a");
	ready_again();
	ck_assert_uint_eq(hand_files(), 1);
	finish.launcher = getpid(); /* nobody's parent here */
	ck_assert_uint_eq(hand_files(), 0);
	ck_assert_ptr_nonnull(strstr(said(), "not run for /tmp/of/nobody/a"));
	said_start();
}
END_TEST

/* Between two images it has no spool, and no place among the job's processes. */
START_TEST(a_job_is_over_once_nobody_has_been_there_for_a_while)
{
	me.phase = PHASE_LINGER;
	me.all.living = 1;
	ck_assert(has_living(5 * GONE_NS));
	me.all.living = 0;
	ck_assert(has_living(6 * GONE_NS - 1));
	ck_assert(!has_living(6 * GONE_NS));
	me.phase = PHASE_END; /* the launcher waits */
	ck_assert(!has_living(5 * GONE_NS));
	munmap(me.all.shared, sizeof(*me.all.shared));
}
END_TEST

/* Recover asks it whose windows end with whose. */
START_TEST(the_page_stays_as_long_as_a_spool)
{
	static const struct {
		enum known_state state;
		int held;
		bool stays;
	} cases[] = { { KNOWN_LEFT, -1, true },
		      { KNOWN_LEFT, 3, false }, /* it has gone with the launcher */
		      { KNOWN_OVER, -1, false } };
	struct known k = { .state = cases[_i].state, .held = cases[_i].held };
	struct known *one = &k;
	char dir[] = "/tmp/finish-XXXXXX", path[64];
	int status, fd;
	pid_t child;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/page", dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	ck_assert_int_ge(fd, 0);
	finish.dir = dir;
	finish.page = path;
	me.page.fd = fd;
	me.all.at = &one;
	me.all.n = 1;
	me.all.folder = open(dir, O_RDONLY | O_DIRECTORY);
	me.rows = (struct small_rows){ me.all.folder, -1 };
	close(openat(me.all.folder, "7.spare", O_RDWR | O_CREAT, 0600));
	child = fork();
	if (!child)
		finish_and_exit();
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(!access(path, F_OK), cases[_i].stays);
	ck_assert_int_ne(faccessat(me.all.folder, "7.spare", F_OK, 0), 0);
	ck_assert_int_eq(!access(dir, F_OK), cases[_i].stays);
	unlink(path);
	rmdir(dir);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("finish");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, what_kills_is_left_at_once);
	tcase_add_loop_test(tc, who_is_killed_from_outside_is_followed_by_others, 0, 2);
	tcase_add_test(tc, kills_in_several_windows_are_chance);
	tcase_add_loop_test(tc, without_its_launcher_it_goes_on_alone, 0, 2);
	tcase_add_test(tc, a_file_is_told_of_at_once);
	tcase_add_test(tc, the_launchers_commands_come_first);
	tcase_add_test(tc, a_job_is_over_once_nobody_has_been_there_for_a_while);
	tcase_add_loop_test(tc, the_page_stays_as_long_as_a_spool, 0, 3);
	return unit_run(tc, "finish");
}
