/* SPDX-License-Identifier: Apache-2.0 */
/* What `proflaunch bottleneck` records: its own, over file and environment, and below the
 * command line. */
#include "launcher/args.h"
#include "launcher/machine.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <sys/utsname.h>

#define WORDS 16

static struct args a;

/* Words are separated by bars. */
static int parse(const char *line, char **env)
{
	static char buf[1024];
	static char *argv[WORDS + 1];
	char *p = buf;
	size_t n = 0;

	snprintf(buf, sizeof(buf), "%s", line);
	argv[n++] = "proflaunch";
	while (p && n < WORDS)
		argv[n++] = strsep(&p, "|");
	argv[n] = NULL;
	return args_parse(&a, argv, env);
}

START_TEST(all_of_the_program_is_recorded)
{
	char *env[] = { "PROF_SCHEDULE=wait=1,active=1",
			"PROF_MARKER=torch:x",
			"PROF_PYTHON_STACK=ops",
			"PROF_ACTIVITIES=cuda",
			"PROF_REPORT=on",
			"PROF_LOGDIR=/there",
			NULL };

	ck_assert_msg(!parse("bottleneck|--|python3|--limit", env), "%s", a.bad);
	ck_assert_str_eq(a.verb, "bottleneck");
	ck_assert_str_eq(a.command[0], "python3");
	ck_assert_uint_eq(a.limit, 15);
	ck_assert_str_eq(a.config.schedule, "");
	ck_assert_str_eq(a.config.marker, "none");
	ck_assert_uint_eq(a.config.python_stack, PYTHON_FULL);
	ck_assert_uint_eq(a.config.activities, ACTIVITIES_BOTH);
	ck_assert_uint_eq(a.config.record_shapes, 1);
	ck_assert_uint_eq(a.config.report, 0);
	ck_assert_str_eq(a.config.logdir, "/there");
}
END_TEST

START_TEST(the_command_line_wins)
{
	char *env[] = { NULL };

	ck_assert_msg(
		!parse("--activities|cpu|bottleneck|--record-shapes=off|--limit=3|x",
		       env),
		"%s", a.bad);
	ck_assert_uint_eq(a.limit, 3);
	ck_assert_uint_eq(a.config.record_shapes, 0);
	ck_assert_uint_eq(a.config.activities, ACTIVITIES_CPU);
	ck_assert_str_eq(a.command[0], "x");
}
END_TEST

/* A schedule counts steps, and wants to know where they end. */
START_TEST(a_schedule_has_a_marker)
{
	char *env[] = { NULL };

	ck_assert_int_eq(parse("bottleneck|-s|active=2|x", env), 0);
	ck_assert_str_eq(a.config.marker, "auto");
	ck_assert_int_eq(parse("bottleneck|-s|active=2|--marker|time:5|x", env), 0);
	ck_assert_str_eq(a.config.marker, "time:5");
}
END_TEST

static const struct {
	const char *line, *want;
} wrong[] = {
	{ "bottleneck|--limit", "--limit: its value is missing\n" },
	{ "bottleneck|--limit=|x", "--limit: the value is empty\n" },
	{ "bottleneck|--limit|0|x", "--limit: not a number from 1 on\n" },
	{ "bottleneck|--limit|3x|x", "--limit: not a number from 1 on\n" },
	{ "bottleneck|--limit=99999999999|x", "--limit: not a number from 1 on\n" },
	{ "--limit|3|bottleneck|x", "--limit: no such option" },
	{ "--limit|3|x", "--limit: no such option" },
	{ "doctor|--limit|3|x", "--limit: no such option" },
	{ "bottleneck|--limti|x", "--limti: no such option (did you mean --limit?)\n" },
	{ "bottleneck|--output|x", "--output: no such option" },
	{ "bottleneck|--with-stack|x", "--python-stack: bottleneck has a table" },
	{ "bottleneck|--python-stack|off|x", "--python-stack: bottleneck has a table" },
	{ "bottleneck|--activities|cuda|x", "--activities: bottleneck has tables" },
	{ "bottleneck|--report|x", "--report: bottleneck shows a report of its own" },
};

START_TEST(what_does_not_go_with_it_is_said)
{
	char *env[] = { NULL };

	ck_assert_msg(parse(wrong[_i].line, env) > 0, "%s", wrong[_i].line);
	ck_assert_msg(strstr(a.bad, wrong[_i].want) != NULL, "%s: %s", wrong[_i].line,
		      a.bad);
}
END_TEST

START_TEST(other_runs_have_no_tables)
{
	char *env[] = { NULL };

	ck_assert_int_eq(parse("--|bottleneck|x", env), 0);
	ck_assert_ptr_null(a.verb);
	ck_assert_uint_eq(a.limit, 0);
	ck_assert_str_eq(a.config.marker, "auto");
}
END_TEST

START_TEST(the_machine_says_what_it_is)
{
	char text[512], small[8];
	struct utsname u;

	machine_system(text, sizeof(text));
	ck_assert_int_eq(uname(&u), 0);
	ck_assert_msg(strstr(text, u.release) != NULL, "%s", text);
	ck_assert(!strpbrk(text, "\"\n"));
	machine_cpu(text, sizeof(text));
	ck_assert(!strpbrk(text, "\n:"));
	machine_cpu(small, sizeof(small));
	ck_assert_uint_lt(strlen(small), sizeof(small));
	ck_assert_int_gt(machine_cpus(), 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("bottleneck");

	tcase_add_test(tc, all_of_the_program_is_recorded);
	tcase_add_test(tc, the_command_line_wins);
	tcase_add_test(tc, a_schedule_has_a_marker);
	tcase_add_loop_test(tc, what_does_not_go_with_it_is_said, 0,
			    sizeof(wrong) / sizeof(*wrong));
	tcase_add_test(tc, other_runs_have_no_tables);
	tcase_add_test(tc, the_machine_says_what_it_is);
	return unit_run(tc, "bottleneck");
}
