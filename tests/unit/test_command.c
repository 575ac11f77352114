/* SPDX-License-Identifier: Apache-2.0 */
/* on_trace's command comes at most once, has nothing of ours, and its end is told. */
#include "finisher/command.h"
#include "finisher/command_words.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char said[65536], dir[64];

static void begin(void)
{
	strcpy(dir, "/tmp/on-trace-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void end(void)
{
	char remove[100];

	snprintf(remove, sizeof(remove), "rm -rf %s", dir);
	ck_assert_int_eq(system(remove), 0);
}

static const char *file(const char *name)
{
	static char path[200];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void run_sum(void)
{
	int pipes[2], old = dup(2);
	ssize_t n;

	ck_assert_int_eq(pipe(pipes), 0);
	dup2(pipes[1], 2);
	close(pipes[1]);
	command_sum();
	dup2(old, 2);
	close(old);
	n = read(pipes[0], said, sizeof(said) - 1);
	said[n > 0 ? n : 0] = '\0';
	close(pipes[0]);
}

/* All that the command and we say. True: all went well so far. */
static bool run(const char *command, const char *path)
{
	int pipes[2], old = dup(2);
	size_t n = 0;
	ssize_t got;
	bool well;

	ck_assert_int_eq(pipe(pipes), 0);
	dup2(pipes[1], 2);
	close(pipes[1]);
	command_run(command, path);
	well = command_wait();
	dup2(old, 2);
	close(old);
	while ((got = read(pipes[0], said + n, sizeof(said) - 1 - n)) > 0)
		n += (size_t)got;
	said[n] = '\0';
	close(pipes[0]);
	return well;
}

static bool exists(const char *path)
{
	return !access(path, F_OK);
}

static struct command_words words;

/* Half a command may mean anything. */
START_TEST(what_does_not_fit_is_not_run)
{
	static char large[2 * COMMAND_TEXT];

	memset(large, 'x', sizeof(large) - 1);
	ck_assert(!command_words_make(&words, large, "/p"));
	memcpy(large, "echo ran;", 9);
	ck_assert(!command_words_make(&words, large, "/p"));
	ck_assert(!run(large, file("a")));
	ck_assert_ptr_null(strstr(said, "ran\n"));
	memset(large, 'x', sizeof(large) - 1);
	for (size_t i = 1; i < 2 * COMMAND_WORDS + 2; i += 2)
		large[i] = ' ';
	large[2 * COMMAND_WORDS + 2] = '\0';
	ck_assert(!command_words_make(&words, large, "/p"));
	ck_assert(!run(large, file("a")));
	ck_assert_ptr_nonnull(strstr(said, "is empty or too long"));
	ck_assert(!command_marked(file("a")));
}
END_TEST

/* ---- running ---- */

START_TEST(a_path_is_one_word)
{
	static const char *const names[] = {
		"plain", "two words", "it's; echo bad; '", "$(echo bad)", "'",
		"\"*\\", "{}"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *path = file(names[i]);
		char again[204];

		snprintf(again, sizeof(again), "%s2", path);
		ck_assert(run("printf %s", path));
		ck_assert_str_eq(said, path);
		ck_assert(run("printf '%s'", again));
		ck_assert_str_eq(said, again);
	}
}
END_TEST

START_TEST(it_runs_once)
{
	ck_assert(!command_marked(file("a")));
	ck_assert(run("echo ran", file("a")));
	ck_assert_ptr_nonnull(strstr(said, "ran "));
	ck_assert(command_marked(file("a")));
	ck_assert(exists(file(".a.on_trace")));
	ck_assert(run("echo ran", file("a")));
	ck_assert_str_eq(said, "");
}
END_TEST

static void write_trace(const char *name, char digit)
{
	FILE *f = fopen(file(name), "w");

	ck_assert_ptr_nonnull(f);
	fprintf(f, "{\n\"trace_id\": \"");
	for (int i = 0; i < 32; i++)
		fputc(digit, f);
	fprintf(f, "\",\n\"traceEvents\": []}\n");
	fclose(f);
}

/* A file is known by its trace_id: its name may come back. */
START_TEST(each_file_of_a_name_has_its_own)
{
	const char *moved = "echo ran; rm {}";

	for (const char *digit = "AB"; *digit; digit++) {
		write_trace("a", *digit);
		ck_assert(!command_marked(file("a")));
		ck_assert(run(moved, file("a")));
		ck_assert_ptr_nonnull(strstr(said, "ran"));
		ck_assert(command_marked(file("a")));
		write_trace("a", *digit); /* it is made, or brought, once more */
		ck_assert(command_marked(file("a")));
		ck_assert(run(moved, file("a")));
		ck_assert_str_eq(said, "");
	}
}
END_TEST

/* Somebody else decides about it at this moment, or nobody can tell. */
START_TEST(when_in_doubt_it_has_run)
{
	int mark;

	write_trace("a", 'A');
	ck_assert(run("true", file("a")));
	write_trace("a", 'B');
	mark = open(file(".a.on_trace"), O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(flock(mark, LOCK_EX), 0);
	ck_assert(run("echo ran", file("a")));
	ck_assert_str_eq(said, "");
	close(mark);
	ck_assert_int_eq(truncate(file(".a.on_trace"), 0), 0);
	ck_assert(command_marked(file("a")));
	ck_assert(run("echo ran", file("a")));
	ck_assert_str_eq(said, "");
}
END_TEST

/* The mark is there before it starts: who is killed meanwhile has run it. */
START_TEST(the_mark_comes_first)
{
	ck_assert(run("ls -A $(dirname {})", file("b")));
	ck_assert_ptr_nonnull(strstr(said, ".b.on_trace"));
}
END_TEST

START_TEST(its_end_is_told)
{
	ck_assert(!run("exit 3;", file("a")));
	ck_assert_ptr_nonnull(
		strstr(said, "on_trace: the command ended with status 3 for"));
	ck_assert_ptr_nonnull(strstr(said, file("a")));
	run("kill -9 $$;", file("b"));
	ck_assert_ptr_nonnull(strstr(said, "on_trace: signal 9 ended the command for"));
	ck_assert(command_marked(file("b")));
}
END_TEST

/* It did not run: somebody may try again. */
START_TEST(what_cannot_be_started_has_no_mark)
{
	ck_assert(!run("no-such-command-here", file("a")));
	ck_assert_ptr_nonnull(strstr(said, "no-such-command-here cannot be started for"));
	ck_assert_ptr_nonnull(strstr(said, "No such file or directory"));
	ck_assert(!command_marked(file("a")));
	ck_assert(!command_ended(0, 0));
}
END_TEST

START_TEST(without_a_mark_nothing_runs)
{
	ck_assert(!run("echo ran", "/proc/nowhere/a"));
	ck_assert_ptr_null(strstr(said, "ran\n"));
	ck_assert_ptr_nonnull(strstr(said, "its mark cannot be made"));
}
END_TEST

START_TEST(many_failures_are_few_lines)
{
	unsigned lines = 0;
	char name[8];

	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "%d", i);
		run("false", file(name));
		lines += *said != '\0';
	}
	ck_assert_uint_eq(lines, 5);
	run_sum();
	ck_assert_ptr_nonnull(strstr(said, "on_trace: 3 more commands went wrong"));
	run_sum();
	ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(some_run_at_a_time)
{
	char name[16], waits[200];
	int i, gate;

	ck_assert_int_eq(mkfifo(file("gate"), 0600), 0);
	gate = open(file("gate"), O_RDWR | O_CLOEXEC);
	snprintf(waits, sizeof(waits), "read x < %s/gate; : {}", dir);
	for (i = 0; command_ready(); i++) {
		snprintf(name, sizeof(name), "%d", i);
		command_run(waits, file(name));
	}
	ck_assert_int_eq(i, COMMAND_MOST);
	ck_assert_uint_eq(command_running(), COMMAND_MOST);
	snprintf(name, sizeof(name), "%d", i);
	command_run("true", file(name));
	ck_assert(!command_marked(file(name)));
	ck_assert_int_eq(write(gate, "\n\n\n\n", 4), 4);
	ck_assert_uint_eq(COMMAND_MOST, 4);
	command_wait();
	ck_assert_uint_eq(command_running(), 0);
	close(gate);
}
END_TEST

START_TEST(no_more_run_than_there_are_processors)
{
	cpu_set_t all, first;
	int cpu = 0;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&first);
	CPU_SET(cpu, &first);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(first), &first), 0);
	command_start(environ, NULL);
	command_run("sleep 0.1; : {}", file("a"));
	ck_assert(!command_ready());
	command_run("true", file("b"));
	ck_assert_uint_eq(command_running(), 1);
	ck_assert(command_wait());
	ck_assert(command_ready() && !command_marked(file("b")));
}
END_TEST

