/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sched/marker.h"
#include "tests/unit/unit.h"

#include <string.h>

START_TEST(markers_are_understood)
{
	struct marker m;

	ck_assert_ptr_null(marker_parse(&m, "auto"));
	ck_assert_int_eq(m.kind, MARKER_AUTO);
	ck_assert_ptr_null(marker_parse(&m, "none"));
	ck_assert_int_eq(m.kind, MARKER_NONE);
	ck_assert_ptr_null(marker_parse(&m, "time:250"));
	ck_assert_int_eq(m.kind, MARKER_TIME);
	ck_assert_uint_eq(m.period_ns, 250000000);
	ck_assert_ptr_null(marker_parse(&m, "torch:train*"));
	ck_assert_int_eq(m.kind, MARKER_TORCH);
	ck_assert(!m.at_begin);
	ck_assert_ptr_null(marker_parse(&m, "torch:train@x@begin"));
	ck_assert(m.at_begin);
	ck_assert_str_eq(m.text, "train@x");
	ck_assert_ptr_null(marker_parse(&m, "torch:train@end"));
	ck_assert(!m.at_begin);
	ck_assert_str_eq(m.text, "train");
	ck_assert_ptr_null(marker_parse(&m, "symbol:libx*.so!go@begin"));
	ck_assert_str_eq(m.text, "libx*.so!go");
	ck_assert_ptr_null(marker_parse(&m, "cuda:cudaGraphLaunch@begin"));
	ck_assert_int_eq(m.kind, MARKER_CUDA);
	ck_assert(m.at_begin);
	ck_assert_ptr_null(marker_parse(&m, "kernel:*flash*"));
	ck_assert_int_eq(m.kind, MARKER_KERNEL);
	ck_assert(!m.at_begin);
	ck_assert_ptr_null(marker_parse(&m, "python:train.Trainer._step2"));
	ck_assert_int_eq(m.kind, MARKER_PYTHON);
	ck_assert(!m.at_begin);
	ck_assert_str_eq(m.text, "train.Trainer._step2");
	ck_assert_ptr_null(marker_parse(&m, "python:\xc3\xa9tape@begin"));
	ck_assert(m.at_begin);
	ck_assert_str_eq(m.text, "\xc3\xa9tape");
	ck_assert_ptr_null(marker_parse(&m, "python:__main__.x@end"));
	ck_assert_str_eq(m.text, "__main__.x");
}
END_TEST

START_TEST(wrong_markers_are_refused)
{
	static const char *const bad[] = {
		"torch:",
		"symbol:",
		"time:",
		"time:0",
		"time:-1",
		"time:5s",
		"symbol:x@end",
		"symbol:!x",
		"symbol:x!",
		"pyhton:x",
		"python:",
		"python:@end",
		"python:x@middle",
		"python:.x",
		"python:x.",
		"python:x..y",
		"python:x()",
		"python:x.<locals>.y",
		"python:x:y",
		"python:x*",
		"python:1x",
		"python:x.1y",
		"Auto",
		"torch:@end",
		"torch:foo@middle",
		"symbol:foo@start",
		"time:99999999999",
		"time:18446744073709551617" /* 1, to who counts in 64 bits */
	};
	struct marker m;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(marker_parse(&m, bad[i]), "accepted: %s", bad[i]);
}
END_TEST

/* Only what could be meant for a place is refused. */
START_TEST(a_name_may_have_an_at)
{
	static const char *const good[][2] = { { "torch:me@host.org", "me@host.org" },
					       { "torch:foo@middle@end", "foo@middle" },
					       { "torch:a@b2@end", "a@b2" } };
	struct marker m;

	ck_assert_ptr_null(marker_parse(&m, good[_i][0]));
	ck_assert(marker_matches(&m, good[_i][1], strlen(good[_i][1])));
	ck_assert_str_eq(marker_parse(&m, "torch:foo@middle"),
			 "'@middle' is neither @begin nor @end (add @end if it belongs "
			 "to the name)");
}
END_TEST

START_TEST(a_name_ends_within_its_marker)
{
	char text[6 + sizeof(((struct marker *)0)->text) + 1] = "torch:";
	struct marker m[2];

	memset(text + 6, 'a', sizeof(m->text));
	memset(&m[1], 0xee, sizeof(m[1]));
	ck_assert_ptr_nonnull(marker_parse(m, text));
	text[6 + sizeof(m->text) - 1] = '\0';
	ck_assert_ptr_null(marker_parse(m, text));
	ck_assert_uint_eq(m->len, sizeof(m->text) - 1);
	ck_assert_uint_eq(*(uint8_t *)&m[1], 0xee);
}
END_TEST

