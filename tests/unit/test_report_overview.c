/* SPDX-License-Identifier: Apache-2.0 */
/* The first screen, on small traces. */
#include "tests/unit/overview_trace.h"

START_TEST(the_screen_begins_with_a_sentence_and_where_a_step_goes)
{
	begin();
	four_steps("aten::mm");
	ck_assert_msg(subject_of(&all), "%s", why);
	shown(&overview);
	ck_assert_msg(strstr(said, "4 steps of 100 ms (± 0)\n") != NULL, "%s", said);
	says(said, "\n  CPU Exec       50.0 ms   50 %  ████████████████████\n"
		   "  Other          50.0 ms   50 %  ████████████████████\n");
	says(said,
	     "Operators, time of their own, per step            calls        host\n"
	     "  aten::mm                                            1     50.0 ms\n");
	says(said, "not recorded: input shapes (record_shapes=True)");
	/* The first line is a sentence, and no judgement. */
	ck_assert_int_eq(strchr(said, '\n')[-1], '.');
	ck_assert_ptr_null(strstr(said, "good"));
	done();
}
END_TEST

START_TEST(no_line_is_wider_than_the_screen)
{
	char name[500];

	memset(name, 'n', 499);
	name[499] = '\0';
	begin();
	four_steps(name);
	ck_assert(subject_of(&all));
	for (unsigned at = 0; at < VIEWS; at++) {
		if (at == VIEW_KERNELS || at == VIEW_MEMORY || at == VIEW_TRACE ||
		    at == VIEW_MODULES || at == VIEW_PYTHON || at == VIEW_COLLECTIVES ||
		    at == VIEW_WORKERS)
			continue;
		shown(&(struct view_order){ .view = (enum view)at });
		for (const char *line = said; *line; line += strcspn(line, "\n") + 1) {
			unsigned columns = 0;

			for (const char *c = line; *c != '\n'; c++)
				columns += (*c & 0xc0) != 0x80;
			ck_assert_msg(columns <= 80, "%u: %s", columns, line);
		}
	}
	done();
}
END_TEST

START_TEST(doubts_stand_above_all)
{
	begin();
	ours("\"window\":{\"number\":1,\"complete\":false},\"drops\":{\"operators\":7},"
	     "\"cost\":{\"estimated overhead us\":200000}");
	four_steps("a");
	ck_assert(subject_of(&all));
	shown(&overview);
	ck_assert_msg(!strncmp(said, "INCOMPLETE: 7 records are missing", 33), "%s",
		      said);
	says(said, "\nINCOMPLETE: the process ended inside this window");
	says(said, "\nOVERHEAD: recording took an estimated 50 % of this window");
	done();
}
END_TEST

START_TEST(a_cost_of_a_tenth_is_no_doubt)
{
	begin();
	ours("\"window\":{\"number\":1,\"complete\":true},"
	     "\"cost\":{\"estimated overhead us\":30000}");
	four_steps("a");
	ck_assert(subject_of(&all));
	ck_assert_ptr_null(strstr(shown(&overview), "OVERHEAD"));
	done();
}
END_TEST

START_TEST(only_the_steps_that_are_asked_for)
{
	begin();
	four_steps("a");
	ck_assert(subject_of(&(struct subject_options){ .first = 4, .last = 5 }));
	ck_assert_uint_eq(subject.steps.n, 2);
	ck_assert_int_eq(subject.steps.row[0].number, 4);
	says(shown(&(struct view_order){ .view = VIEW_OPS, .format = VIEW_CSV }),
	     "\na,,2,100000.000,");
	done();
	begin();
	four_steps("a");
	ck_assert(!subject_of(&(struct subject_options){ .first = 9, .last = 12 }));
	says(why, "has no whole step from 9 to 12: its steps are 3 to 6");
	done();
	begin();
	op("a", 1, 5);
	ck_assert(!subject_of(&(struct subject_options){ .first = 9, .last = 9 }));
	says(why, "its steps are not marked: leave --steps out");
	done();
}
END_TEST

START_TEST(a_trace_without_steps_is_one)
{
	begin();
	op("a", 1000, 5000);
	ck_assert(subject_of(&all));
	says(shown(&overview),
	     "Nothing stands out.\n1 step of 5.00 ms, the whole recording: none is marked\n");
	says(said, "not recorded: steps (torch.profiler's schedule, and its step())");
	done();
}
END_TEST

/* They were asked for: the same option would lose them again. */
START_TEST(lines_without_room_are_told_apart)
{
	for (unsigned lost = 0; lost < 2; lost++) {
		char members[64];

		snprintf(members, sizeof(members),
			 "\"python stacks\":{\"checked\":0,\"unknown\":%u}", 9 * lost);
		begin();
		ours(members);
		op("a", 1000, 5000);
		ck_assert(subject_of(&all));
		says(shown(&overview),
		     lost ? "lines of Python (there was no room: a larger"
			  : "lines of Python (--with-stack)");
		done();
	}
}
END_TEST

