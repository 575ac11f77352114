/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor says of the command itself: what it starts, and what would be recorded. */
#include "launcher/doctor/command.h"
#include "launcher/doctor/verdict.h"
#include "launcher/step_symbol.h"
#include "tests/unit/printed.h"

#include <errno.h>

#define WORDS 12

static struct config c;
static struct target target = { .path = "/bin/train", .image = "/bin/train" };
static enum step_place place;
static bool may_change;

int target_find(struct target *t, const char *command)
{
	snprintf(t->path, sizeof(t->path), "/bin/%s", command);
	return strncmp(command, "python", 6) && strcmp(command, "sh") ? -ENOENT : 0;
}

enum step_place step_symbol_find(const struct config *config, const struct target *t,
				 const char **said)
{
	(void)config, (void)t;
	*said = "as the test says";
	return place;
}

bool step_symbol_may_change(const struct target *t)
{
	(void)t;
	return may_change;
}

static void setup(void)
{
	config_defaults(&c);
	place = STEP_NONE;
	may_change = verdict_off = false;
	command_will_record("");
	printed_begin();
}

/* Words are separated by bars. "-": none is known. */
static const struct {
	const char *line, *next;
	bool clears;
} starts[] = {
	{ "env|python3|x.py", "python3", false },
	{ "/usr/bin/env|A=1|-u|B|-C|/tmp|python3", "python3", false },
	{ "env|--|python3", "python3", false },
	{ "env|-i|python3", "python3", true },
	{ "env|-|A=1|python3", "python3", true },
	{ "env|-vi|python3", "python3", true },
	{ "env|--ignore-environment|python3", "python3", true },
	{ "env|-u|LD_PRELOAD|python3", "python3", true },
	{ "env|-uLD_PRELOAD|python3", "python3", true },
	{ "env|--unset=LD_PRELOAD|python3", "python3", true },
	{ "env|--unset|LD_PRELOAD|python3", "python3", true },
	{ "env|--unset|A|--chdir|sh|python3", "python3", false },
	{ "env|--unset=A|--chdir=sh|python3", "python3", false },
	{ "env|-iu|sh|python3", "python3", true },
	{ "env|-iC|sh|python3", "python3", true },
	{ "env|LD_PRELOAD=|python3", "python3", true },
	{ "env|-S|python3 -i", NULL, false },
	{ "sudo|-E|python3", "-E", true },
	{ "/usr/bin/su|-c|python3 x.py", "-c", true },
	{ "ssh", NULL, true },
	{ "env", NULL, false },
	{ "timeout|-k|5|60|python3|-i", "python3", false },
	{ "nice|-n|19|sh|python3", "sh", false },
	{ "nice|nothing", NULL, false },
	{ "python3|env|-i", NULL, false },
};

START_TEST(what_a_command_starts)
{
	char buf[256], *p = buf, *argv[WORDS + 1] = { NULL }, **next;
	bool clears = true;

	snprintf(buf, sizeof(buf), "%s", starts[_i].line);
	for (size_t n = 0; p && n < WORDS; n++)
		argv[n] = strsep(&p, "|");
	next = command_next(argv, &clears);
	ck_assert_pstr_eq(next ? *next : NULL, starts[_i].next);
	ck_assert_int_eq(clears, starts[_i].clears);
}
END_TEST

/* Behind the last word there is somebody else's. */
START_TEST(no_word_is_read_behind_the_last)
{
	char *argv[] = { (char *)"env", NULL, NULL, (char *)"python3", NULL };
	static const char *const last[] = { "-u", "-vu", "--unset", "-S" };
	bool clears = false;

	argv[1] = (char *)last[_i];
	ck_assert_ptr_null(command_next(argv, &clears));
	ck_assert(!clears);
}
END_TEST

START_TEST(the_function_that_ends_a_step)
{
	strcpy(c.marker, "symbol:step");
	command_options(&c, &target, false);
	ck_not_printed("marker");
	place = STEP_HERE;
	command_options(&c, &target, false);
	ck_printed("ok   marker: symbol:step is a function of as the test says");
	place = STEP_LATER;
	command_options(&c, &target, false);
	ck_printed("note marker: symbol:step is not looked for: as the test says");
	ck_assert(!verdict_off);
	place = STEP_NOWHERE;
	command_options(&c, &target, false);
	ck_printed("OFF  marker: as the test says: no step would end");
	ck_assert(verdict_off);
}
END_TEST

