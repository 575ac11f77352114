/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/args.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORDS 16

static struct args a;
static char dir[] = "/tmp/test_args-XXXXXX";

static char *none[] = { NULL };

/* The tests write a profile.conf of their own, so they need a directory of their own. */
static void enter(void)
{
	strcpy(dir, "/tmp/test_args-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
}

static void leave(void)
{
	unlink("profile.conf");
	unlink("other.conf");
	ck_assert_int_eq(chdir("/"), 0);
	rmdir(dir);
}

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

/* Words are separated by bars, so that empty ones can be shown. */
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

static const struct {
	const char *line, *verb, *command;
} good[] = {
	{ "--|true", NULL, "true" },
	{ "--|true|--logdir|x", NULL, "true" },
	{ "--|--|x", NULL, "--" },
	{ "-q|--|", NULL, "" },
	{ "recover|x", "recover", NULL },
	{ "--quiet|recover", "recover", NULL },
	{ "doctor|--marker|none|--|python3", "doctor", "python3" },
	{ "-h", "--help", NULL },
	{ "-V", "--version", NULL },
	{ "--version|--help", "--help", NULL },
	{ "--help|--version", "--help", NULL },
	{ "--print-man|proflaunch.1", "--print-man", NULL },
};

START_TEST(words_find_their_place)
{
	ck_assert_msg(parse(good[_i].line, none) == 0, "%s: %s", good[_i].line, a.bad);
	ck_assert_pstr_eq(a.verb, good[_i].verb);
	ck_assert_pstr_eq(a.command ? a.command[0] : NULL, good[_i].command);
}
END_TEST

static const struct {
	const char *line, *want;
} wrong[] = {
	{ "--logdri|x|--|y", "--logdri: no such option (did you mean logdir?)\n" },
	{ "--logdri=x|--|y", "--logdri: no such option (did you mean logdir?)\n" },
	{ "--logdir", "--logdir: its value is missing\n" },
	{ "--logdir|--|x", "--logdir: its value is missing\n" },
	{ "--malloc|--|x", "--malloc: its value is missing\n" },
	{ "--metadata.team", "--metadata.team: its value is missing\n" },
	{ "-x|--|y", "-x: no such option (short ones are -h, -q and -V)\n" },
	{ "python3|train.py",
	  "python3: put -- before the command: proflaunch [options] -- python3 ...\n" },
	{ "--format=xml|--buffer-mb=0|--|x",
	  "--format: 'xml' is none of json|json.gz\n"
	  "--buffer-mb: '0' is no number from 1 to 1048576\n" },
	{ "--activities|gpu|--cuda-graphs=nodes|--|x",
	  "--activities: 'gpu' is none of cpu|cuda|cpu,cuda\n"
	  "--cuda-graphs: 'nodes' is none of node|graph|off\n" },
	{ "--cuda-buffer-mb|3|--|x",
	  "--cuda-buffer-mb: '3' is no number from 4 to 65536\n" },
	{ "--file|%z|--|x", "--file: %z is none of %h %p %r %t %q{VAR} %%\n" },
	{ "--file|%q|--|x", "--file: %q needs {NAME} after it\n" },
	{ "--spool|here|--|x",
	  "--spool: neither auto, memory, nor a directory with a slash in it\n" },
};

START_TEST(every_mistake_is_told)
{
	ck_assert_int_gt(parse(wrong[_i].line, none), 0);
	if (strncmp(wrong[_i].line, "--logdri|", 9))
		ck_assert_str_eq(a.bad, wrong[_i].want);
	else /* the word behind an unknown option may have been its value */
		ck_assert_int_eq(strncmp(a.bad, wrong[_i].want, strlen(wrong[_i].want)),
				 0);
}
END_TEST

START_TEST(plans_and_markers_are_judged_at_once)
{
	ck_assert_int_eq(parse("--schedule|wait=1,warmup=1,active=3|--|x", none), 0);
	ck_assert_int_eq(parse("--schedule|wait=1|--|x", none), 1);
	ck_assert_int_eq(parse("--marker|torch:x*@begin|--|x", none), 0);
	ck_assert_int_eq(parse("--marker|toch:x|--|x", none), 1);
	ck_assert_int_eq(parse("--marker|time:0|--|x", none), 1);
	ck_assert_int_eq(parse("--file|%h_%q{A B}%%.%t|--|x", none), 0);
}
END_TEST

START_TEST(a_flag_takes_a_word_only_if_it_is_one)
{
	ck_assert_int_eq(parse("--record-shapes|--|x", none), 0);
	ck_assert_uint_eq(a.config.record_shapes, 1);
	ck_assert_int_eq(parse("--record-shapes|off|--|x", none), 0);
	ck_assert_uint_eq(a.config.record_shapes, 0);
	ck_assert_int_eq(parse("--record-shapes|--logdir|y|--|x", none), 0);
	ck_assert_uint_eq(a.config.record_shapes, 1);
	ck_assert_str_eq(a.config.logdir, "y");
	ck_assert_int_eq(parse("--record_shapes=no|--|x", none), 0);
	ck_assert_uint_eq(a.config.record_shapes, 0);
	ck_assert_int_gt(parse("--record-shapes|train.py|--|x", none), 0);
}
END_TEST

START_TEST(options_of_the_gpu)
{
	char *env[] = { "PROF_ACTIVITIES=cuda", "PROF_CUDA_STACKS=native", NULL };

	ck_assert_int_eq(parse("--|x", none), 0);
	ck_assert_uint_eq(a.config.activities, ACTIVITIES_BOTH);
	ck_assert_uint_eq(a.config.cuda_buffer_mb, 64);
	ck_assert_uint_eq(a.config.cuda_graphs, GRAPHS_NODE);
	ck_assert_int_eq(
		parse("--cuda-sync|--cuda-memory|on|--occupancy=kineto|--|x", env), 0);
	ck_assert_uint_eq(a.config.activities, ACTIVITIES_CUDA);
	ck_assert_uint_eq(a.config.cuda_stacks, STACKS_NATIVE);
	ck_assert_uint_eq(a.config.cuda_sync, 1);
	ck_assert_uint_eq(a.config.cuda_memory, 1);
	ck_assert_int_eq(parse("--activities|cpu|--|x", env), 0);
	ck_assert_uint_eq(a.config.activities, ACTIVITIES_CPU);
	ck_assert_int_eq(parse("--activities=cpu,cuda|--|x", env), 0);
	ck_assert_uint_eq(a.config.activities, ACTIVITIES_BOTH);
}
END_TEST

START_TEST(later_sources_win)
{
	char *env[] = { "PROF_BUFFER_MB=3", "PROF_FORMAT=json.gz", NULL };

	write_file("profile.conf", "buffer_mb = 2\nchildren = off\nformat = json\n");
	ck_assert_int_eq(parse("--|x", none), 0);
	ck_assert_uint_eq(a.config.buffer_mb, 2);
	ck_assert_int_eq(parse("--|x", env), 0);
	ck_assert_uint_eq(a.config.buffer_mb, 3);
	ck_assert_int_eq(parse("--buffer-mb=4|--|x", env), 0);
	ck_assert_uint_eq(a.config.buffer_mb, 4);
	ck_assert_uint_eq(a.config.format, FORMAT_JSON_GZ);
	ck_assert_uint_eq(a.config.children, 0);
}
END_TEST

START_TEST(the_named_file_replaces_the_one_that_lies_there)
{
	char *env[] = { "PROF_CONFIG=other.conf", NULL };

	write_file("profile.conf", "buffer_mb = 2\n");
	write_file("other.conf", "children = off\n");
	ck_assert_int_eq(parse("--|x", env), 0);
	ck_assert_uint_eq(a.config.buffer_mb, 256);
	ck_assert_uint_eq(a.config.children, 0);
	ck_assert_int_eq(parse("--config|profile.conf|--|x", env), 0);
	ck_assert_uint_eq(a.config.buffer_mb, 2);
	ck_assert_int_eq(parse("--config|gone.conf|--|x", none), 1);
	ck_assert_str_eq(a.bad, "gone.conf: No such file or directory\n");
}
END_TEST

START_TEST(a_mistake_in_a_file_has_its_line)
{
	write_file("profile.conf", "\nschedule = wait=1\nlogdri = x\n");
	ck_assert_int_eq(parse("--|x", none), 2);
	ck_assert_ptr_nonnull(strstr(a.bad, "profile.conf:2: schedule: "));
	ck_assert_ptr_nonnull(strstr(
		a.bad,
		"profile.conf:3: logdri: no such option (did you mean logdir?)\n"));
}
END_TEST

START_TEST(below_a_launcher_no_file_is_read)
{
	char *env[] = { "PROF_JOB=/somewhere", NULL };

	write_file("profile.conf", "buffer_mb = 2\n");
	ck_assert_int_eq(parse("--|x", env), 0);
	ck_assert_uint_eq(a.config.buffer_mb, 256);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("args");

	tcase_add_checked_fixture(tc, enter, leave);
	tcase_add_loop_test(tc, words_find_their_place, 0, sizeof(good) / sizeof(*good));
	tcase_add_loop_test(tc, every_mistake_is_told, 0, sizeof(wrong) / sizeof(*wrong));
	tcase_add_test(tc, plans_and_markers_are_judged_at_once);
	tcase_add_test(tc, a_flag_takes_a_word_only_if_it_is_one);
	tcase_add_test(tc, options_of_the_gpu);
	tcase_add_test(tc, later_sources_win);
	tcase_add_test(tc, the_named_file_replaces_the_one_that_lies_there);
	tcase_add_test(tc, a_mistake_in_a_file_has_its_line);
	tcase_add_test(tc, below_a_launcher_no_file_is_read);
	return unit_run(tc, "args");
}