START_TEST(it_has_the_callers_place)
{
	char *env[] = { (char *)"LD_PRELOAD=/lib/libproflaunch.so",
			(char *)"HOME=/root",
			(char *)"PROF_JOB=/x",
			(char *)"PATH=/usr/bin:/bin",
			(char *)"PROF_ON_TRACE=y",
			(char *)"PROF_OF=mine",
			(char *)"CUDA_INJECTION64_PATH=/x/libproflaunch.so",
			NULL };

	command_start(env, dir);
	run("env; pwd; :", file("a"));
	ck_assert_ptr_null(strstr(said, "LD_PRELOAD"));
	ck_assert_ptr_null(strstr(said, "PROF_JOB"));
	ck_assert_ptr_null(strstr(said, "PROF_ON_TRACE"));
	ck_assert_ptr_null(strstr(said, "CUDA_INJECTION64_PATH"));
	ck_assert_ptr_nonnull(strstr(said, "HOME=/root\n"));
	ck_assert_ptr_nonnull(strstr(said, "PROF_OF=mine\n"));
	ck_assert_ptr_nonnull(strstr(said, dir));
	env[0] = (char *)"LD_PRELOAD=/nowhere/theirs.so:/lib/libproflaunch.so";
	command_start(env, NULL);
	run("env; :", file("b"));
	ck_assert_ptr_nonnull(strstr(said, "LD_PRELOAD=/nowhere/theirs.so\n"));
	command_start(env, "/nowhere");
	run("env; :", file("c"));
	ck_assert_ptr_nonnull(strstr(said, "cannot be started for"));
}
END_TEST