START_TEST(the_function_of_pythons_that_ends_a_step)
{
	strcpy(c.marker, "python:step");
	command_options(&c, &target, true);
	ck_printed("ok   marker: python:step is looked for when Python has defined it");
	ck_assert(!verdict_off);
	command_options(&c, &target, false);
	ck_printed(
		"OFF  marker: python:step: /bin/train is no Python: no step would end");
	ck_assert(verdict_off);
}
END_TEST

START_TEST(the_command_for_finished_files)
{
	strcpy(c.on_trace, "gone {}");
	command_options(&c, &target, false);
	ck_printed("OFF  on_trace: gone: there is no such command");
	strcpy(c.on_trace, "sh x");
	command_options(&c, &target, false);
	ck_printed("ok   on_trace: /bin/sh is run for each file");
	printed_begin();
	strcpy(c.on_trace, "  gone --to=x%y");
	command_options(&c, &target, false);
	ck_printed("OFF  on_trace: gone: there is no such command");
}
END_TEST

START_TEST(what_a_shell_reads_is_not_judged)
{
	static const char *const texts[] = { "gone | other", "A=1 gone", "gone {x}" };

	strcpy(c.on_trace, texts[_i]);
	command_options(&c, &target, false);
	ck_not_printed("on_trace");
}
END_TEST

static const struct {
	const char *loaded, *malloc, *marker, *activities;
	bool may_change;
	const char *line, *summary; /* the line's begin; NULL: something is off */
} records[] = {
	{ "", "off", "auto", "cpu,cuda", true, "note PyTorch: /bin/train does not link",
	  "" },
	{ "", "off", "auto", "cpu,cuda", false,
	  "OFF  nothing would be recorded: /bin/train uses neither", NULL },
	{ "", "all", "auto", "cpu,cuda", false, "ok   heap:", "the program's heap" },
	{ "", "all", "torch:x", "cpu,cuda", false,
	  "OFF  nothing would be recorded: /bin/train has no PyTorch", NULL },
	{ "", "all", "none", "cpu,cuda", false, "ok   heap:", "the program's heap" },
	{ "", "count", "symbol:x", "cpu,cuda", false,
	  "ok   heap:", "the program's heap" },
	{ "\tlibtorch.so => /l", "off", "auto", "cpu,cuda", false,
	  "ok   PyTorch: libtorch.so => /l", "the operators of PyTorch" },
	{ "\tlibtorch.so => /l", "off", "auto", "cuda", false,
	  "ok   PyTorch: libtorch.so => /l", "what PyTorch does on the GPU" },
	{ "\tlibcudart.so.12 => /l", "off", "auto", "cuda", false,
	  "note PyTorch: /bin/train does not link",
	  "the program's CUDA calls and what runs on the GPU" },
	{ "\tlibcudart.so.12 => /l", "off", "auto", "cpu", false,
	  "OFF  nothing would be recorded", NULL },
};

START_TEST(what_would_be_recorded)
{
	ck_assert_ptr_null(config_set(&c, "malloc", records[_i].malloc));
	ck_assert_ptr_null(config_set(&c, "marker", records[_i].marker));
	ck_assert_ptr_null(config_set(&c, "activities", records[_i].activities));
	may_change = records[_i].may_change;
	command_records(&c, &target, records[_i].loaded);
	ck_assert_msg(!strncmp(printed(), records[_i].line, strlen(records[_i].line)),
		      "%s", printed_text);
	ck_assert_int_eq(verdict_off, !records[_i].summary);
	ck_assert_str_eq(command_summary(),
			 records[_i].summary ? records[_i].summary : "");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("doctor command");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, what_a_command_starts, 0,
			    sizeof(starts) / sizeof(*starts));
	tcase_add_loop_test(tc, no_word_is_read_behind_the_last, 0, 4);
	tcase_add_test(tc, the_function_that_ends_a_step);
	tcase_add_test(tc, the_function_of_pythons_that_ends_a_step);
	tcase_add_test(tc, the_command_for_finished_files);
	tcase_add_loop_test(tc, what_a_shell_reads_is_not_judged, 0, 3);
	tcase_add_loop_test(tc, what_would_be_recorded, 0,
			    sizeof(records) / sizeof(*records));
	return unit_run(tc, "doctor command");
}
