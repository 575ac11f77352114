/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the agent starts and ends: its constructor runs here as in any program, and is
 * called again with what a test says of the machine.
 */
#include "agent/agent.c"
#include "agent/core/chunk.h"
#include "agent/facts.c"
#include "tests/unit/seam.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

static char dir[64];
static unsigned long secure;

__attribute__((visibility("default"))) unsigned long getauxval(unsigned long what)
{
	return what == AT_SECURE ? secure : 0;
}

static char program[] = "/bin/program", *arguments[] = { program, NULL };

/* Starts as in a new program with that environment. */
static void start_with(const char *marker, const char *spool_dir)
{
	strcpy(dir, "/tmp/unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	setenv("PROF_MARKER", marker, 1);
	setenv("PROF_SPOOL", spool_dir ? spool_dir : dir, 1);
	agent.on = false;
	start_agent(1, arguments);
}

static unsigned files(void)
{
	char command[128], text[16] = "";
	FILE *f;

	snprintf(command, sizeof(command), "cd /; find %s -mindepth 1 2>&- | wc -l", dir);
	f = popen(command, "r");
	ck_assert_ptr_nonnull(fgets(text, sizeof(text), f));
	pclose(f);
	return (unsigned)atoi(text);
}

/* ---- start ---- */

static bool without_a_directory(long nr, const long a[6], long *result)
{
	(void)a;
	*result = -ENOENT;
	return nr == SYS_getcwd;
}

START_TEST(a_start_leaves_errno)
{
	seam = without_a_directory;
	errno = 4711;
	start_with("time:1000", NULL);
	errno = 4711;
	start_agent(1, arguments);
	ck_assert_int_eq(errno, 4711);
	ck_assert(agent.on);
}
END_TEST

START_TEST(who_gains_rights_is_not_recorded)
{
	secure = 1;
	setenv("PROF_LOGDIR", "/elsewhere", 1);
	start_with("time:1000", NULL);
	ck_assert(!agent.on);
	ck_assert_str_ne(agent.config.logdir, "/elsewhere");
	ck_assert_uint_eq(files(), 0);
}
END_TEST

START_TEST(quiet_is_heard_first)
{
	setenv("PROF_QUIET", "1", 1);
	start_with("time:1000", NULL);
	ck_assert(log_quiet);
}
END_TEST

START_TEST(the_log_directory_stays_where_it_was)
{
	static const char *const rows[][2] = {
		{ "./log", "/log" },     { "log", "/log" },         { "./", "/" },
		{ "../log", "/../log" }, { ".hidden", "/.hidden" }, { "a/./b", "/a/./b" },
	};
	char want[128];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		setenv("PROF_LOGDIR", rows[i][0], 1);
		start_with("auto", NULL);
		snprintf(want, sizeof(want), "%s%s", dir, rows[i][1]);
		ck_assert_str_eq(agent.config.logdir, want);
	}
	setenv("PROF_LOGDIR", "/else/where", 1);
	start_with("auto", NULL);
	ck_assert_str_eq(agent.config.logdir, "/else/where");
}
END_TEST

static char deep[CONFIG_TEXT];

static bool in_a_deep_directory(long nr, const long a[6], long *result)
{
	if (nr != SYS_getcwd)
		return false;
	strcpy((char *)a[0], deep);
	*result = (long)strlen(deep) + 1;
	return true;
}

/* What does not fit is not cut: another directory would be made. */
START_TEST(a_log_directory_in_a_deep_one_is_whole_or_as_it_is)
{
	for (size_t len = CONFIG_TEXT - 8; len < CONFIG_TEXT; len++) {
		char want[2 * CONFIG_TEXT];

		memset(deep, '/', len);
		deep[len] = '\0';
		strcpy(agent.config.logdir, "log");
		seam = in_a_deep_directory;
		fix_logdir();
		seam = NULL;
		snprintf(want, sizeof(want), "%s/log", deep);
		ck_assert_str_eq(agent.config.logdir,
				 strlen(want) < CONFIG_TEXT ? want : "log");
	}
}
END_TEST

/* ---- end ---- */

START_TEST(who_records_nothing_leaves_nothing)
{
	start_with("time:1000", NULL);
	ck_assert(agent.on && spool.kept);
	ck_assert_uint_eq(files(), 3); /* a folder, its page, a spool */
	errno = 4711;
	stop_agent();
	ck_assert_int_eq(errno, 4711);
	ck_assert_uint_eq(files(), 0);
}
END_TEST