/* Tensors of the CPU have 1 MB more in each step. */
static void four_rises(void)
{
	for (unsigned i = 0; i < 4; i++)
		fprintf(file,
			"{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,"
			"\"ts\":%u,\"args\":{\"Device Type\":0,\"Addr\":1,\"Bytes\":8,"
			"\"Total Allocated\":%u}},",
			3000 + i * 100000, 1000000 * (i + 1));
}

START_TEST(advice_without_a_gain_is_what_stands_out)
{
	static const char *const sentences[] = {
		"Tensors take more memory with each step. What that costs cannot be said "
		"in time.\n",
		"Tensors take more memory with each step. The first advice is worth at most "
		"15 %\nof a step.\n",
		"The step spends time outside of operators.\n",
	};
	const unsigned busy[] = { 100000, 85000, 80000 };

	for (unsigned k = 0; k < 3; k++) {
		begin();
		for (unsigned i = 0; i < 4; i++) {
			step(i + 3, 1000 + i * 100000, 100000);
			op("a", 1000 + i * 100000, busy[k]);
		}
		four_rises();
		ck_assert(subject_of(&all));
		shown(&overview);
		ck_assert_msg(!strncmp(said, sentences[k], strlen(sentences[k])), "%s",
			      said);
		done();
	}
}
END_TEST

/* Nobody has to do anything about a first step. */
START_TEST(advice_on_the_first_step_is_no_headline)
{
	begin();
	step(2, 1000, 200000);
	for (unsigned i = 0; i < 3; i++) {
		step(i + 3, 201000 + i * 100000, 100000);
		op("a", 202000 + i * 100000, 95000);
	}
	ck_assert(subject_of(&all));
	shown(&overview);
	says(said, "The first recorded step takes longer");
	ck_assert_msg(!strncmp(said, "Nothing stands out in 4 steps.\n", 31), "%s", said);
	done();
}
END_TEST

START_TEST(an_empty_trace_is_nothing_to_report)
{
	begin();
	ck_assert(!subject_of(&all));
	says(why, "there is nothing to report: it has no operators, no steps and no GPU");
	done();
	begin();
	memory(5, 1, 100);
	ck_assert(!subject_of(&all));
	says(why, "but memory: proflaunch memory shows it");
	done();
}
END_TEST

START_TEST(markdown_has_sixty_lines_at_most)
{
	unsigned lines = 0;
	char name[32];

	begin();
	ours("\"window\":{\"number\":1,\"complete\":false},\"drops\":{\"operators\":7},"
	     "\"cost\":{\"estimated overhead us\":200000}");
	four_steps("a|b`");
	for (unsigned i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "op%u", i);
		op(name, 60000 + 100 * i, 50);
	}
	ck_assert(subject_of(&all));
	shown(&(struct view_order){ .format = VIEW_MARKDOWN });
	for (const char *c = said; *c; c++)
		lines += *c == '\n';
	ck_assert_uint_le(lines, 60);
	ck_assert_int_eq(*said, '#');
	says(said, "| `a\\|b'` | 1 | ");
	done();
}
END_TEST

START_TEST(a_column_that_is_not_there_names_those_that_are)
{
	struct view_order o = { .view = VIEW_STEPS, .sort = "no" };

	begin();
	four_steps("a");
	ck_assert(subject_of(&all));
	screen = (struct screen){ .out = stdout, .width = 80 };
	ck_assert(!view_print(&subject, &o, &screen, why, sizeof(why)));
	says(why, "--sort no: the columns of steps are step, duration, kernel,");
	o = (struct view_order){ .view = VIEW_KERNELS };
	ck_assert(!view_print(&subject, &o, &screen, why, sizeof(why)));
	says(why, "x.json: it has no GPU work there");
	done();
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_overview");

	tcase_add_test(tc, the_screen_begins_with_a_sentence_and_where_a_step_goes);
	tcase_add_test(tc, no_line_is_wider_than_the_screen);
	tcase_add_test(tc, doubts_stand_above_all);
	tcase_add_test(tc, a_cost_of_a_tenth_is_no_doubt);
	tcase_add_test(tc, only_the_steps_that_are_asked_for);
	tcase_add_test(tc, a_trace_without_steps_is_one);
	tcase_add_test(tc, lines_without_room_are_told_apart);
	tcase_add_test(tc, advice_without_a_gain_is_what_stands_out);
	tcase_add_test(tc, advice_on_the_first_step_is_no_headline);
	tcase_add_test(tc, an_empty_trace_is_nothing_to_report);
	tcase_add_test(tc, markdown_has_sixty_lines_at_most);
	tcase_add_test(tc, a_column_that_is_not_there_names_those_that_are);
	return unit_run(tc, "report_overview");
}
