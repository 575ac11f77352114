/* SPDX-License-Identifier: Apache-2.0 */
/* How long the launcher waits for on_trace's commands, and what it says of the others. */
#include "base/sys.h"
#include "finisher/command.h"
#include "launcher/on_trace.h"
#include "tests/unit/said.h"

#include <fcntl.h>
#include <sched.h>

#define SECOND 1000000000ll

static struct config config;
static volatile sig_atomic_t interrupted;
static char dir[64];
static int pipe_in;

static void begin(void)
{
	strcpy(dir, "/tmp/on-trace-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	config_defaults(&config);
	strcpy(config.logdir, dir);
}

static void start(const char *command)
{
	strcpy(config.on_trace, command);
	pipe_in = on_trace_start(&config);
	ck_assert_int_ge(pipe_in, 0);
}

static void put_file(unsigned number)
{
	char path[512];
	int n = snprintf(path, sizeof(path), "%s/f%u", dir, number) + 1;

	ck_assert_int_eq(write(pipe_in, path, (size_t)n), n);
}

static bool is_there(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return !access(path, F_OK);
}

static void note_end(pid_t pid, int status)
{
	ck_assert(command_ended(pid, status));
}

static const char *await_or_leave(int64_t ns, bool goes_on)
{
	said_start();
	on_trace_await(sys_clock_ns(CLOCK_MONOTONIC) + ns, &interrupted, note_end,
		       goes_on);
	return said();
}

static const char *await(int64_t ns)
{
	return await_or_leave(ns, false);
}

/* As many as there are processors for us. */
static unsigned most_at_a_time(void)
{
	cpu_set_t ours;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(ours), &ours), 0);
	return CPU_COUNT(&ours) < COMMAND_MOST ? (unsigned)CPU_COUNT(&ours)
					       : COMMAND_MOST;
}

START_TEST(without_a_command_there_is_no_pipe)
{
	ck_assert_int_eq(on_trace_start(&config), -1);
	ck_assert_str_eq(await(50 * SECOND), "");
}
END_TEST

START_TEST(all_files_have_their_turn)
{
	start("cp /dev/null {}.done");
	for (unsigned i = 0; i < 8; i++)
		put_file(i);
	ck_assert_str_eq(await(50 * SECOND), "");
	ck_assert_uint_eq(command_running(), 0);
	ck_assert(is_there("f0.done"));
	ck_assert(is_there("f7.done"));
}
END_TEST

/* ^C while files were written was about these. */
START_TEST(an_earlier_interrupt_ends_no_wait)
{
	interrupted = 1;
	start("cp /dev/null {}.done");
	put_file(1);
	ck_assert_str_eq(await(50 * SECOND), "");
	ck_assert(is_there("f1.done"));
}
END_TEST

/* Those that run wait for a line: as many as may, and two that may not. */
static int hold_commands(void)
{
	char text[256];
	int gate;

	snprintf(text, sizeof(text), "%s/gate", dir);
	ck_assert_int_eq(mkfifo(text, 0600), 0);
	gate = open(text, O_RDWR | O_CLOEXEC);
	snprintf(text, sizeof(text), "read x < %s/gate; : {}", dir);
	start(text);
	for (unsigned i = 0; i < most_at_a_time() + 2; i++)
		put_file(i);
	return gate;
}

static void let_commands(int gate)
{
	ck_assert_int_eq(write(gate, "\n\n\n\n", COMMAND_MOST), COMMAND_MOST);
	ck_assert(command_wait());
	close(gate);
}

START_TEST(who_is_left_is_told)
{
	int gate = hold_commands();
	const char *all = await(0);
	char text[256];

	snprintf(text, sizeof(text),
		 "on_trace: %u command%s still running: not waited for any longer",
		 most_at_a_time(), most_at_a_time() == 1 ? "" : "s");
	ck_assert_msg(strstr(all, text) != NULL, "%s", all);
	snprintf(
		text, sizeof(text),
		"on_trace: not run for 2 files: proflaunch recover --on-trace <command> %s",
		dir);
	ck_assert_msg(strstr(all, text) != NULL, "%s", all);
	snprintf(text, sizeof(text), ".f%u.on_trace", most_at_a_time() + 1);
	ck_assert(!is_there(text));
	let_commands(gate);
}
END_TEST

/* The finisher comes to them. */
START_TEST(who_is_left_to_another_is_not_told)
{
	int gate = hold_commands();
	const char *all = await_or_leave(0, true);

	ck_assert_msg(strstr(all, "still running") != NULL, "%s", all);
	ck_assert_msg(strstr(all, "not run for") == NULL, "%s", all);
	let_commands(gate);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("on_trace");

	tcase_add_checked_fixture(tc, begin, NULL);
	tcase_add_test(tc, without_a_command_there_is_no_pipe);
	tcase_add_test(tc, all_files_have_their_turn);
	tcase_add_test(tc, an_earlier_interrupt_ends_no_wait);
	tcase_add_test(tc, who_is_left_is_told);
	tcase_add_test(tc, who_is_left_to_another_is_not_told);
	return unit_run(tc, "on_trace");
}
