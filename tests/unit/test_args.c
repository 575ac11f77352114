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
	{ "doctor|--marker|none|python3|--quiet", "doctor", "python3" },
	{ "python3|train.py|--schedule|bad", NULL, "python3" },
	{ "-q|train.py|--|x", NULL, "train.py" },
	{ "--|recover", NULL, "recover" },
	{ "-q|memory|--leaks|x", "memory", "--leaks" },
	{ "-q|export|--folded|x", "export", "--folded" },
	{ "-q|report|--view|ops", "report", "--view" },
	{ "help|memory", "help", NULL },
	{ "-odir|-s=active=1|x", NULL, "x" },
	{ "-h", "--help", NULL },
	{ "-V", "--version", NULL },
	{ "--version|--help", "--help", NULL },
	{ "--help|--version", "--help", NULL },
	{ "--version|--verbose", "--version", NULL },
	{ "--verbose|-V", "--version", NULL },
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
	{ "--logdri|--|y", "--logdri: no such option (did you mean --logdir?)\n" },
	{ "--logdri=x|--|y", "--logdri: no such option (did you mean --logdir?)\n" },
	{ "--recrod-shapes|--|y",
	  "--recrod-shapes: no such option (did you mean --record-shapes?)\n" },
	{ "--recordshapes|--|y",
	  "--recordshapes: no such option (did you mean --record-shapes?)\n" },
	{ "--recrod_shapes|--|y",
	  "--recrod_shapes: no such option (did you mean --record_shapes?)\n" },
	{ "--verison", "--verison: no such option (did you mean --version?)\n" },
	{ "--verbose|--|y", "--verbose: goes with --version\n" },
	{ "--verbose|recover", "--verbose: goes with --version\n" },
	{ "--meta.x=1|--|y",
	  "--meta.x: no such option (did you mean --metadata.<key>?)\n" },
	{ "--elephants|--|y", "--elephants: no such option\n" },
	{ "--logdir=|--|y", "--logdir: the value is empty\n" },
	{ "--marker||--|y", "--marker: the value is empty\n" },
	{ "-o|--|y", "-o: its value is missing\n" },
	{ "-s|wait=1|y", "-s: active must be given, and be at least 1\n" },
	{ "recover|--outptu|x", "--outptu: no such option (did you mean --output?)\n" },
	{ "--outptu|--|y", "--outptu: no such option\n" },
	{ "recover|-o=", "-o: the value is empty\n" },
	{ "--schedule=wait=1,activ=3|y",
	  "--schedule: unknown word 'activ=3' (did you mean active?); known are skip_first, "
	  "wait, warmup, active, repeat, skip_first_wait\n" },
	{ "--marker=torch:foo@middle|y",
	  "--marker: '@middle' is neither @begin nor @end (add @end if it belongs to "
	  "the name)\n" },
	{ "--logdir", "--logdir: its value is missing\n" },
	{ "--logdir|--|x", "--logdir: its value is missing\n" },
	{ "--malloc|--|x", "--malloc: its value is missing\n" },
	{ "--metadata.team", "--metadata.team: its value is missing\n" },
	{ "-x|--|y", "-x: no such option (short ones are -o, -s, -q, -h and -V)\n" },
	{ "--format=xml|--buffer-mb=0|--|x",
	  "--format: 'xml' is none of json|json.gz\n"
	  "--buffer-mb: '0' is no number from 1 to 1048576\n" },
	{ "--activities|gpu|--cuda-graphs=nodes|--|x",
	  "--activities: 'gpu' is none of cpu|cuda|cpu,cuda\n"
	  "--cuda-graphs: 'nodes' is none of node|graph|off\n" },
	{ "--cuda-buffer-mb|3|--|x",
	  "--cuda-buffer-mb: '3' is no number from 4 to 65536\n" },
	{ "--cuda-stacks|--|x", "--cuda-stacks: its value is missing: off or native\n" },
	{ "--cuda-stacks|x.py", "--cuda-stacks: 'x.py' is none of off|native\n" },
	{ "--no-nativ-stacks|x",
	  "--no-nativ-stacks: no such option (did you mean --native-stacks=off?)\n" },
	{ "--no-linger=on|x",
	  "--no-linger: no such option (did you mean --linger=off?)\n" },
	{ "--file|%z|--|x", "--file: %z is none of %h %p %r %t %q{VAR} %%\n" },
	{ "--file|abc%|--|x", "--file: %  is none of %h %p %r %t %q{VAR} %%\n" },
	{ "--file|%q|--|x", "--file: %q needs {NAME} after it\n" },
	{ "--spool|here|--|x",
	  "--spool: neither auto, memory, nor a directory with a slash in it\n" },
};

