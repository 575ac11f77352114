/* SPDX-License-Identifier: Apache-2.0 */
/* Which stages a run has, and what is said of them. */
#include "agent/sched/marker.h"
#include "agent/sched/schedule.h"
#include "config/stages.h"
#include "tests/unit/unit.h"

static struct config c;
static struct stages_row rows[STAGES_MOST];

/* As the launcher's. */
static const char *check(const char *name, const char *value)
{
	static struct marker marker;
	struct schedule plan;

	return !strcmp(name, "marker") ? marker_parse(&marker, value)
				       : schedule_parse(&plan, value);
}

static void fresh(void)
{
	memset(&c, 0xff, sizeof(c));
	config_defaults(&c);
	config_check = check;
}

static void none(void)
{
}

static void take(const char *name, const char *value)
{
	const char *no = config_set(&c, name, value);

	ck_assert_msg(!no, "%s: %s", name, no);
}

static void take_stage(const char *key, const char *value)
{
	char name[128];

	snprintf(name, sizeof(name), "stage.%s", key);
	take(name, value);
}

static void same_row(const struct stages_row *r, struct stages_row want)
{
	ck_assert_str_eq(r->name, want.name);
	ck_assert_str_eq(r->marker, want.marker);
	ck_assert_str_eq(r->within, want.within);
	ck_assert_str_eq(r->enter, want.enter);
	ck_assert_str_eq(r->leave, want.leave);
	ck_assert_str_eq(r->schedule, want.schedule);
	ck_assert_str_eq(r->file, want.file);
}