/* Nothing of ours: no descriptor, no signal that is blocked or that we ignore, no stdin.
 */
START_TEST(it_has_nothing_of_ours)
{
	sigset_t all;

	ck_assert_int_eq(dup2(2, 77), 77);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	signal(SIGPIPE, SIG_IGN);
	run("echo; ls /proc/self/fd; grep Sig /proc/self/status; cat; ps -o pgid= $$;",
	    file("a"));
	ck_assert_ptr_nonnull(strstr(said, "\n0\n"));
	ck_assert_ptr_null(strstr(said, "\n77\n"));
	ck_assert_ptr_nonnull(strstr(said, "SigBlk:\t0000000000000000"));
	ck_assert_uint_eq(strtoul(strstr(said, "SigIgn:\t") + 8, NULL, 16) &
				  1ul << (SIGPIPE - 1),
			  0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("command");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, what_does_not_fit_is_not_run);
	tcase_add_test(tc, a_path_is_one_word);
	tcase_add_test(tc, it_runs_once);
	tcase_add_test(tc, each_file_of_a_name_has_its_own);
	tcase_add_test(tc, when_in_doubt_it_has_run);
	tcase_add_test(tc, the_mark_comes_first);
	tcase_add_test(tc, its_end_is_told);
	tcase_add_test(tc, what_cannot_be_started_has_no_mark);
	tcase_add_test(tc, without_a_mark_nothing_runs);
	tcase_add_test(tc, many_failures_are_few_lines);
	tcase_add_test(tc, some_run_at_a_time);
	tcase_add_test(tc, no_more_run_than_there_are_processors);
	tcase_add_test(tc, it_has_the_callers_place);
	tcase_add_test(tc, it_has_nothing_of_ours);
	return unit_run(tc, "on_trace");
}