START_TEST(who_has_written_all_leaves_nothing_but_that)
{
	start_with("time:1000", NULL);
	ck_assert(agent_begin());
	ck_assert_uint_eq(spool.head->exit_ticks, 0);
	errno = 4711;
	stop_agent();
	ck_assert_int_eq(errno, 4711);
	ck_assert_uint_ne(spool.head->exit_ticks, 0);
	ck_assert_uint_eq(files(), 0);
}
END_TEST

START_TEST(an_exit_in_a_child_of_vfork_is_none)
{
	start_with("time:1000", NULL);
	ck_assert(agent_begin());
	agent.pid++;
	stop_agent();
	agent_leave();
	on_exit_now();
	ck_assert_uint_eq(spool.head->exit_ticks, 0);
	ck_assert_uint_eq(files(), 3);
	agent.pid--;
	on_exit_now(); /* _exit: a file is recover's */
	ck_assert_uint_ne(spool.head->exit_ticks, 0);
	ck_assert_uint_eq(files(), 3);
}
END_TEST

/* A window that is sealed, whose GPU work is still coming. */
static void seal_one(void)
{
	uint64_t at = chunk_take(CHUNK_CYCLE, sizeof(struct cycle_info), 1);
	struct cycle_info *info = (struct cycle_info *)(chunk_at(at) + 1);

	memset(info, 0, sizeof(*info));
	info->number = 1;
	info->begin = clock_ticks();
	info->end = info->begin + 1000000;
	info->stamp_ns = 1700000000000000000;
	chunk_at(at)->used = sizeof(struct chunk) + sizeof(*info);
	atomic_store(&spool.head->cycles, 1);
	info->cuda_state = CUDA_PENDING;
	info->state = CYCLE_SEALED;
	sys_no_maps = true; /* and no thread that could write it */
}

static char said[4096];

START_TEST(what_is_not_written_is_told)
{
	int fd, kept = dup(2);

	start_with("time:1000", _i ? "memory" : NULL);
	ck_assert(agent_begin());
	strcpy(agent.config.logdir, "/dev/null/none"); /* as when it goes meanwhile */
	seal_one();
	fd = open("said", O_RDWR | O_CREAT, 0600);
	dup2(fd, 2);
	log_watch();
	finish_alone();
	dup2(kept, 2);
	ck_assert_int_gt(pread(fd, said, sizeof(said) - 1, 0), 0);
	ck_assert_msg(
		strstr(said,
		       _i ? "ended with 0 trace files written to /dev/null/none and others not (2 s are waited for them): those lay in memory alone, and are lost\n"
			  : "ended with 0 trace files written and others not (2 s are waited for them): for those run: proflaunch recover /dev/null/none\n"),
		"%s", said);
	if (!_i)
		ck_assert_int_eq(access(spool_path, F_OK), 0);
}
END_TEST

/* ---- what programs may call ---- */

static bool change_errno(void)
{
	errno = 77;
	return false;
}

START_TEST(a_step_leaves_errno)
{
	start_with("auto", NULL);
	sched_start(&agent.config, &(struct sched_actions){ .begin = change_errno,
							    .observe = torch_observe,
							    .arm = window_near,
							    .sealed = window_sealed,
							    .opened = window_opened,
							    .ended = window_ended });
	errno = 4711;
	proflaunch_step();
	proflaunch_step();
	ck_assert_int_eq(errno, 4711);
	proflaunch_collect(PROFLAUNCH_CPU | PROFLAUNCH_CUDA, 0);
	ck_assert_int_eq(errno, 4711);
}
END_TEST

START_TEST(a_child_finds_its_facts_itself)
{
	facts_settled = true;
	atomic_store(&facts_busy, true);
	agent_facts_forget();
	ck_assert(!facts_settled && !atomic_load(&facts_busy));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("agent end");

	tcase_add_test(tc, a_start_leaves_errno);
	tcase_add_test(tc, who_gains_rights_is_not_recorded);
	tcase_add_test(tc, quiet_is_heard_first);
	tcase_add_test(tc, the_log_directory_stays_where_it_was);
	tcase_add_test(tc, a_log_directory_in_a_deep_one_is_whole_or_as_it_is);
	tcase_add_test(tc, who_records_nothing_leaves_nothing);
	tcase_add_test(tc, who_has_written_all_leaves_nothing_but_that);
	tcase_add_test(tc, an_exit_in_a_child_of_vfork_is_none);
	tcase_add_loop_test(tc, what_is_not_written_is_told, 0, 2);
	tcase_add_test(tc, a_step_leaves_errno);
	tcase_add_test(tc, a_child_finds_its_facts_itself);
	return unit_run(tc, "agent end");
}