START_TEST(every_mistake_is_told)
{
	ck_assert_int_gt(parse(wrong[_i].line, none), 0);
	ck_assert_str_eq(a.bad, wrong[_i].want);
}
END_TEST

/* What follows it may be the command, and is told as such. */
START_TEST(an_unknown_option_takes_nothing)
{
	ck_assert_int_eq(parse("--unknwon|python3|x.py", none), 1);
	ck_assert_pstr_eq(a.command ? a.command[0] : NULL, "python3");
}
END_TEST

/* What the word behind it was meant for is told only when no such command is found. */
START_TEST(the_flag_before_the_command_is_known)
{
	ck_assert_int_eq(parse("--quiet|--record-shapes|maybe|--|x", none), 0);
	ck_assert(a.bare);
	ck_assert_pstr_eq(a.flag, "--record-shapes");
	ck_assert_int_eq(parse("--record-shapes|--marker|none|maybe", none), 0);
	ck_assert_ptr_null(a.flag);
	ck_assert_int_eq(parse("--record-shapes|on|maybe", none), 0);
	ck_assert_ptr_null(a.flag);
	ck_assert_int_eq(parse("--record-shapes|--|maybe", none), 0);
	ck_assert(!a.bare);
}
END_TEST

START_TEST(short_forms_are_their_options)
{
	ck_assert_int_eq(parse("-o|there|-s|wait=1,active=2|x", none), 0);
	ck_assert_str_eq(a.config.logdir, "there");
	ck_assert_str_eq(a.config.schedule, "wait=1,active=2");
	ck_assert_int_eq(parse("-othere|-s=active=2|x", none), 0);
	ck_assert_str_eq(a.config.logdir, "there");
	ck_assert_str_eq(a.config.schedule, "active=2");
	ck_assert_int_eq(parse("recover|log|-o|there", none), 0);
	ck_assert_str_eq(a.output, "there");
	ck_assert_str_eq(a.config.logdir, "./log");
	ck_assert_str_eq(a.operand[0], "log");
	/* It has no command: what stands there is a directory's name. */
	ck_assert_int_eq(parse("recover|-o|there|--|-log|b", none), 0);
	ck_assert_uint_eq(a.operands, 2);
	ck_assert_str_eq(a.operand[0], "-log");
	ck_assert_ptr_null(a.command);
}
END_TEST

/* What a file sets and nothing is by default can be taken back. */
START_TEST(an_empty_value_resets)
{
	write_file("profile.conf", "schedule = active=1\non_trace = x\nfile = y\n");
	ck_assert_int_eq(parse("--schedule=|--on-trace=|--file=|x", none), 0);
	ck_assert_str_eq(a.config.schedule, "");
	ck_assert_str_eq(a.config.on_trace, "");
	ck_assert_str_eq(a.config.file, "");
}
END_TEST