START_TEST(without_them_there_is_none)
{
	char text[8] = "x";

	ck_assert_uint_eq(stages_of(&c, rows), 0);
	ck_assert(!stages_any(&c));
	ck_assert_ptr_null(stages_check(&c));
	stages_name(&c, 0, text, sizeof(text));
	ck_assert_str_eq(text, "");
	stages_suffix(&c, 1, text, sizeof(text));
	ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(each_key_has_its_place)
{
	take("stage", "b = torch:forward*@begin");
	take_stage("a.marker", "python:m.f|n.f@begin");
	take_stage("a.enter", "python:e@end");
	take_stage("a.leave", "python:l");
	take_stage("b.within", "python:w|v");
	take_stage("b.schedule", "wait=1,active=2");
	take_stage("a.file", "_a");
	ck_assert(stages_any(&c));
	ck_assert_uint_eq(stages_of(&c, rows), 2);
	same_row(&rows[0], (struct stages_row){ .name = "a",
						.marker = "python:m.f|n.f@begin",
						.enter = "python:e@end",
						.leave = "python:l",
						.file = "_a" });
	same_row(&rows[1], (struct stages_row){ .name = "b",
						.marker = "torch:forward*@begin",
						.within = "python:w|v",
						.schedule = "wait=1,active=2" });
	ck_assert_ptr_null(stages_check(&c));
}
END_TEST

/* Rows of an environment have no order that all processes of a job see. */
START_TEST(the_order_of_lines_is_none)
{
	static const char *const names[] = { "val", "a", "train", "b", "aa" };
	static const char *const sorted[] = { "a", "aa", "b", "train", "val" };
	char name[64], suffix[64];

	for (size_t first = 0; first < 5; first++) {
		fresh();
		for (size_t i = 0; i < 5; i++) {
			snprintf(name, sizeof(name), "%s.marker", names[(first + i) % 5]);
			take_stage(name, "auto");
		}
		ck_assert_uint_eq(stages_of(&c, rows), 5);
		for (unsigned i = 0; i < 5; i++) {
			ck_assert_str_eq(rows[i].name, sorted[i]);
			stages_name(&c, i + 1, name, sizeof(name));
			ck_assert_str_eq(name, sorted[i]);
			stages_suffix(&c, i + 1, suffix, sizeof(suffix));
			ck_assert_str_eq(suffix + 1, sorted[i]);
			ck_assert_int_eq(suffix[0], '.');
		}
	}
	take_stage("b.file", ".other");
	stages_suffix(&c, 3, suffix, sizeof(suffix));
	ck_assert_str_eq(suffix, ".other");
	stages_suffix(&c, 6, suffix, sizeof(suffix));
	ck_assert_str_eq(suffix, "");
	stages_name(&c, UINT32_MAX, name, sizeof(name));
	ck_assert_str_eq(name, "");
}
END_TEST

START_TEST(a_preset_is_whole_and_judged)
{
	static const struct {
		const char *preset, *names[5];
	} presets[] = {
		{ "lightning", { "train", "validation", "test", "predict" } },
		{ "hf", { "train", "validation", "predict" } },
		{ "accelerate", { "train", "validation" } },
	};
	static struct config again;

	for (size_t i = 0; i < 3; i++) {
		size_t n;

		fresh();
		take("preset", presets[i].preset);
		ck_assert(stages_any(&c));
		ck_assert_ptr_null(stages_check(&c));
		n = stages_of(&c, rows);
		config_defaults(&again);
		for (size_t k = 0; k < n; k++) {
			const struct stages_row *r = &rows[k];

			ck_assert_str_eq(r->name, presets[i].names[k]);
			ck_assert(*r->within || *r->enter);
#define TAKE(key)                                                             \
	do {                                                                  \
		char name[64];                                                \
		const char *no;                                               \
		snprintf(name, sizeof(name), "stage.%.31s." #key, r->name);   \
		no = config_set(&again, name, r->key);                        \
		ck_assert_msg(!no, "%s %s: %s", presets[i].preset, name, no); \
	} while (0);
			STAGES_KEYS(TAKE)
#undef TAKE
		}
		ck_assert_ptr_null(presets[i].names[n]);
		ck_assert_ptr_null(stages_check(&again));
	}
}
END_TEST

START_TEST(what_the_user_says_counts_over_a_preset)
{
	static struct stages_row preset[STAGES_MOST];
	struct stages_row want;

	take("preset", "lightning");
	ck_assert_uint_eq(stages_of(&c, preset), 4);
	take_stage("validation.schedule", "active=1");
	take_stage("a.marker", "torch:x");
	take_stage("test.within", "python:mine");
	ck_assert_uint_eq(stages_of(&c, rows), 5);
	ck_assert_ptr_null(stages_check(&c));
	same_row(&rows[0], preset[0]);
	want = preset[1];
	strcpy(want.schedule, "active=1");
	same_row(&rows[1], want);
	want = preset[2]; /* ways in and out are one */
	strcpy(want.within, "python:mine");
	*want.enter = *want.leave = '\0';
	same_row(&rows[2], want);
	same_row(&rows[3], preset[3]);
	ck_assert_str_eq(rows[4].name, "a"); /* the preset's are before it */
	take_stage("validation.schedule", "");
	take_stage("test.within", "");
	ck_assert_uint_eq(stages_of(&c, rows), 5);
	same_row(&rows[1], preset[1]);
	same_row(&rows[2], preset[2]);
}
END_TEST

static const struct {
	const char *name, *value, *want;
} wrong[] = {
	{ "stage.a.makrer", "x", "no such key of a stage (did you mean marker?)" },
	{ "stage.a.elephants", "x",
	  "a stage has marker, within, enter, leave, schedule and file" },
	{ "stage.a", "x", "a stage has marker, within, enter, leave, schedule and file" },
	{ "stage.", "x", "a stage's name is 1 to 31 letters, digits, '_' and '-'" },
	{ "stage..marker", "auto",
	  "a stage's name is 1 to 31 letters, digits, '_' and '-'" },
	{ "stage.a b.marker", "auto",
	  "a stage's name is 1 to 31 letters, digits, '_' and '-'" },
	{ "stage.a/b.marker", "auto",
	  "a stage's name is 1 to 31 letters, digits, '_' and '-'" },
	{ "stage.abcdefghijklmnopqrstuvwxyz123456.marker", "auto",
	  "a stage's name is 1 to 31 letters, digits, '_' and '-'" },
	{ "stage", "auto", "expected name=marker, as val=python:validate" },
	{ "stage", "a=", "expected name=marker, as val=python:validate" },
	{ "stage", "=auto", "a stage's name is 1 to 31 letters, digits, '_' and '-'" },
	{ "stage", "a.b=auto", "a stage's name is 1 to 31 letters, digits, '_' and '-'" },
	{ "stage.a.marker", "python:f|", "a name is missing beside '|'" },
	{ "stage.a.marker", "python:|f", "a name is missing beside '|'" },
	{ "stage.a.marker", "python:f||g", "a name is missing beside '|'" },
	{ "stage.a.marker", "python:", "a name is missing beside '|'" },
	{ "stage.a.marker", "python:f|g*", "'*' cannot be in a name of Python's" },
	{ "stage.a.marker", "python:f|python:g", "':' cannot be in a name of Python's" },
	{ "stage.a.enter", "python:f@end|g",
	  "@begin or @end stands behind the last name, for all of them" },
	{ "stage.a.within", "python:f@end",
	  "it takes no @begin and no @end: the stage is on during the call" },
	{ "stage.a.within", "torch:f", "'torch:f' is no function: python:[module.]name" },
	{ "stage.a.leave", "auto", "'auto' is no function: python:[module.]name" },
	{ "stage.a.schedule", "wait=1", "active must be given, and be at least 1" },
	{ "stage.a.file",
	  ".2345678901234567890123456789012345678901234567890123456789012345",
	  "it is a part of a file's name: 64 bytes at most" },
	{ "stage.a.file", "a/b",
	  "it is a part of a file's name: no slash, no '%', no '..' in it" },
	{ "stage.a.file", "..",
	  "it is a part of a file's name: no slash, no '%', no '..' in it" },
	{ "stage.a.file", "%t",
	  "it is a part of a file's name: no slash, no '%', no '..' in it" },
	{ "stage.a.file", "a\nb", "the value must be one line" },
};

START_TEST(what_is_wrong_is_told_and_changes_nothing)
{
	static struct config before;
	const char *no;

	take_stage("a.marker", "auto");
	before = c;
	no = config_set(&c, wrong[_i].name, wrong[_i].value);
	ck_assert_msg(no, "%s = %s", wrong[_i].name, wrong[_i].value);
	ck_assert_str_eq(no, wrong[_i].want);
	ck_assert_int_eq(memcmp(&before, &c, sizeof(c)), 0);
}
END_TEST

START_TEST(a_stage_has_no_marker_of_a_whole_run)
{
	static const char *const markers[] = { "none",   "time:5",   "symbol:f",
					       "cuda:f", "kernel:f", "f" };

	for (size_t i = 0; i < 6; i++)
		ck_assert_ptr_nonnull(strstr(config_set(&c, "stage.a.marker", markers[i]),
					     "a whole run"));
}
END_TEST

START_TEST(a_name_and_a_value_have_room)
{
	char value[STAGES_TEXT + 8] = "python:";

	memset(value + 7, 'f', STAGES_TEXT - 7);
	take_stage("abcdefghijklmnopqrstuvwxyz12345.marker", "auto");
	ck_assert_ptr_nonnull(
		strstr(config_set(&c, "stage.a.within", value), "255 bytes at most"));
	value[STAGES_TEXT - 1] = '\0';
	take_stage("a.within", value);
	ck_assert_uint_eq(stages_of(&c, rows), 2);
	ck_assert_str_eq(rows[0].within, value);
	ck_assert_str_eq(rows[1].name, "abcdefghijklmnopqrstuvwxyz12345");
}
END_TEST

START_TEST(a_dash_in_a_name_is_an_underscore)
{
	take_stage("Pre-Train.marker", "auto");
	take_stage("pre_train.file", "-p");
	ck_assert_uint_eq(stages_of(&c, rows), 1);
	ck_assert_str_eq(rows[0].name, "pre_train");
	ck_assert_str_eq(rows[0].file, "-p");
}
END_TEST

static const struct {
	const char *lines, *want;
} unfit[] = {
	{ "a.within = python:f\n",
	  "a has no marker, which says where its steps end (auto, torch:<glob>, python:<name>)" },
	{ "a.marker = auto\na.within = python:f\na.enter = python:g\n",
	  "a has both within and enter, which are two ways into it: one is enough" },
	{ "a.marker = auto\na.leave = python:f\n", "a has leave without enter" },
	{ "b.marker = torch:x\na.marker = torch:x\n",
	  "a and b have the same marker: within or enter must tell them apart" },
	{ "a.marker = torch:y\nb.marker = torch:x\nc.marker = torch:x\n",
	  "b and c have the same marker: within or enter must tell them apart" },
	{ "a.marker = auto\n",
	  "a has the marker auto, which begins no stage: within or enter says what does" },
	{ "a.marker = torch:x\nb.marker = torch:x\nb.enter = python:f\n", NULL },
	{ "a.marker = auto\na.within = python:f\nb.marker = auto\nb.within = python:g\n",
	  NULL },
	{ "a.marker = torch:a\nb.marker = torch:b\nc.marker = torch:c\nd.marker = torch:d\n"
	  "e.marker = torch:e\nf.marker = torch:f\ng.marker = torch:g\nh.marker = torch:h\n",
	  NULL },
	{ "a.marker = torch:a\nb.marker = torch:b\nc.marker = torch:c\nd.marker = torch:d\n"
	  "e.marker = torch:e\nf.marker = torch:f\ng.marker = torch:g\nh.marker = torch:h\n"
	  "i.marker = torch:i\n",
	  "there are more than 8" },
};

START_TEST(what_makes_no_stage_is_told)
{
	strcpy(c.stages, unfit[_i].lines);
	ck_assert_pstr_eq(stages_check(&c), unfit[_i].want);
}
END_TEST

/* A spool's text may hold anything. */
START_TEST(more_than_fits_is_left_out)
{
	char name[16];

	for (unsigned i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "s%u.marker", i);
		take_stage(name, "auto");
	}
	ck_assert_uint_eq(stages_of(&c, rows), STAGES_MOST);
	stages_name(&c, STAGES_MOST + 1, name, sizeof(name));
	ck_assert_str_eq(name, "");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("stages");

	tcase_add_checked_fixture(tc, fresh, none);
	tcase_add_test(tc, without_them_there_is_none);
	tcase_add_test(tc, each_key_has_its_place);
	tcase_add_test(tc, the_order_of_lines_is_none);
	tcase_add_test(tc, a_preset_is_whole_and_judged);
	tcase_add_test(tc, what_the_user_says_counts_over_a_preset);
	tcase_add_loop_test(tc, what_is_wrong_is_told_and_changes_nothing, 0,
			    sizeof(wrong) / sizeof(*wrong));
	tcase_add_test(tc, a_stage_has_no_marker_of_a_whole_run);
	tcase_add_test(tc, a_name_and_a_value_have_room);
	tcase_add_test(tc, a_dash_in_a_name_is_an_underscore);
	tcase_add_loop_test(tc, what_makes_no_stage_is_told, 0,
			    sizeof(unfit) / sizeof(*unfit));
	tcase_add_test(tc, more_than_fits_is_left_out);
	return unit_run(tc, "stages");
}