static const struct {
	const char *glob, *name;
	bool want;
} globs[] = {
	{ "abc", "abc", true },
	{ "abc", "abcd", false },
	{ "abc", "ab", false },
	{ "*", "", true },
	{ "*", "x", true },
	{ "", "", true },
	{ "", "x", false },
	{ "a*c", "abbbc", true },
	{ "a*c", "abbbcd", false },
	{ "a*b*c", "axxbyyc", true },
	{ "?", "x", true },
	{ "?", "", false },
	{ "a?c", "abc", true },
	{ "[a-c]x", "bx", true },
	{ "[a-c]x", "dx", false },
	{ "[!a-c]x", "dx", true },
	{ "[]]", "]", true },
	{ "[a", "[a", true },
	{ "\\*", "*", true },
	{ "\\*", "x", false },
	{ "Optimizer.step#*", "Optimizer.step#SGD.step", true },
	{ "aten::*", "aten::add_", true },
	{ "aten::*", "at", false },
	{ "*step*", "my step 3", true },
	{ "**", "abc", true },
	{ "a**", "a", true },
	{ "a\\", "a\\", true },
	{ "a\\", "a", false },
	{ "a\\", "ab", false },
	{ "\\", "\\", true },
	{ "*\\", "ab\\", true },
	{ "a\\*b", "a*b", true },
	{ "a\\*b", "axb", false },
	{ "\\[a]", "[a]", true },
};

START_TEST(globs_match_as_in_a_shell)
{
	struct marker m = { .kind = MARKER_TORCH };
	const char *name = globs[_i].name;

	ck_assert_int_eq(
		marker_glob(globs[_i].glob, strlen(globs[_i].glob), name, strlen(name)),
		globs[_i].want);
	if (!*globs[_i].glob)
		return;
	strcpy(m.text, "torch:");
	strcat(m.text, globs[_i].glob);
	char text[64];
	strcpy(text, m.text);
	ck_assert_ptr_null(marker_parse(&m, text));
	ck_assert_int_eq(marker_matches(&m, name, strlen(name)), globs[_i].want);
}
END_TEST

START_TEST(a_glob_never_takes_exponential_time)
{
	static char name[4001];
	const char *glob = "a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b";

	memset(name, 'a', sizeof(name) - 1);
	ck_assert(!marker_glob(glob, strlen(glob), name, strlen(name)));
}
END_TEST

START_TEST(names_of_torch_have_their_classes)
{
	static const struct {
		const char *name;
		enum marker_class want;
	} names[] = {
		{ "Optimizer.step#SGD.step", CLASS_OPTIMIZER },
		{ "Optimizer.zero_grad#SGD.zero_grad", CLASS_ZERO_GRAD },
		{ "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
		  CLASS_LOADER },
		{ "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
		  CLASS_LOADER },
		{ "enumerate(DataPipe)#x.__next__", CLASS_OTHER },
		{ "enumerate(DataLoader)#_SingleProcessDataLoaderIter._reset",
		  CLASS_OTHER },
		{ "ProfilerStep#12", CLASS_PROFILER },
		{ "Optimizer", CLASS_OTHER },
		{ "aten::add", CLASS_OTHER },
		{ "", CLASS_OTHER },
		{ "DistributedDataParallel.forward", CLASS_OTHER },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ck_assert_int_eq(marker_classify(names[i].name, strlen(names[i].name)),
				 names[i].want);
}
END_TEST

START_TEST(only_possible_operators_are_watched_outside_windows)
{
	struct marker m;

	ck_assert_ptr_null(marker_parse(&m, "torch:Optimizer.step#*"));
	ck_assert(!marker_may_be_op(&m));
	ck_assert_ptr_null(marker_parse(&m, "torch:aten::addmm"));
	ck_assert(marker_may_be_op(&m));
	ck_assert_ptr_null(marker_parse(&m, "torch:*"));
	ck_assert(marker_may_be_op(&m));
	ck_assert_ptr_null(marker_parse(&m, "auto"));
	ck_assert(!marker_may_be_op(&m));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("marker");

	tcase_add_test(tc, markers_are_understood);
	tcase_add_test(tc, wrong_markers_are_refused);
	tcase_add_loop_test(tc, a_name_may_have_an_at, 0, 3);
	tcase_add_test(tc, a_name_ends_within_its_marker);
	tcase_add_loop_test(tc, globs_match_as_in_a_shell, 0,
			    sizeof(globs) / sizeof(globs[0]));
	tcase_add_test(tc, a_glob_never_takes_exponential_time);
	tcase_add_test(tc, names_of_torch_have_their_classes);
	tcase_add_test(tc, only_possible_operators_are_watched_outside_windows);
	return unit_run(tc, "marker");
}