START_TEST(keys_of_metadata_keep_their_dashes)
{
	ck_assert_int_eq(parse("--metadata.my-key=x|--|y", none), 0);
	ck_assert_ptr_nonnull(strstr(a.config.metadata, "my-key"));
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
	ck_assert_int_eq(parse("--record-shapes|train.py|--|x", none), 0);
	ck_assert_uint_eq(a.config.record_shapes, 1);
	ck_assert_pstr_eq(a.command[0], "train.py");
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
	ck_assert_uint_eq(a.config.native_stacks,
			  1u << NATIVE_CUDA | 1u << NATIVE_MALLOC);
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

START_TEST(recover_may_be_told_where_to)
{
	static struct args mine;
	char *both[] = { "proflaunch", "recover", "--output", "there", "log", NULL };
	char *one[] = { "proflaunch", "recover", "--output=there", NULL };
	char *without[] = { "proflaunch", "recover", "--output", NULL };
	char *other[] = { "proflaunch", "--output", "there", "--", "true", NULL };
	char *env[] = { NULL };

	ck_assert_int_eq(args_parse(&mine, both, env), 0);
	ck_assert_str_eq(mine.output, "there");
	ck_assert_uint_eq(mine.operands, 1);
	ck_assert_str_eq(mine.operand[0], "log");
	ck_assert_int_eq(args_parse(&mine, one, env), 0);
	ck_assert_str_eq(mine.output, "there");
	ck_assert_uint_eq(mine.operands, 0);
	ck_assert_int_ne(args_parse(&mine, without, env), 0);
	ck_assert_int_ne(args_parse(&mine, other, env), 0);
}
END_TEST

/* What a file or the environment asks of every run is not asked of recover. */
START_TEST(on_trace_of_the_command_line_is_told_apart)
{
	char *env[] = { (char *)"PROF_ON_TRACE=echo", NULL };

	ck_assert_int_eq(parse("recover|d", env), 0);
	ck_assert_str_eq(a.config.on_trace, "echo");
	ck_assert(!a.has_on_trace);
	ck_assert_int_eq(parse("recover|--on-trace|gzip|d", env), 0);
	ck_assert_str_eq(a.config.on_trace, "gzip");
	ck_assert(a.has_on_trace);
}
END_TEST

START_TEST(nobody_need_linger)
{
	static struct args mine;
	char *plain[] = { "proflaunch", "--", "true", NULL };
	char *no[] = { "proflaunch", "--no-linger", "--", "true", NULL };
	char *env[] = { NULL };

	ck_assert_int_eq(args_parse(&mine, plain, env), 0);
	ck_assert_uint_eq(mine.config.linger, 1);
	ck_assert_int_eq(args_parse(&mine, no, env), 0);
	ck_assert_uint_eq(mine.config.linger, 0);
	ck_assert(!mine.quiet_said);
	no[1] = "--no-quiet";
	ck_assert_int_eq(args_parse(&mine, no, env), 0);
	ck_assert_uint_eq(mine.config.quiet, 0);
	ck_assert(mine.quiet_said);
	no[1] = "--no-stack-depth";
	ck_assert_int_eq(args_parse(&mine, no, env), 1);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("args");

	tcase_add_checked_fixture(tc, enter, leave);
	tcase_add_loop_test(tc, words_find_their_place, 0, sizeof(good) / sizeof(*good));
	tcase_add_loop_test(tc, every_mistake_is_told, 0, sizeof(wrong) / sizeof(*wrong));
	tcase_add_test(tc, an_unknown_option_takes_nothing);
	tcase_add_test(tc, the_flag_before_the_command_is_known);
	tcase_add_test(tc, short_forms_are_their_options);
	tcase_add_test(tc, an_empty_value_resets);
	tcase_add_test(tc, keys_of_metadata_keep_their_dashes);
	tcase_add_test(tc, plans_and_markers_are_judged_at_once);
	tcase_add_test(tc, a_flag_takes_a_word_only_if_it_is_one);
	tcase_add_test(tc, options_of_the_gpu);
	tcase_add_test(tc, later_sources_win);
	tcase_add_test(tc, the_named_file_replaces_the_one_that_lies_there);
	tcase_add_test(tc, a_mistake_in_a_file_has_its_line);
	tcase_add_test(tc, below_a_launcher_no_file_is_read);
	tcase_add_test(tc, recover_may_be_told_where_to);
	tcase_add_test(tc, on_trace_of_the_command_line_is_told_apart);
	tcase_add_test(tc, nobody_need_linger);
	return unit_run(tc, "args");
}
