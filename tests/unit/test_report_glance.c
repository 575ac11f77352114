/* SPDX-License-Identifier: Apache-2.0 */
/* Three lines of a report, and which steps they are of. */
#include "tests/unit/overview_trace.h"

#include "report/view/glance.h"

static const char *glanced(void)
{
	FILE *out;

	free(said);
	out = open_memstream(&said, &said_len);
	glance_print(&subject, out);
	fclose(out);
	return said;
}

START_TEST(numbers_are_of_one_step)
{
	begin();
	four_steps("aten::mm");
	ck_assert(subject_of(&all));
	ck_assert_str_eq(
		glanced(),
		"4 steps of 100 ms (± 0): CPU Exec 50 %, Other 50 %\n"
		"fix first: The step spends time outside of operators (at most 50 % of a "
		"step): look at the lines behind that operator; recorded with "
		"--with-stack=full --c-calls, the file says which function it is\n"
		"largest operator: aten::mm, 50.0 ms a step of its own\n");
	done();
}
END_TEST

/* A step of ours around a process in which no step ended is none. */
START_TEST(a_run_without_steps_is_its_operators)
{
	begin();
	ours("\"window\":{\"number\":1,\"complete\":true,"
	     "\"before the first step boundary\":true}");
	step(0, 0, 1000000);
	op("aten::mm", 400000, 3000);
	op("aten::add", 403000, 1000);
	ck_assert(subject_of(&all));
	ck_assert(!subject.steps.marked);
	ck_assert_str_eq(glanced(),
			 "1 step of 4.00 ms, the whole recording: none is marked: "
			 "CPU Exec 100 %\n"
			 "largest operator: aten::mm, 3.00 ms a step of its own\n");
	done();
}
END_TEST

/* Of steps 3 to 6 the third is a recording's first, and the fourth is not. */
START_TEST(only_the_first_step_of_all_is_left_out)
{
	struct subject_options chosen = { .first = 4, .last = 6 };

	begin();
	four_steps("aten::mm");
	ck_assert(subject_of(&all));
	ck_assert_uint_eq(subject.evidence.judged, 3);
	ck_assert_uint_eq(subject.steps.before, 0);
	done();
	begin();
	four_steps("aten::mm");
	ck_assert(subject_of(&chosen));
	ck_assert_uint_eq(subject.steps.n, 3);
	ck_assert_uint_eq(subject.steps.before, 1);
	ck_assert_uint_eq(subject.evidence.judged, 3);
	done();
}
END_TEST

START_TEST(the_stage_comes_first)
{
	begin();
	ours("\"window\":{\"number\":1,\"stage\":2,\"complete\":true}},"
	     "\"stage\":\"validation\",\"x\":{");
	four_steps("aten::mm");
	ck_assert(subject_of(&all));
	ck_assert_int_eq(strncmp(glanced(), "stage validation: 4 steps of 100 ms", 35),
			 0);
	done();
}
END_TEST

START_TEST(a_long_first_step_is_told_apart)
{
	begin();
	step(0, 0, 900000);
	for (unsigned i = 1; i < 4; i++)
		step(i, 900000 + i * 10000, 10000);
	op("aten::mm", 5, 5);
	ck_assert(subject_of(&all));
	says(glanced(), "; without the first, the median is 10.0 ms");
	done();
}
END_TEST

/* What has no time that makes sense is counted, and said. */
START_TEST(what_cannot_be_used_is_said)
{
	begin();
	four_steps("aten::mm");
	slice(1, "cpu_op", "aten::bad", 5, -3, "");
	fputs("{\"ph\":\"B\",\"cat\":\"cpu_op\",\"name\":\"x\",\"pid\":1,\"tid\":1,"
	      "\"ts\":7},",
	      file);
	ck_assert(subject_of(&all));
	ck_assert_uint_eq(subject.model.unread, 2);
	says(glanced(), "2 events could not be used");
	done();
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("glance");

	tcase_add_test(tc, numbers_are_of_one_step);
	tcase_add_test(tc, a_run_without_steps_is_its_operators);
	tcase_add_test(tc, only_the_first_step_of_all_is_left_out);
	tcase_add_test(tc, the_stage_comes_first);
	tcase_add_test(tc, a_long_first_step_is_told_apart);
	tcase_add_test(tc, what_cannot_be_used_is_said);
	return unit_run(tc, "report glance");
}
