/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the user's stages: their names, what is in them. */
#include "tests/unit/spool_image.h"
#include "tests/unit/unit.h"

static struct spool_image *image_of_stage(unsigned number, const char *file)
{
	struct spool_image *m = image_new(1000, 100000);

	strcpy(m->config.stages, "train.marker = auto\nval.marker = python:m.f\n"
				 "val.file = -v/al\n");
	m->info->stage = number;
	fmt(m->head->facts, sizeof(m->head->facts), "file = \"%s\"\n", file);
	image_thread(m, 7, 1, "main");
	image_op(m, "aten::add", 3000, 4000);
	return m;
}

static const struct {
	const char *file;
	unsigned number;
	const char *want;
} names[] = {
	{ "n_1.%t", 1, "/n_1.train.1700000000000000000.pt.trace.json" },
	{ "n_1.%t", 2, "/n_1-v_al.1700000000000000000.pt.trace.json" },
	{ "n_1.%t", 0, "/n_1.1700000000000000000.pt.trace.json" },
	{ "n_1.%t", 3, "/n_1.1700000000000000000.pt.trace.json" },
	{ "run", 1, "/run.train.pt.trace.json" },
	{ "%t_x", 1, "/1700000000000000000_x.train.pt.trace.json" },
	{ "sub/", 1, "/node1_4242.train.1700000000000000000.pt.trace.json" },
};

START_TEST(a_stage_is_in_the_name_before_the_time)
{
	struct spool_image *m = image_of_stage(names[_i].number, names[_i].file);
	const char *want = names[_i].want;
	size_t len;

	m->info->stamp_ns = 1700000000000000000;
	image_write(m);
	len = strlen(m->result.path);
	ck_assert_uint_gt(len, strlen(want));
	ck_assert_str_eq(m->result.path + len - strlen(want), want);
	image_free(m);
}
END_TEST

START_TEST(a_file_says_its_stage)
{
	struct spool_image *m = image_of_stage(2, "n.%t");

	image_write(m);
	ck_assert_ptr_nonnull(strstr(m->text, "\n\"stage\": \"val\",\n"));
	ck_assert_ptr_nonnull(
		strstr(m->text, "\"window\": {\"number\": 1, \"stage\": 2, "));
	m->info->stage = 0;
	image_write(m);
	ck_assert_ptr_null(strstr(m->text, "\"stage\""));
	image_free(m);
}
END_TEST

START_TEST(a_step_that_was_none_is_not_there)
{
	struct spool_image *m = image_of_stage(1, "n.%t");

	image_step(m, 4, 2000, 50000);
	image_step(m, 5, 50000, 0)->r.flags = STEP_VOID;
	image_op(m, "aten::mul", 60000, 70000);
	image_write(m);
	ck_assert_ptr_nonnull(image_event(m, "ProfilerStep#4", 0));
	ck_assert_ptr_null(image_event(m, "ProfilerStep#5", 0));
	ck_assert_ptr_nonnull(image_event(m, "aten::mul", 0));
	ck_assert_uint_eq(m->result.events[REC_STEP], 1);
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("stage");

	tcase_add_loop_test(tc, a_stage_is_in_the_name_before_the_time, 0,
			    (int)(sizeof(names) / sizeof(*names)));
	tcase_add_test(tc, a_file_says_its_stage);
	tcase_add_test(tc, a_step_that_was_none_is_not_there);
	return unit_run(tc, "stage");
}
